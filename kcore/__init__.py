"""The engine: protocol, records, storage, network, replication, coordinators and clients of the broker."""

__version__ = "0.1.0"
