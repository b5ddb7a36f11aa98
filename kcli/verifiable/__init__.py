"""Clients that tell what happens to them, an event a line, for programs that judge a cluster (`kcli verifiable-*`)."""
