"""The schemas of requests and responses, one file per API, in the notation of `kcore.protocol.notation`."""
