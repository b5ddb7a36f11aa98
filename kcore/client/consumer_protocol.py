"""What the members of a consumer group tell each other through the coordinator, which does not look inside.

Subscriptions and assignments are written in version 0, which every member reads: later versions only append fields.
"""

from __future__ import annotations

from kcore.client.cluster import TopicPartition
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RANGE = "range"


def encode_subscription(topics: Sequence[str]) -> bytes:
    return CONSUMER_PROTOCOL_SUBSCRIPTION.encode(0, {"topics": list(topics)})


def decode_subscription(data: bytes) -> list[str]:
    """The topics that a member wants; ProtocolError for bytes that are no subscription."""
    _, subscription = CONSUMER_PROTOCOL_SUBSCRIPTION.decode(data)
    return list(subscription.topics)


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    assigned = [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic.items()]
    return CONSUMER_PROTOCOL_ASSIGNMENT.encode(0, {"assigned_partitions": assigned})


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions that a member was given; none when the leader sent nothing."""
    if not data:
        return []
    _, assignment = CONSUMER_PROTOCOL_ASSIGNMENT.decode(data)
    return [
        TopicPartition(entry.topic, number) for entry in assignment.assigned_partitions for number in entry.partitions
    ]


def assign_ranges(
    members: Mapping[str, Sequence[str]], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """Topic by topic, consecutive partitions to the members in order of their ids (Kafka's RangeAssignor)."""
    assigned: dict[str, list[TopicPartition]] = {member: [] for member in members}
    for topic, count in partition_counts.items():
        interested = sorted(member for member, topics in members.items() if topic in topics)
        first = 0
        for index, member in enumerate(interested):
            share = count // len(interested) + (index < count % len(interested))
            assigned[member] += [TopicPartition(topic, partition) for partition in range(first, first + share)]
            first += share
    return assigned
