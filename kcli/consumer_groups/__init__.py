"""`kcli groups`: consumer groups, their members and offsets, and how far they are behind."""
