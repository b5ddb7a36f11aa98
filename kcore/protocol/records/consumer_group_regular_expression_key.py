"""The key, version 16, of a pattern that members of a group subscribe to (KIP-848)."""

SCHEMA = """
group_id            string  16
regular_expression  string  16
"""
