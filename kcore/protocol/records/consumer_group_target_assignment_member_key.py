"""The key, version 7, of a member's part of the target assignment (KIP-848)."""

SCHEMA = """
group_id   string  7
member_id  string  7
"""
