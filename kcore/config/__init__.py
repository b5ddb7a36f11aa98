"""Kafka's configurations as typed definitions: names, types, defaults, validators and documentation.

`definition.py` defines a configuration, the `*_keys.py` files are the tables, `broker.py` and `topic.py` give typed
values to the broker, and `properties.py` reads Java's file format. The only I/O is reading that file.
"""
