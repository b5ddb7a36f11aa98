"""The key, version 8, of the current assignment of a consumer group's member (KIP-848)."""

SCHEMA = """
group_id   string  8
member_id  string  8
"""
