"""The value of a consumer group's epoch. The hash (Kafka 4.1, KIP-1101) is of the topics it is subscribed to."""

SCHEMA = """
epoch          int32  0+
metadata_hash  int64  0+  tag=0 default=0
"""
