"""The key, version 3, of a consumer group's epoch (KIP-848)."""

SCHEMA = """
group_id  string  3
"""
