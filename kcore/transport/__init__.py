"""Byte streams that the server's and the client's network stand on."""
