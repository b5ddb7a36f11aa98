"""The value of a pattern that members subscribe to: the matching topics, and when they were resolved (ms)."""

SCHEMA = """
topics     []string  0+
version    int64     0+
timestamp  int64     0+
"""
