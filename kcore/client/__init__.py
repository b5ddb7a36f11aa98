"""Clients of a cluster: Producer, Consumer and Admin, their asyncio versions, and the ClusterClient for tools.

A producer and a consumer each have two threads until they are closed: a network thread, which needs no GIL, and a
background thread for metadata, heartbeats, transactions and callbacks. Any number of threads may share a producer; only
one thread at a time may use a consumer. Admin and ClusterClient have no threads: one thread at a time uses them, and
its calls do the I/O. Imports layers 0 and 1 only, never the server.
"""
