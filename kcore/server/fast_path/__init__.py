"""Produce, Fetch and most Heartbeats on the processor's own thread, without the GIL.

A shortcut to the same rules: requests are read by hand-written readers, everything else is Partition's and Log's, or
stands in the group coordinator's table of sessions.
Whatever is rare or wrong is left to the Python handlers before anything has been done.
"""
