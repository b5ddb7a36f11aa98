"""What the members of a consumer group tell each other through the coordinator, which does not look inside.

    subscription: version int16 | [topic string] | user data bytes   (ConsumerProtocolSubscription, version 0)
    assignment:   version int16 | [topic string, [partition int32]] | user data (ConsumerProtocolAssignment, version 0)

Later versions only append fields, so that what is written here is read everywhere, and what others write is read here.
"""

from __future__ import annotations

import struct

from kcore.client.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

RANGE = "range"
_NO_USER_DATA = struct.pack(">i", -1)


def encode_subscription(topics: Sequence[str]) -> bytes:
    names = b"".join(_string(topic) for topic in topics)
    return struct.pack(">hi", 0, len(topics)) + names + _NO_USER_DATA


def decode_subscription(data: bytes) -> list[str]:
    """The topics that a member wants; ValueError for bytes that are no subscription."""
    reader = _Reader(data)
    reader.int16()
    return [reader.string() for _ in range(reader.count())]


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        by_topic.setdefault(topic, []).append(partition)
    parts = [struct.pack(">hi", 0, len(by_topic))]
    for topic, numbers in by_topic.items():
        parts += [_string(topic), struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)]
    return b"".join(parts) + _NO_USER_DATA


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """The partitions that a member was given; none when the leader sent nothing."""
    if not data:
        return []
    reader = _Reader(data)
    reader.int16()
    assigned = []
    for _ in range(reader.count()):
        topic = reader.string()
        assigned += [TopicPartition(topic, reader.int32()) for _ in range(reader.count())]
    return assigned


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


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


class _Reader:
    """Reads big-endian fields; whatever lies beyond the end is a ValueError."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def _take(self, size: int) -> bytes:
        end = self._position + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"consumer protocol: {len(self._data)} bytes end before a field does")
        taken, self._position = self._data[self._position : end], end
        return taken

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def count(self) -> int:
        count = self.int32()
        if not 0 <= count <= len(self._data):
            raise ValueError(f"consumer protocol: {count} entries in {len(self._data)} bytes")
        return count

    def string(self) -> str:
        return self._take(self.int16()).decode()
