"""The key of a group's state in `__consumer_offsets`. Version 2 distinguishes it from a committed offset."""

SCHEMA = """
group  string  2
"""
