"""Subscriptions of members: topics by name and by pattern, and the hash of a group's topics (KIP-1101).

The hash covers every topic's id, name, number of partitions and their racks, and is stored with the group's epoch. When
it changes, a topic was created, deleted, extended or moved, and the group needs a new target assignment.
"""

from __future__ import annotations

from struct import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.coordinator.group.consumer.member import ConsumerMember
    from kcore.metadata.image import MetadataImage, TopicImage

# Part of the hash: Kafka raises it when the way to hash changes.
HASH_VERSION = 0
HASH_HEAD = Struct("<bqq")
UUID_HALVES = Struct(">qq")
INT = Struct("<i")
LONG = Struct("<q")
SIGNED = Struct(">q")
NO_TOPICS_HASH = 0


class ResolvedRegex:
    """The topics that a pattern matched, the version of the metadata, and the time (wall clock, milliseconds)."""

    __slots__ = ("timestamp_ms", "topics", "version")

    def __init__(self, topics: frozenset[str], version: int, timestamp_ms: int) -> None:
        self.topics = topics
        self.version = version
        self.timestamp_ms = timestamp_ms


def topic_names(member: ConsumerMember, resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """The topics a member subscribes to, by name and by pattern. A new pattern matches nothing until it is resolved."""
    if not member.subscribed_topic_regex:
        return member.subscribed_topic_names
    found = resolved.get(member.subscribed_topic_regex)
    return member.subscribed_topic_names if found is None else member.subscribed_topic_names | found.topics


def topic_ids(names: Iterable[str], image: MetadataImage) -> frozenset[bytes]:
    """The ids of the topics that exist."""
    topics = image.topics
    return frozenset(topics[name].topic_id for name in names if name in topics)


def metadata_hash(names: Iterable[str], image: MetadataImage) -> int:
    """Kafka's `computeGroupHash`: over the hashes of the existing topics, in the order of their names."""
    found = [image.topics[name] for name in sorted(names) if name in image.topics]
    if not found:
        return NO_TOPICS_HASH
    return xxh3(b"".join(LONG.pack(topic_hash(topic, image)) for topic in found))


def topic_hash(topic: TopicImage, image: MetadataImage) -> int:
    """Kafka's `computeTopicHash`."""
    parts = [HASH_HEAD.pack(HASH_VERSION, *UUID_HALVES.unpack(topic.topic_id)), _text(topic.name)]
    parts.append(INT.pack(len(topic.partitions)))
    for state in topic.partitions:
        parts.append(INT.pack(state.partition))
        brokers = (image.brokers.get(broker_id) for broker_id in state.replicas)
        for rack in sorted(broker.rack for broker in brokers if broker is not None and broker.rack is not None):
            parts += [INT.pack(len(rack.encode("utf-16-le")) // 2), _text(rack)]
    return xxh3(b"".join(parts))


def xxh3(data: bytes) -> int:
    """The 64-bit XXH3 without a seed, as a signed number as in Java."""
    # Only consumer groups need it: a broker's start does not pay for the import.
    from xxhash import xxh3_64_digest

    digest: int = SIGNED.unpack(xxh3_64_digest(data))[0]
    return digest


def _text(text: str) -> bytes:
    """A string as Kafka's hashing library (hash4j) encodes it: its UTF-16 units, then their number."""
    units = text.encode("utf-16-le")
    return units + INT.pack(len(units) // 2)
