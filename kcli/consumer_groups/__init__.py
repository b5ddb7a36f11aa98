"""`kcli groups`: consumer groups, their members, offsets and lag."""
