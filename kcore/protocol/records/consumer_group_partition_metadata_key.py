"""The key, version 4, of what Kafka 4.0 kept of a group's subscribed topics (KIP-848)."""

SCHEMA = """
group_id  string  4
"""
