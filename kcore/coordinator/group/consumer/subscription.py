"""What members subscribe to: topics by name and by pattern, and a hash of those topics as they are now (KIP-1101).

The hash covers every topic's id, name, number of partitions and their racks. It is kept with the group's epoch: another
one means that a topic came, went, grew or moved, and that the group needs another target.
"""

from __future__ import annotations

from struct import Struct

from kcore.coordinator.group.consumer.xxh3 import hash_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.coordinator.group.consumer.member import ConsumerMember
    from kcore.metadata.image import MetadataImage, TopicImage

# Another way to hash gets another number.
HASH_VERSION = 0
HASH_HEAD = Struct("<bqq")
UUID_HALVES = Struct(">qq")
INT = Struct("<i")
LONG = Struct("<q")
NO_TOPICS_HASH = 0


class ResolvedRegex:
    """The topics that a pattern matched, in which version of the metadata, and when (wall clock, milliseconds)."""

    __slots__ = ("timestamp_ms", "topics", "version")

    def __init__(self, topics: frozenset[str], version: int, timestamp_ms: int) -> None:
        self.topics = topics
        self.version = version
        self.timestamp_ms = timestamp_ms


def topic_names(member: ConsumerMember, resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """By name and by pattern. A pattern that is not resolved yet matches nothing."""
    if not member.subscribed_topic_regex:
        return member.subscribed_topic_names
    found = resolved.get(member.subscribed_topic_regex)
    return member.subscribed_topic_names if found is None else member.subscribed_topic_names | found.topics


def topic_ids(names: Iterable[str], image: MetadataImage) -> frozenset[bytes]:
    """Of the topics that there are."""
    topics = image.topics
    return frozenset(topics[name].topic_id for name in names if name in topics)


def metadata_hash(names: Iterable[str], image: MetadataImage) -> int:
    """Kafka's `computeGroupHash`: of the hashes of those topics that there are, in the order of their names."""
    found = [image.topics[name] for name in sorted(names) if name in image.topics]
    if not found:
        return NO_TOPICS_HASH
    return hash_bytes(b"".join(LONG.pack(topic_hash(topic, image)) for topic in found))


def topic_hash(topic: TopicImage, image: MetadataImage) -> int:
    """Kafka's `computeTopicHash`."""
    parts = [HASH_HEAD.pack(HASH_VERSION, *UUID_HALVES.unpack(topic.topic_id)), _text(topic.name)]
    parts.append(INT.pack(len(topic.partitions)))
    for state in topic.partitions:
        parts.append(INT.pack(state.partition))
        brokers = (image.brokers.get(broker_id) for broker_id in state.replicas)
        for rack in sorted(broker.rack for broker in brokers if broker is not None and broker.rack is not None):
            parts += [INT.pack(len(rack.encode("utf-16-le")) // 2), _text(rack)]
    return hash_bytes(b"".join(parts))


def _text(text: str) -> bytes:
    """As the hashing library of Kafka takes a string: its UTF-16 units, then how many there are."""
    units = text.encode("utf-16-le")
    return units + INT.pack(len(units) // 2)
