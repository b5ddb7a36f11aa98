"""The key, version 6, of the epoch of a consumer group's target assignment (KIP-848)."""

SCHEMA = """
group_id  string  6
"""
