"""The assignment of a consumer by the leader of its group: partitions by topic. All versions are the same."""

SCHEMA = """
assigned_partitions  []       0+
    topic            string   0+
    partitions       []int32  0+
user_data            bytes    0+  nullable default=null
"""
