"""What a client knows of the cluster: brokers, topics, and who leads each partition. A value, replaced as a whole."""

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
    """A broker as the cluster advertises it."""

    id: int
    host: str
    port: int
    rack: str | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class PartitionInfo(NamedTuple):
    """The last two are told by DescribeTopicPartitions alone (KIP-966); None where nobody said."""

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
        """The broker that leads a partition; None while there is none, or it is not known."""
        topic = self.topics.get(partition.topic)
        if topic is None:
            return None
        for info in topic.partitions:
            if info.partition == partition.partition:
                return self.nodes.get(info.leader)
        return None

    def merged_with(self, newer: Cluster) -> Cluster:
        """The newer knowledge, and what it does not speak of."""
        return newer._replace(topics={**self.topics, **newer.topics})


NO_CLUSTER = Cluster(None, -1, {}, {})


def cluster_from(response: Message) -> Cluster:
    """Reads a Metadata response."""
    nodes = {b.node_id: Node(b.node_id, b.host, b.port, b.rack) for b in response.brokers}
    topics = {topic.name: topic_from(topic) for topic in response.topics}
    return Cluster(response.cluster_id, response.controller_id, nodes, topics)


def topic_from(topic: Message) -> TopicDescription:
    """Reads a topic of a Metadata or a DescribeTopicPartitions response."""
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
    """Partitions as requests name them, each with fields of its own."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for partition in partitions:
        row = {"partition_index": partition.partition, **fields(partition)}
        topics.setdefault(partition.topic, []).append(row)
    return [{"name": topic, "partitions": rows} for topic, rows in topics.items()]
