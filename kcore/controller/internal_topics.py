"""The internal topics of brokers, and the configurations that they require.

`__consumer_offsets` has committed offsets and group metadata, `__transaction_state` the state of transactions. Both are
compacted. Their other settings are those of Kafka's `GroupCoordinator` and `TransactionStateManager`.
"""

from __future__ import annotations

from kcore.controller.new_topic import NewTopic
from kcore.metadata.image import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.broker import BrokerConfig


def internal_topic(name: str, config: BrokerConfig) -> NewTopic | None:
    """The request that creates an internal topic on first use, or None for other names."""
    if name == GROUP_METADATA_TOPIC:
        return NewTopic(
            name,
            config.number("offsets.topic.num.partitions"),
            config.number("offsets.topic.replication.factor"),
            configs={
                "cleanup.policy": "compact",
                "segment.bytes": str(config.number("offsets.topic.segment.bytes")),
                "compression.type": "producer",
            },
        )
    if name == TRANSACTION_STATE_TOPIC:
        return NewTopic(
            name,
            config.number("transaction.state.log.num.partitions"),
            config.number("transaction.state.log.replication.factor"),
            configs={
                "cleanup.policy": "compact",
                "segment.bytes": str(config.number("transaction.state.log.segment.bytes")),
                "compression.type": "uncompressed",
                "min.insync.replicas": str(config.number("transaction.state.log.min.isr")),
                "unclean.leader.election.enable": "false",
            },
        )
    return None
