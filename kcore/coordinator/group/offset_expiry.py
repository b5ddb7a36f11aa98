"""Expiry of committed offsets (KIP-211). Pure.

An offset with a retention time of its client expires at that time. Any other offset expires `offsets.retention.minutes`
after

- its group became empty, if the group had members; after its commit, if that time is not known,
- its commit, if its group never had members, or is stable and no member subscribes to its topic.

Offsets do not expire during a rebalance, or while an open transaction may overwrite them.
"""

from __future__ import annotations

from kcore.coordinator.group.offsets import NO_EXPIRY
from kcore.coordinator.group.rebalancing import EMPTY, STABLE
from kcore.errors import KafkaError
from kcore.protocol.records import CONSUMER_PROTOCOL_SUBSCRIPTION, VERSION_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Set

    from kcore.coordinator.group.offsets import CommittedOffset, Offsets, TopicPartition
    from kcore.coordinator.group.rebalancing import RebalancingGroup

CONSUMER_PROTOCOL_TYPE = "consumer"
NOT_NOTED = -1


class OffsetExpiry:
    """The retention of a group's offsets begins at `since_ms` (None: at each commit). `kept_topics` do not expire."""

    __slots__ = ("kept_topics", "since_ms")

    def __init__(self, since_ms: int | None = None, kept_topics: Collection[str] = ()) -> None:
        self.since_ms = since_ms
        self.kept_topics = kept_topics

    def has_expired(self, topic: str, committed: CommittedOffset, now_ms: int, retention_ms: int) -> bool:
        """Whether an offset has expired."""
        if topic in self.kept_topics:
            return False
        if committed.expire_timestamp_ms != NO_EXPIRY:
            return now_ms >= committed.expire_timestamp_ms
        since_ms = committed.commit_timestamp_ms if self.since_ms is None else self.since_ms
        return now_ms - since_ms >= retention_ms


def expiry_of(group: RebalancingGroup) -> OffsetExpiry | None:
    """The expiry of a classic group's offsets; None: not now (Kafka's `ClassicGroup.offsetExpirationCondition`)."""
    if group.protocol_type is None:
        return OffsetExpiry()
    if group.state == EMPTY:
        return OffsetExpiry(None if group.state_since_ms == NOT_NOTED else group.state_since_ms)
    if group.state != STABLE:
        return None
    topics = subscribed_topics(group)
    return None if topics is None else OffsetExpiry(None, topics)


def expired_places(
    offsets: Offsets, group_id: str, expiry: OffsetExpiry, now_ms: int, retention_ms: int
) -> list[TopicPartition]:
    """The partitions of a group with expired offsets."""
    expired = [
        place
        for place, committed in offsets.of_group(group_id).items()
        if expiry.has_expired(place[0], committed, now_ms, retention_ms)
    ]
    if not expired or not offsets.has_open_transaction(group_id):
        return expired
    pending = offsets.pending_places(group_id)
    return [place for place in expired if place not in pending]


def is_subscribed(group: RebalancingGroup, topic: str) -> bool:
    """Whether members of a classic group read a topic. Assumed if their subscriptions are unreadable."""
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return False
    topics = subscribed_topics(group)
    return topics is None or topic in topics


def subscribed_topics(group: RebalancingGroup) -> Set[str] | None:
    """The topics that the members of a group of consumers subscribe to; None if that is not known.

    Only version 0 of a subscription is read, as in Kafka. Every version begins with it.
    """
    if group.protocol_type != CONSUMER_PROTOCOL_TYPE:
        return None
    topics: set[str] = set()
    subscription = CONSUMER_PROTOCOL_SUBSCRIPTION.message_type
    try:
        for member in group.members.values():
            metadata = member.profile.metadata_of(group.protocol_name)
            topics.update(subscription.decode_prefix(0, metadata, VERSION_SIZE)[0].topics)
    except KafkaError:
        return None
    return topics
