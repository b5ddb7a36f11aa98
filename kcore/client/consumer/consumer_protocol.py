"""Subscriptions and assignments that group members exchange through the coordinator, which does not parse them.

Format: Kafka's ConsumerProtocol. Version 3 is written; any version is read. Later versions only append fields, so each
member can read the fields it knows. Topics and owned partitions are sorted, as in Kafka.
"""

from __future__ import annotations

from kcore.client.consumer.assignors.assignor import NO_GENERATION, Member
from kcore.client.metadata.cluster import TopicPartition
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

PROTOCOL_TYPE = "consumer"
LATEST_VERSION = 3


def _by_topic(partitions: Iterable[TopicPartition]) -> list[dict[str, Any]]:
    numbers: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        numbers.setdefault(topic, []).append(partition)
    return [{"topic": topic, "partitions": found} for topic, found in numbers.items()]


def _partitions(topics: Iterable[Any]) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition(entry.topic, number) for entry in topics for number in entry.partitions)


def encode_subscription(member: Member, version: int = LATEST_VERSION) -> bytes:
    """Encode a member's subscription. Fields that the version does not have are omitted."""
    fields = {
        "topics": sorted(member.topics),
        "user_data": member.user_data,
        "owned_partitions": _by_topic(member.owned),
        "generation_id": member.generation,
        "rack_id": member.rack or None,
    }
    return CONSUMER_PROTOCOL_SUBSCRIPTION.encode(version, fields)


def decode_subscription(data: bytes, instance_id: str | None = None) -> Member:
    """Decode a subscription. Raises ProtocolError for invalid bytes."""
    version, read = CONSUMER_PROTOCOL_SUBSCRIPTION.decode(data)
    return Member(
        topics=frozenset(read.topics),
        owned=_partitions(read.owned_partitions) if version >= 1 else (),
        generation=read.generation_id if version >= 2 else NO_GENERATION,
        rack=(read.rack_id or "") if version >= 3 else "",
        instance_id=instance_id,
        user_data=None if read.user_data is None else bytes(read.user_data),
    )


def encode_assignment(
    partitions: Iterable[TopicPartition], user_data: bytes | None = None, version: int = LATEST_VERSION
) -> bytes:
    fields = {"assigned_partitions": _by_topic(partitions), "user_data": user_data}
    return CONSUMER_PROTOCOL_ASSIGNMENT.encode(version, fields)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Decode a member's partitions; an empty list if the leader sent nothing."""
    if not data:
        return []
    _, assignment = CONSUMER_PROTOCOL_ASSIGNMENT.decode(data)
    return list(_partitions(assignment.assigned_partitions))
