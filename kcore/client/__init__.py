"""Clients of a cluster: Producer, Consumer and Admin, with asyncio faces, and the ClusterClient that tools use.

A producer and a consumer each have two threads until they are closed: a network thread, which needs no GIL, and a
background thread for metadata, heartbeats, transactions and callbacks. Any number of threads may share a producer; one
thread at a time may use a consumer. Admin and ClusterClient have no threads: one thread at a time uses them, and drives
the network within its calls. Imports layers 0 and 1 only, never the server.
"""
