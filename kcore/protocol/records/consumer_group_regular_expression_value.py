"""The value of a pattern that members subscribe to: the topics that match, and when (ms) that was found."""

SCHEMA = """
topics     []string  0+
version    int64     0+
timestamp  int64     0+
"""
