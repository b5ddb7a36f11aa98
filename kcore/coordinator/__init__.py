"""Coordinators of consumer groups: pure state machines beside the code that does their I/O."""
