"""Byte streams for the network code of the server and the client."""
