"""A client's connections to brokers, without the GIL: frames, versions, ordering, deadlines."""
