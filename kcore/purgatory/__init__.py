"""Delayed operations and the hierarchical timing wheel that expires them. Native, so that no wait holds the GIL."""
