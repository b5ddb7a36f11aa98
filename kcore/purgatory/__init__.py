"""Delayed operations and the hierarchical timing wheel that expires them; native, so that no wait holds the GIL."""
