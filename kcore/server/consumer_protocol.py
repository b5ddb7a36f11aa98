"""Whether the group protocol of KIP-848 is served: this broker must be configured for it, and the cluster agree on it
(`group.version`, KIP-584). A group that is there already when that ends keeps its records, and is heard no more.
"""

from __future__ import annotations

from kcore.controller.features import GROUP_VERSION, WITH_CONSUMER_GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.server.broker import Broker

CONSUMER = "consumer"


def is_served(broker: Broker) -> bool:
    """Else its requests are answered UNSUPPORTED_VERSION."""
    level = broker.metadata_cache.image.features.get(GROUP_VERSION, 0)
    return level >= WITH_CONSUMER_GROUPS and CONSUMER in broker.config.texts("group.coordinator.rebalance.protocols")
