"""The value of a target assignment's epoch. The time it was made at is Kafka 4.3's (KIP-1263), in milliseconds."""

SCHEMA = """
assignment_epoch      int32  0+
assignment_timestamp  int64  0+  tag=0 default=0 ignorable
"""
