"""What can go wrong with a broker that a test has started."""

from __future__ import annotations


class EmbeddedBrokerError(RuntimeError):
    """Any of them."""


class BrokerNotStarted(EmbeddedBrokerError):
    """The broker refused its configuration or its data, or did not come up in time; the text says which."""


class BrokerDied(EmbeddedBrokerError):
    """The broker's process ended although nobody asked it to."""


class BrokerStuck(EmbeddedBrokerError):
    """The broker did not stop in time, and was killed."""
