"""The reactor: one acceptor, N processors that hold no GIL, and the channel to M Python handlers."""
