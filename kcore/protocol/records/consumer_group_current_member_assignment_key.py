"""The key, version 8, of what a member of a consumer group has now (KIP-848)."""

SCHEMA = """
group_id   string  8
member_id  string  8
"""
