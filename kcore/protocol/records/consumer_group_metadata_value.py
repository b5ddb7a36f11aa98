"""The value of a consumer group's epoch. The hash (Kafka 4.1, KIP-1101) covers the subscribed topics."""

SCHEMA = """
epoch          int32  0+
metadata_hash  int64  0+  tag=0 default=0
"""
