"""Whether the consumer group protocol of KIP-848 is enabled.

It must be enabled in this broker's configuration and by the cluster's feature level (`group.version`, KIP-584). If it
is disabled later, existing groups keep their records, but their requests are refused.
"""

from __future__ import annotations

from kcore.controller.features import GROUP_VERSION, WITH_CONSUMER_GROUPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.server.broker import Broker

CONSUMER = "consumer"


def is_served(broker: Broker) -> bool:
    """Whether the protocol is enabled. If not, its requests are answered with UNSUPPORTED_VERSION."""
    level = broker.metadata_cache.image.features.get(GROUP_VERSION, 0)
    return level >= WITH_CONSUMER_GROUPS and CONSUMER in broker.config.texts("group.coordinator.rebalance.protocols")
