"""Names of configurations of a single listener: `listener.name.LISTENER.NAME` (KIP-103)."""

from __future__ import annotations

LISTENER_PREFIX = "listener.name."
# Limits that exist for the broker and for each listener.
LISTENER_BOUNDS = ("max.connections", "max.connection.creation.rate")


def is_listener_bound(name: str) -> bool:
    """Whether `name` sets one of LISTENER_BOUNDS for a listener."""
    listener, dot, bound = name.removeprefix(LISTENER_PREFIX).partition(".")
    return name.startswith(LISTENER_PREFIX) and bool(listener) and bool(dot) and bound in LISTENER_BOUNDS
