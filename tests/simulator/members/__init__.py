"""Seeded lives of groups whose members are our consumer's own state machines, before our own coordinator."""
