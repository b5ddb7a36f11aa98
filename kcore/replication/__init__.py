"""Partitions as replicas: leadership, ISR, high watermark, and the table in which requests find them."""
