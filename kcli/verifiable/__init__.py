"""Clients that report events, one per line, for programs that test a cluster (`kcli verifiable-*`)."""
