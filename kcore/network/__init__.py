"""The network layer: one acceptor, N processors that run without the GIL, and the channel to M Python handlers."""
