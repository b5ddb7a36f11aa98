"""Fuzzing: every byte string decodes or gives a clean, named error (invariant 13 of the design).

`targets/<decoder>.py` makes inputs and judges one; `mutation.py` and `grammar.py` spoil what is valid;
`test_decoders.py` is the size for CI; `worker.py`, a process of its own in the sanitizer build, is what campaigns drive
through `session.py`. `corpus/<target>/` keeps inputs that once found something, and a few that reach far.
"""
