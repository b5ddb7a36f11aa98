"""SubscriptionPattern: a subscription to the topics that match a regular expression on the broker (KIP-848)."""

from __future__ import annotations


class SubscriptionPattern(str):
    """A regular expression in RE2 syntax that the broker matches. Requires group.protocol=consumer."""

    __slots__ = ()
