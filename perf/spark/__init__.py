"""Spark's reading and writing of topics: our source and sink beside Spark's own Kafka connector."""
