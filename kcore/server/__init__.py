"""The broker: life cycle, API table, one handler per API, and the native fast path of produce, fetch and heartbeat."""
