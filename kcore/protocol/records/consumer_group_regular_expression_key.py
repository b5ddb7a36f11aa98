"""The key of a pattern that members subscribe to in `__consumer_offsets` (KIP-848), told apart by its version, 16."""

SCHEMA = """
group_id            string  16
regular_expression  string  16
"""
