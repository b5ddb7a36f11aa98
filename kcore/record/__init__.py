"""Kafka's record batches: reading, writing, checksums, compression and the rules they must keep."""
