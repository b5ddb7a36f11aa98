"""The key, version 5, of a member of a consumer group (KIP-848)."""

SCHEMA = """
group_id   string  5
member_id  string  5
"""
