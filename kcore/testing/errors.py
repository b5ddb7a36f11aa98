"""Errors of brokers that a test has started."""

from __future__ import annotations


class EmbeddedBrokerError(RuntimeError):
    """Base class of these errors."""


class BrokerNotStarted(EmbeddedBrokerError):
    """The broker rejected its configuration or data, or did not start in time. The message says which."""


class BrokerDied(EmbeddedBrokerError):
    """The broker's process ended unexpectedly."""


class BrokerStuck(EmbeddedBrokerError):
    """The broker did not stop in time, and was killed."""
