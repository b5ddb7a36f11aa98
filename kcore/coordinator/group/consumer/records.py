"""The records of consumer groups in `__consumer_offsets`, in the versions and with the fields that Kafka 4.3 writes.

A record is a key and a value in bytes; the value None is a tombstone. A key begins with its version, which is the kind
of the record: 3 group epoch, 4 subscribed topics of Kafka 4.0 (only deleted here), 5 member, 6 epoch of the target,
7 a member's target, 8 a member's present assignment, 16 pattern.
"""

from __future__ import annotations

from kcore.coordinator.group.consumer.member import STATES, UNKNOWN, ClassicMember, ConsumerMember
from kcore.coordinator.group.consumer.subscription import ResolvedRegex
from kcore.protocol.records import (
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY,
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    CONSUMER_GROUP_MEMBER_METADATA_KEY,
    CONSUMER_GROUP_MEMBER_METADATA_VALUE,
    CONSUMER_GROUP_METADATA_KEY,
    CONSUMER_GROUP_METADATA_VALUE,
    CONSUMER_GROUP_PARTITION_METADATA_KEY,
    CONSUMER_GROUP_PARTITION_METADATA_VALUE,
    CONSUMER_GROUP_REGULAR_EXPRESSION_KEY,
    CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY,
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    version_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from kcore.coordinator.group.consumer.assignors.subscriber import Assignment
    from kcore.coordinator.group.consumer.member import OwnedPartitions
    from kcore.protocol.message import Message
    from kcore.protocol.records import VersionedType

    Record: TypeAlias = tuple[bytes, bytes | None]

GROUP_EPOCH = 3
PARTITION_METADATA = 4
MEMBER = 5
TARGET_EPOCH = 6
TARGET = 7
CURRENT = 8
REGEX = 16

KINDS: dict[int, tuple[VersionedType, VersionedType]] = {
    GROUP_EPOCH: (CONSUMER_GROUP_METADATA_KEY, CONSUMER_GROUP_METADATA_VALUE),
    PARTITION_METADATA: (CONSUMER_GROUP_PARTITION_METADATA_KEY, CONSUMER_GROUP_PARTITION_METADATA_VALUE),
    MEMBER: (CONSUMER_GROUP_MEMBER_METADATA_KEY, CONSUMER_GROUP_MEMBER_METADATA_VALUE),
    TARGET_EPOCH: (CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY, CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE),
    TARGET: (CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY, CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE),
    CURRENT: (CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY, CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE),
    REGEX: (CONSUMER_GROUP_REGULAR_EXPRESSION_KEY, CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE),
}


def kind_of(key: bytes) -> int:
    """The kind of a record, from its key."""
    return version_of(key)


def decode(key: bytes, value: bytes | None) -> tuple[int, Message, Message | None]:
    """The kind of a record, its key, and its value; raises ProtocolError or UnsupportedVersionError."""
    kind = version_of(key)
    key_type, value_type = KINDS[kind]
    return kind, key_type.decode(key)[1], None if value is None else value_type.decode(value)[1]


def _record(kind: int, key: dict[str, Any], value: dict[str, Any] | None) -> Record:
    key_type, value_type = KINDS[kind]
    return key_type.encode(kind, key), None if value is None else value_type.encode(0, value)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Record:
    """The group's epoch and the hash of its topics."""
    return _record(GROUP_EPOCH, {"group_id": group_id}, {"epoch": epoch, "metadata_hash": metadata_hash})


def group_epoch_tombstone(group_id: str) -> Record:
    """The group is deleted."""
    return _record(GROUP_EPOCH, {"group_id": group_id}, None)


def partition_metadata_tombstone(group_id: str) -> Record:
    """Deletes the record that Kafka 4.0 wrote."""
    return _record(PARTITION_METADATA, {"group_id": group_id}, None)


def member(group_id: str, who: ConsumerMember) -> Record:
    """A member's identity and subscription."""
    classic = who.classic
    value = {
        "instance_id": who.instance_id,
        "rack_id": who.rack_id,
        "client_id": who.client_id,
        "client_host": who.client_host,
        "subscribed_topic_names": sorted(who.subscribed_topic_names),
        "subscribed_topic_regex": who.subscribed_topic_regex,
        "rebalance_timeout_ms": who.rebalance_timeout_ms,
        "server_assignor": who.server_assignor,
        "classic_member_metadata": None
        if classic is None
        else {
            "session_timeout_ms": classic.session_timeout_ms,
            "supported_protocols": [{"name": name, "metadata": metadata} for name, metadata in classic.protocols],
        },
    }
    return _record(MEMBER, {"group_id": group_id, "member_id": who.member_id}, value)


def member_with(who: ConsumerMember, value: Message) -> ConsumerMember:
    """The member in such a record."""
    classic = value.classic_member_metadata
    protocols = (
        () if classic is None else tuple((item.name, bytes(item.metadata)) for item in classic.supported_protocols)
    )
    return who.replaced(
        instance_id=value.instance_id,
        rack_id=value.rack_id,
        client_id=value.client_id,
        client_host=value.client_host,
        subscribed_topic_names=frozenset(value.subscribed_topic_names),
        subscribed_topic_regex=value.subscribed_topic_regex,
        rebalance_timeout_ms=value.rebalance_timeout_ms,
        server_assignor=value.server_assignor,
        classic=ClassicMember(classic.session_timeout_ms, protocols) if protocols else None,
    )


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    """The target of this epoch is complete."""
    value = {"assignment_epoch": epoch, "assignment_timestamp": timestamp_ms}
    return _record(TARGET_EPOCH, {"group_id": group_id}, value)


def target_epoch_tombstone(group_id: str) -> Record:
    """The target is deleted."""
    return _record(TARGET_EPOCH, {"group_id": group_id}, None)


def target(group_id: str, member_id: str, assignment: Assignment) -> Record:
    """A member's target."""
    rows = [{"topic_id": topic, "partitions": sorted(partitions)} for topic, partitions in assignment.items()]
    return _record(TARGET, {"group_id": group_id, "member_id": member_id}, {"topic_partitions": rows})


def target_of(value: Message) -> Assignment:
    """The target in such a record."""
    return {bytes(row.topic_id): frozenset(row.partitions) for row in value.topic_partitions}


def current(group_id: str, who: ConsumerMember) -> Record:
    """A member's epoch, its assigned partitions, and those that it has to revoke."""
    value = {
        "member_epoch": who.member_epoch,
        "previous_member_epoch": who.previous_member_epoch,
        "state": who.state,
        "assigned_partitions": _owned_rows(who.assigned),
        "partitions_pending_revocation": _owned_rows(who.pending_revocation),
    }
    return _record(CURRENT, {"group_id": group_id, "member_id": who.member_id}, value)


def _owned_rows(owned: OwnedPartitions) -> list[dict[str, Any]]:
    return [
        {"topic_id": topic, "partitions": sorted(held), "assignment_epochs": [held[item] for item in sorted(held)]}
        for topic, held in owned.items()
    ]


def member_with_current(who: ConsumerMember, value: Message) -> ConsumerMember:
    """The member with the assignment in such a record."""
    return who.replaced(
        member_epoch=value.member_epoch,
        previous_member_epoch=value.previous_member_epoch,
        state=value.state if value.state in STATES else UNKNOWN,
        assigned=_owned_of(value.assigned_partitions, value.member_epoch),
        pending_revocation=_owned_of(value.partitions_pending_revocation, value.member_epoch),
    )


def _owned_of(rows: list[Message], member_epoch: int) -> OwnedPartitions:
    """Partitions with their assignment epochs. Records before Kafka 4.3 have none: the member epoch is used instead."""
    owned = {}
    for row in rows:
        epochs = row.assignment_epochs
        if epochs is None or len(epochs) != len(row.partitions):
            epochs = [member_epoch] * len(row.partitions)
        owned[bytes(row.topic_id)] = dict(zip(row.partitions, epochs, strict=True))
    return owned


def member_tombstones(group_id: str, member_id: str) -> list[Record]:
    """The member is removed."""
    key = {"group_id": group_id, "member_id": member_id}
    return [_record(kind, key, None) for kind in (CURRENT, TARGET, MEMBER)]


def group_tombstones(group_id: str, member_ids: list[str], regexes: list[str]) -> list[Record]:
    """Tombstones of all records of a group, in Kafka's order."""
    keys = [{"group_id": group_id, "member_id": member_id} for member_id in member_ids]
    return [
        *(_record(CURRENT, key, None) for key in keys),
        *(_record(TARGET, key, None) for key in keys),
        target_epoch_tombstone(group_id),
        *(_record(MEMBER, key, None) for key in keys),
        *(regex_tombstone(group_id, regex) for regex in regexes),
        partition_metadata_tombstone(group_id),
        group_epoch_tombstone(group_id),
    ]


def regex(group_id: str, pattern: str, resolved: ResolvedRegex) -> Record:
    """The topics that a pattern matched."""
    value = {"topics": sorted(resolved.topics), "version": resolved.version, "timestamp": resolved.timestamp_ms}
    return _record(REGEX, {"group_id": group_id, "regular_expression": pattern}, value)


def regex_tombstone(group_id: str, pattern: str) -> Record:
    """The pattern has no subscribers left."""
    return _record(REGEX, {"group_id": group_id, "regular_expression": pattern}, None)


def resolved_of(value: Message) -> ResolvedRegex:
    """The topics in a record of a pattern."""
    return ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
