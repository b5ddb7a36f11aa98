"""The value of a member's part of the target assignment."""

SCHEMA = """
topic_partitions  []       0+
    topic_id      uuid     0+
    partitions    []int32  0+
"""
