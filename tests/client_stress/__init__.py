"""Many threads at one producer, and consumers beside it, while their broker dies and comes back.

`threads.py` is the program that has the clients, in a process of its own, so that it can be one with a sanitizer
(`bin/stress-sanitized clients`); `__main__.py` has the broker, and judges how the program ended.
"""
