"""ConsumerGroup: the state of a consumer group, built from its records (KIP-848, Kafka's `ConsumerGroup`).

    Empty --a member joins--> Assigning --target made--> Reconciling --every member has its target--> Stable
    Dead: its records were deleted

Only `apply` changes members, epochs and targets. It gets one record: of a decision that was just written, or of the log
during a load. Decisions are made elsewhere (`heartbeat.py`, `removal.py`, `classic_members.py`).
Not stored: the deadlines of sessions, and which patterns are being matched.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.consumer import records
from kcore.coordinator.group.consumer.member import LEAVE_EPOCH, ConsumerMember
from kcore.coordinator.group.consumer.subscription import NO_TOPICS_HASH, metadata_hash, topic_names
from kcore.coordinator.group.effects import StopTimer
from kcore.coordinator.group.offset_expiry import OffsetExpiry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment
    from kcore.coordinator.group.consumer.member import OwnedPartitions
    from kcore.coordinator.group.consumer.records import Record
    from kcore.coordinator.group.consumer.subscription import ResolvedRegex
    from kcore.coordinator.group.effects import Effect
    from kcore.metadata.image import MetadataImage, TopicImage
    from kcore.protocol.message import Message

EMPTY = "Empty"
ASSIGNING = "Assigning"
RECONCILING = "Reconciling"
STABLE = "Stable"
DEAD = "Dead"

PROTOCOL_TYPE = "consumer"
FIRST_EPOCH, LAST_EPOCH = 1, 2**31 - 1

# Timers of a member: (name, member id).
SESSION, REBALANCE, JOIN, SYNC = "session", "rebalance", "join", "sync"
TIMERS = (SESSION, REBALANCE, JOIN, SYNC)
# Shared by all groups: an empty group would otherwise keep three empty sets of 216 bytes.
NO_NAMES: frozenset[str] = frozenset()


class ConsumerGroup:
    """One group. Members and targets are by member id, `static_members` are member ids by instance id.

    `subscribed_names` are all topics that members subscribe to, `patterns` are their regular expressions. `deadlines`
    are the ends of members' sessions, on the clock of timers. `awaited` are members that were asked to join again.
    `topics_resolved` are the topics that patterns were last matched with; None if unknown.
    """

    __slots__ = (
        "_hash_names",
        "_hash_topics",
        "_hash_value",
        "_owners",
        "assignment_epoch",
        "awaited",
        "deadlines",
        "epoch",
        "group_id",
        "has_partition_metadata",
        "is_removed",
        "is_resolving",
        "members",
        "metadata_hash",
        "patterns",
        "resolved_regexes",
        "static_members",
        "subscribed_names",
        "targets",
        "topics_resolved",
    )

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.assignment_epoch = FIRST_EPOCH
        self.metadata_hash = NO_TOPICS_HASH
        self.has_partition_metadata = False
        self.is_removed = False
        self.members: dict[str, ConsumerMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Assignment] = {}
        self.resolved_regexes: dict[str, ResolvedRegex] = {}
        self.subscribed_names = NO_NAMES
        self.patterns = NO_NAMES
        self._owners: dict[bytes, dict[int, str]] = {}
        self.deadlines: dict[str, int] = {}
        self.awaited: set[str] = set()
        self.is_resolving = False
        self.topics_resolved: Mapping[str, TopicImage] | None = None
        self._hash_topics: Mapping[str, TopicImage] | None = None
        self._hash_names = NO_NAMES
        self._hash_value = NO_TOPICS_HASH

    # --- state ------------------------------------------------------------------------------------------------------

    @property
    def next_epoch(self) -> int:
        """The epoch after the present one. It wraps around, which only a damaged record can cause."""
        return FIRST_EPOCH if self.epoch == LAST_EPOCH else self.epoch + 1

    @property
    def state(self) -> str:
        """The state's name in ConsumerGroupDescribe and ListGroups."""
        if self.is_removed:
            return DEAD
        if not self.members:
            return EMPTY
        if self.epoch > self.assignment_epoch:
            return ASSIGNING
        if all(member.is_reconciled_to(self.assignment_epoch) for member in self.members.values()):
            return STABLE
        return RECONCILING

    @property
    def is_idle(self) -> bool:
        """Whether the group has no members. It is then deleted with its last offset."""
        return not self.members

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        """The member with an instance id."""
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

    def owner(self, topic_id: bytes, partition: int) -> str | None:
        """The id of the member that owns a partition or still has to revoke it."""
        return self._owners.get(topic_id, {}).get(partition)

    def classic_member_ids(self) -> list[str]:
        """Members that use the classic protocol."""
        return [member.member_id for member in self.members.values() if member.uses_classic_protocol]

    def current_hash(self, names: frozenset[str], image: MetadataImage) -> int:
        """The hash of the named topics. The last result is cached while no topic changes."""
        if image.topics is not self._hash_topics or (names is not self._hash_names and names != self._hash_names):
            self._hash_value = metadata_hash(names, image)
            self._hash_topics, self._hash_names = image.topics, names
        return self._hash_value

    def preferred_assignor(self, members: Iterable[ConsumerMember], default: str) -> str:
        """The assignor that most members prefer."""
        votes: dict[str, int] = {}
        for member in members:
            if member.server_assignor is not None:
                votes[member.server_assignor] = votes.get(member.server_assignor, 0) + 1
        return max(votes, key=votes.__getitem__) if votes else default

    # --- offsets and the end --------------------------------------------------------------------------------------

    def offset_fetch_error(self, member_id: str | None, member_epoch: int) -> int:
        """The error code for a request that reads offsets. Only a named member is checked."""
        if member_id is None and member_epoch < 0:
            return codes.NONE
        member = self.members.get(member_id or "")
        return codes.UNKNOWN_MEMBER_ID if member is None else epoch_error(member, member_epoch)

    def offset_delete_error(self) -> int:
        """0: offsets may be deleted at any time, except those of subscribed topics."""
        return codes.NONE

    def subscribes_to(self, topic: str) -> bool:
        """Whether a member subscribes to a topic, by name or pattern."""
        return topic in self.subscribed_names

    def offset_expiry(self) -> OffsetExpiry:
        """Offsets expire some time after their commit if no member subscribes to the topic."""
        return OffsetExpiry(None, self.subscribed_names)

    def delete_error(self) -> int:
        """The error code of DeleteGroups."""
        return codes.NON_EMPTY_GROUP if self.members else codes.NONE

    def tombstones(self) -> list[Record]:
        """The tombstones that delete the group."""
        return records.group_tombstones(self.group_id, list(self.members), list(self.resolved_regexes))

    def end(self, error: int) -> list[Effect]:
        """Stops all timers. No request waits here, so that `error` is unused: classic groups need it."""
        self.is_removed = True
        return [StopTimer((kind, member_id)) for member_id in self.members for kind in TIMERS]

    # --- records ----------------------------------------------------------------------------------------------------

    def apply(self, kind: int, key: Message, value: Message | None) -> None:
        """Applies one record of `records.decode`. A tombstone without a value to delete has no effect."""
        if kind == records.GROUP_EPOCH:
            self._apply_epoch(value)
        elif kind == records.MEMBER:
            self._apply_member(key.member_id, value)
        elif kind == records.CURRENT:
            self._apply_current(key.member_id, value)
        elif kind == records.TARGET:
            if value is None:
                self.targets.pop(key.member_id, None)
            else:
                self.targets[key.member_id] = records.target_of(value)
        elif kind == records.TARGET_EPOCH:
            self.assignment_epoch = FIRST_EPOCH if value is None else value.assignment_epoch
        elif kind == records.REGEX:
            self._apply_regex(key.regular_expression, value)
        else:
            self.has_partition_metadata = value is not None

    def _apply_epoch(self, value: Message | None) -> None:
        if value is None:
            self.is_removed = True
        else:
            self.is_removed = False
            self.epoch = value.epoch
            self.metadata_hash = value.metadata_hash

    def _apply_member(self, member_id: str, value: Message | None) -> None:
        member = self.members.get(member_id)
        if value is None:
            if member is not None:
                self._forget(member)
        else:
            self._put(records.member_with(member or ConsumerMember(member_id), value))
        self._note_subscriptions()

    def _apply_current(self, member_id: str, value: Message | None) -> None:
        member = self.members.get(member_id)
        if value is not None:
            self._put(records.member_with_current(member or ConsumerMember(member_id), value))
        elif member is not None:
            self._put(
                member.replaced(
                    member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, assigned={}, pending_revocation={}
                )
            )

    def _apply_regex(self, pattern: str, value: Message | None) -> None:
        if value is None:
            self.resolved_regexes.pop(pattern, None)
        else:
            self.resolved_regexes[pattern] = records.resolved_of(value)
        self._note_subscriptions()

    def _put(self, member: ConsumerMember) -> None:
        before = self.members.get(member.member_id)
        if before is not None:
            self._disown(before)
            if before.instance_id is not None and before.instance_id != member.instance_id:
                self._release_instance(before)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for owned in (member.assigned, member.pending_revocation):
            for topic, partitions in owned.items():
                self._owners.setdefault(topic, {}).update(dict.fromkeys(partitions, member.member_id))

    def _forget(self, member: ConsumerMember) -> None:
        del self.members[member.member_id]
        self.deadlines.pop(member.member_id, None)
        self.awaited.discard(member.member_id)
        self._disown(member)
        self._release_instance(member)

    def _release_instance(self, member: ConsumerMember) -> None:
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member.member_id:
            del self.static_members[member.instance_id]

    def _disown(self, member: ConsumerMember) -> None:
        self._disown_partitions(member.member_id, member.assigned)
        self._disown_partitions(member.member_id, member.pending_revocation)

    def _disown_partitions(self, member_id: str, owned: OwnedPartitions) -> None:
        for topic, partitions in owned.items():
            owners = self._owners.get(topic, {})
            for partition in partitions:
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                self._owners.pop(topic, None)

    def _note_subscriptions(self) -> None:
        self.subscribed_names = names_of(self.members.values(), self.resolved_regexes)
        self.patterns = regexes_of(self.members.values())


def names_of(members: Iterable[ConsumerMember], resolved: Mapping[str, ResolvedRegex]) -> frozenset[str]:
    """All topics that these members subscribe to, by name or pattern."""
    names: set[str] = set()
    for member in members:
        names |= topic_names(member, resolved)
    return frozenset(names) if names else NO_NAMES


def regexes_of(members: Iterable[ConsumerMember]) -> frozenset[str]:
    """The patterns of these members."""
    patterns = {member.subscribed_topic_regex for member in members if member.subscribed_topic_regex}
    return frozenset(patterns) if patterns else NO_NAMES


def epoch_error(member: ConsumerMember, epoch: int) -> int:
    """The error code for a member that reads offsets in another epoch."""
    if epoch == member.member_epoch:
        return codes.NONE
    return codes.ILLEGAL_GENERATION if member.uses_classic_protocol else codes.STALE_MEMBER_EPOCH
