"""OffsetDelete, key 47: deletes a group's committed offsets of topics (KIP-496).

Never flexible.
"""

REQUEST = """
group_id                 string  0+
topics                   []      0+
    name                 string  0+
    partitions           []      0+
        partition_index  int32   0+
"""

RESPONSE = """
error_code               int16   0+
throttle_time_ms         int32   0+  ignorable
topics                   []      0+
    name                 string  0+
    partitions           []      0+
        partition_index  int32   0+
        error_code       int16   0+
"""
