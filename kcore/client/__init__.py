"""A small synchronous client: producer, consumer and admin over one ClusterClient.

One thread owns a client and everything in it: network work happens inside the calls (`send`, `poll`, `flush`), no lock
is needed and no thread is left behind. Imports floors 0 and 1 only, never the server.
"""
