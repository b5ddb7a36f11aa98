"""User data of the sticky assignors in subscriptions: a member's last partitions and their generation.

`sticky` writes version 1; version 0, of older members, has no generation. `cooperative-sticky` writes only the
generation, because the subscription itself has the owned partitions. The data does not contain its version.
"""

from __future__ import annotations

from kcore.client.consumer.assignors.assignor import NO_GENERATION
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from kcore.protocol.codec import MessageType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NEVER_FLEXIBLE = 32767
STICKY = MessageType(
    "StickyAssignorUserData",
    """
previous_assignment  []       0+
    topic            string   0+
    partitions       []int32  0+
generation           int32    1+  default=-1 ignorable
""",
    1,
    NEVER_FLEXIBLE,
)
COOPERATIVE = MessageType("CooperativeStickyAssignorUserData", "generation  int32  0+", 0, NEVER_FLEXIBLE)


def encode_owned(owned: Iterable[TopicPartition], generation: int) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, number in owned:
        by_topic.setdefault(topic, []).append(number)
    previous = [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic.items()]
    return STICKY.encode(1, {"previous_assignment": previous, "generation": generation})


def decode_owned(data: bytes | None) -> tuple[tuple[TopicPartition, ...], int]:
    """Decode a member's partitions and generation. Invalid data counts as empty, as in Kafka."""
    if not data:
        return (), NO_GENERATION
    for version in (1, 0):
        try:
            read, _ = STICKY.decode_prefix(version, data)
        except KafkaError:
            continue
        owned = tuple(
            TopicPartition(entry.topic, number) for entry in read.previous_assignment for number in entry.partitions
        )
        return owned, read.generation
    return (), NO_GENERATION


def encode_generation(generation: int) -> bytes:
    return COOPERATIVE.encode(0, {"generation": generation})


def decode_generation(data: bytes | None) -> int:
    if not data:
        return NO_GENERATION
    try:
        generation: int = COOPERATIVE.decode_prefix(0, data)[0].generation
    except KafkaError:
        return NO_GENERATION
    return generation
