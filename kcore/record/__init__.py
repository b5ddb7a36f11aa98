"""Kafka's record batches: reading, writing, checksums, compression and validation."""
