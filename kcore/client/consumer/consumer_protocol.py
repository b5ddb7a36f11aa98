"""What the members of a consumer group tell each other through the coordinator, which does not look inside.

Subscriptions and assignments as Kafka's ConsumerProtocol: written in version 3, read in any; later versions only append
fields, so that every member reads what it knows of them. Topics and owned partitions are sorted, as Kafka's.
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
    """A member's subscription; what a version lacks is left out."""
    fields = {
        "topics": sorted(member.topics),
        "user_data": member.user_data,
        "owned_partitions": _by_topic(member.owned),
        "generation_id": member.generation,
        "rack_id": member.rack or None,
    }
    return CONSUMER_PROTOCOL_SUBSCRIPTION.encode(version, fields)


def decode_subscription(data: bytes, instance_id: str | None = None) -> Member:
    """The member of a subscription; ProtocolError for bytes that are none."""
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
    """The partitions that a member was given; none when the leader sent nothing."""
    if not data:
        return []
    _, assignment = CONSUMER_PROTOCOL_ASSIGNMENT.decode(data)
    return list(_partitions(assignment.assigned_partitions))
