"""The key of a committed offset in `__consumer_offsets`: group, topic and partition. Versions 0 and 1 are the same."""

SCHEMA = """
group      string  0-1
topic      string  0-1
partition  int32   0-1
"""
