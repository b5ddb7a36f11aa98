"""Partitions as replicas: leadership, ISR, the high watermark, and the table that requests look them up in."""
