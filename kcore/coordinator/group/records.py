"""Encodes and decodes the records of `__consumer_offsets` (Kafka's `GroupCoordinatorRecordHelpers`). Pure.

A key begins with its version, which is the kind of the record (`KINDS`, CoordinatorRecordType of Kafka 4.1). Values
have versions of their own; a null value is a tombstone. As in Apache Kafka 3.9, committed offsets have key version 1
and value version 3, and a classic group's state has key version 2 and value version 3. All value versions are read.
"""

from __future__ import annotations

from kcore.coordinator.group.offset_packing import pack_key, pack_value
from kcore.coordinator.group.offsets import NO_EXPIRY, CommittedOffset
from kcore.errors import InvalidRecordError
from kcore.protocol.records import GROUP_METADATA_KEY, GROUP_METADATA_VALUE, OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    from kcore.coordinator.group.offsets import TopicPartition

    Pair: TypeAlias = tuple[bytes, bytes | None]
    """A record's key, and its value or a tombstone."""

LEGACY_OFFSET_COMMIT, OFFSET_COMMIT, GROUP_METADATA = 0, 1, 2
KINDS = (
    "LegacyOffsetCommit",
    "OffsetCommit",
    "GroupMetadata",
    "ConsumerGroupMetadata",
    "ConsumerGroupPartitionMetadata",
    "ConsumerGroupMemberMetadata",
    "ConsumerGroupTargetAssignmentMetadata",
    "ConsumerGroupTargetAssignmentMember",
    "ConsumerGroupCurrentMemberAssignment",
    "ShareGroupPartitionMetadata",
    "ShareGroupMemberMetadata",
    "ShareGroupMetadata",
    "ShareGroupTargetAssignmentMetadata",
    "ShareGroupTargetAssignmentMember",
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupStatePartitionMetadata",
    "ConsumerGroupRegularExpression",
)
CONSUMER_GROUP_KINDS = (3, 4, 5, 6, 7, 8, 16)  # see consumer/records.py
OFFSET_COMMIT_VALUE_VERSION = 3
EXPIRING_OFFSET_COMMIT_VALUE_VERSION = 1
GROUP_METADATA_VALUE_VERSION = 3
NO_TIMEOUT = -1
LAST_NUMBER = 2**31 - 1


class MemberMetadata:
    """A member in the record of a classic group. Times are milliseconds."""

    __slots__ = (
        "assignment",
        "client_host",
        "client_id",
        "group_instance_id",
        "member_id",
        "rebalance_timeout_ms",
        "session_timeout_ms",
        "subscription",
    )

    def __init__(
        self,
        member_id: str,
        group_instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        subscription: bytes,
        assignment: bytes,
    ) -> None:
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.subscription = subscription
        self.assignment = assignment


class GroupMetadata:
    """The record of a classic group. `current_state_timestamp_ms` is -1 in value versions 0 and 1."""

    __slots__ = (
        "current_state_timestamp_ms",
        "generation_id",
        "leader_id",
        "members",
        "protocol_name",
        "protocol_type",
    )

    def __init__(
        self,
        protocol_type: str,
        generation_id: int,
        protocol_name: str | None,
        leader_id: str | None,
        current_state_timestamp_ms: int,
        members: Sequence[MemberMetadata],
    ) -> None:
        self.protocol_type = protocol_type
        self.generation_id = generation_id
        self.protocol_name = protocol_name
        self.leader_id = leader_id
        self.current_state_timestamp_ms = current_state_timestamp_ms
        self.members = members


def check_not_last(what: str, number: int) -> None:
    """Refuses the largest generation or epoch, which cannot be incremented. Only a damaged record has it."""
    if number >= LAST_NUMBER:
        raise InvalidRecordError(f"{what} {number} cannot be incremented")


# --- committed offsets ----------------------------------------------------------------------------------------------


def offset_commits(group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]) -> list[Pair]:
    """Committed offsets of a group. Packed by hand, since this is frequent; the codec gives the same bytes."""
    try:
        return [
            (
                pack_key(group_id, topic, partition),
                pack_value(each.offset, each.leader_epoch, each.metadata, each.commit_timestamp_ms)
                if each.expire_timestamp_ms == NO_EXPIRY
                else offset_commit_value(each),
            )
            for (topic, partition), each in offsets.items()
        ]
    except OverflowError:
        # A length is too large: the codec raises the error.
        return [(offset_commit_key(group_id, place), offset_commit_value(each)) for place, each in offsets.items()]


def offset_commit_value(committed: CommittedOffset) -> bytes:
    """The value of an offset. An offset with its own expiry needs value version 1."""
    has_expiry = committed.expire_timestamp_ms != NO_EXPIRY
    return OFFSET_COMMIT_VALUE.encode(
        EXPIRING_OFFSET_COMMIT_VALUE_VERSION if has_expiry else OFFSET_COMMIT_VALUE_VERSION,
        {
            "offset": committed.offset,
            "leader_epoch": committed.leader_epoch,
            "metadata": committed.metadata,
            "commit_timestamp": committed.commit_timestamp_ms,
            "expire_timestamp": committed.expire_timestamp_ms,
        },
    )


def offset_commit_tombstone(group_id: str, place: TopicPartition) -> Pair:
    """Deletes a committed offset."""
    return offset_commit_key(group_id, place), None


def offset_commit_key(group_id: str, place: TopicPartition) -> bytes:
    """The key of a committed offset."""
    topic, partition = place
    return OFFSET_COMMIT_KEY.encode(OFFSET_COMMIT, {"group": group_id, "topic": topic, "partition": partition})


def decode_offset_commit_key(key: bytes) -> tuple[str, TopicPartition]:
    """Decodes an offset's key: the group, and the topic and partition."""
    _, fields = OFFSET_COMMIT_KEY.decode(key)
    return fields.group, (fields.topic, fields.partition)


def decode_offset_commit_value(value: bytes, record_offset: int) -> CommittedOffset:
    """Decodes an offset's value of any version. `record_offset` is the record's offset in the log."""
    _, fields = OFFSET_COMMIT_VALUE.decode(value)
    return CommittedOffset(
        fields.offset,
        fields.leader_epoch,
        fields.metadata,
        fields.commit_timestamp,
        fields.expire_timestamp,
        record_offset,
    )


# --- classic groups -------------------------------------------------------------------------------------------------


def group_metadata(group_id: str, metadata: GroupMetadata) -> Pair:
    """A classic group's state."""
    value = GROUP_METADATA_VALUE.encode(
        GROUP_METADATA_VALUE_VERSION,
        {
            "protocol_type": metadata.protocol_type,
            "generation": metadata.generation_id,
            "protocol": metadata.protocol_name,
            "leader": metadata.leader_id,
            "current_state_timestamp": metadata.current_state_timestamp_ms,
            "members": [
                {
                    "member_id": member.member_id,
                    "group_instance_id": member.group_instance_id,
                    "client_id": member.client_id,
                    "client_host": member.client_host,
                    "rebalance_timeout": member.rebalance_timeout_ms,
                    "session_timeout": member.session_timeout_ms,
                    "subscription": member.subscription,
                    "assignment": member.assignment,
                }
                for member in metadata.members
            ],
        },
    )
    return group_metadata_key(group_id), value


def group_metadata_tombstone(group_id: str) -> Pair:
    """Deletes a classic group."""
    return group_metadata_key(group_id), None


def group_metadata_key(group_id: str) -> bytes:
    """The key of a classic group's state."""
    return GROUP_METADATA_KEY.encode(GROUP_METADATA, {"group": group_id})


def decode_group_metadata_key(key: bytes) -> str:
    """Decodes a group's key."""
    group_id: str = GROUP_METADATA_KEY.decode(key)[1].group
    return group_id


def decode_group_metadata_value(value: bytes) -> GroupMetadata:
    """Decodes a classic group's state of any version. Raises InvalidRecordError for an invalid state."""
    _, fields = GROUP_METADATA_VALUE.decode(value)
    check_not_last("generation", fields.generation)
    for ids in ([each.member_id for each in fields.members], [each.group_instance_id for each in fields.members]):
        named = [each for each in ids if each is not None]
        if len(set(named)) < len(named):
            raise InvalidRecordError("Two members have the same id")
    members = [
        MemberMetadata(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            # Value v0 has one timeout for both.
            member.session_timeout if member.rebalance_timeout == NO_TIMEOUT else member.rebalance_timeout,
            member.session_timeout,
            bytes(member.subscription),
            bytes(member.assignment),
        )
        for member in fields.members
    ]
    return GroupMetadata(
        fields.protocol_type, fields.generation, fields.protocol, fields.leader, fields.current_state_timestamp, members
    )
