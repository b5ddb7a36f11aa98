"""The consumer: `Consumer`, its positions and its subscriptions.

Names are imported on first use, so that unused parts cost nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.client.consumer.consumer import Consumer as Consumer
    from kcore.client.consumer.positions import OffsetAndMetadata as OffsetAndMetadata
    from kcore.client.consumer.positions import OffsetAndTimestamp as OffsetAndTimestamp
    from kcore.client.consumer.rebalance_callback import RebalanceListener as RebalanceListener
    from kcore.client.consumer.subscription_pattern import SubscriptionPattern as SubscriptionPattern

_HOMES = {
    "Consumer": "kcore.client.consumer.consumer",
    "OffsetAndMetadata": "kcore.client.consumer.positions",
    "OffsetAndTimestamp": "kcore.client.consumer.positions",
    "RebalanceListener": "kcore.client.consumer.rebalance_callback",
    "SubscriptionPattern": "kcore.client.consumer.subscription_pattern",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
