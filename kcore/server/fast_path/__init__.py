"""Handles Produce, Fetch and most Heartbeat requests on the processor's own thread, without the GIL.

Hand-written readers parse the requests. All other rules are those of Partition, Log and the group coordinator's
SessionTable, as for the Python handlers. Requests that are rare or invalid go to the Python handlers before they have
had any effect.
"""
