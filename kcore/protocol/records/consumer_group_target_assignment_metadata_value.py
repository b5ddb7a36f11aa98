"""The value of a target assignment's epoch. Kafka 4.3 adds the time of the assignment (KIP-1263), in milliseconds."""

SCHEMA = """
assignment_epoch      int32  0+
assignment_timestamp  int64  0+  tag=0 default=0 ignorable
"""
