"""Rates, what clients may use of them, and for how long who uses more is throttled."""
