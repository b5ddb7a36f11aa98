"""The key, version 4, of a group's subscribed topics, as Kafka 4.0 stored them (KIP-848)."""

SCHEMA = """
group_id  string  4
"""
