"""The broker: its life cycle, the table of its APIs, a handler for each, and the native produce and fetch path."""
