"""SubscriptionPattern: a subscription to the topics that match a regular expression on the broker (KIP-848)."""

from __future__ import annotations


class SubscriptionPattern(str):
    """A regular expression in RE2's syntax that the broker matches; only with group.protocol=consumer."""

    __slots__ = ()
