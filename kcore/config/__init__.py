"""Kafka's configurations as typed definitions: names, types, defaults, validators and documentation.

`definition.py` is the notation, the `*_keys.py` files are the tables, `broker.py` and `topic.py` are what the
broker asks for values, `properties.py` reads Java's file format. Nothing here does any I/O but reading one file.
"""
