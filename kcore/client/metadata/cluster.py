"""Cluster metadata: brokers, topics, and the leader of each partition. Immutable values, replaced as a whole."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from kcore.protocol.message import Message


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Node(NamedTuple):
    """A broker with its advertised address."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class PartitionInfo(NamedTuple):
    """A partition. The last two fields are from DescribeTopicPartitions only (KIP-966), else None."""

    partition: int
    leader: int
    leader_epoch: int
    replicas: list[int]
    in_sync_replicas: list[int]
    offline_replicas: list[int]
    error_code: int
    eligible_leader_replicas: list[int] | None = None
    last_known_elr: list[int] | None = None


class TopicDescription(NamedTuple):
    name: str
    topic_id: bytes
    is_internal: bool
    error_code: int
    partitions: list[PartitionInfo]


class Cluster(NamedTuple):
    cluster_id: str | None
    controller_id: int
    nodes: dict[int, Node]
    topics: dict[str, TopicDescription]

    def leader_of(self, partition: TopicPartition) -> Node | None:
        """Return the broker that leads a partition; None if there is none, or it is not known."""
        topic = self.topics.get(partition.topic)
        if topic is None:
            return None
        for info in topic.partitions:
            if info.partition == partition.partition:
                return self.nodes.get(info.leader)
        return None

    def merged_with(self, newer: Cluster) -> Cluster:
        """Return the newer metadata plus the topics that it does not contain."""
        return newer._replace(topics={**self.topics, **newer.topics})


NO_CLUSTER = Cluster(None, -1, {}, {})


def cluster_from(response: Message) -> Cluster:
    """Convert a Metadata response."""
    nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
    topics = {topic.name: topic_from(topic) for topic in response.topics}
    return Cluster(response.cluster_id, response.controller_id, nodes, topics)


def topic_from(topic: Message) -> TopicDescription:
    """Convert a topic of a Metadata or DescribeTopicPartitions response."""
    partitions = [
        PartitionInfo(
            p.partition_index,
            p.leader_id,
            p.leader_epoch,
            list(p.replica_nodes),
            list(p.isr_nodes),
            list(p.offline_replicas),
            p.error_code,
            getattr(p, "eligible_leader_replicas", None),
            getattr(p, "last_known_elr", None),
        )
        for p in topic.partitions
    ]
    partitions.sort()
    return TopicDescription(topic.name, bytes(topic.topic_id), topic.is_internal, topic.error_code, partitions)


def by_topic(
    partitions: Iterable[TopicPartition], fields: Callable[[TopicPartition], dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return partitions grouped by topic, as in requests, each with its own fields."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for partition in partitions:
        row = {"partition_index": partition.partition, **fields(partition)}
        topics.setdefault(partition.topic, []).append(row)
    return [{"name": topic, "partitions": rows} for topic, rows in topics.items()]
