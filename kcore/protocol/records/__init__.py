"""Messages that are stored: keys and values in `__consumer_offsets`, and what group members exchange through the
coordinator. Each begins with two bytes, its version.

The version of a key in `__consumer_offsets` gives its kind (`version_of`): 0 and 1 are committed offsets, 2 is a
classic group, 3 to 8 and 16 belong to consumer groups. Versions above the known ones cannot be read, except in the
consumer protocol: its newer versions only add fields at the end, so they are read as the newest known version.
"""

from __future__ import annotations

from _thread import allocate_lock

from kcore.protocol.protocol_errors import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from kcore.protocol.codec import MessageType
    from kcore.protocol.message import Message

    Buffer: TypeAlias = bytes | bytearray | memoryview

VERSION_SIZE = 2
NEVER_FLEXIBLE = 32767
_LOAD_LOCK = allocate_lock()


def version_of(data: Buffer) -> int:
    """The version at the start of a record's key or value."""
    if len(data) < VERSION_SIZE:
        raise ProtocolError(f"{len(data)} bytes have no version", 0)
    return int.from_bytes(data[:VERSION_SIZE], "big", signed=True)


class VersionedType:
    """A message with its version before it. The schema is imported on first use."""

    __slots__ = (
        "_message_type",
        "first_flexible",
        "is_open_ended",
        "latest_version",
        "module",
        "name",
        "oldest_version",
    )

    def __init__(
        self,
        name: str,
        module: str,
        versions: tuple[int, int],
        *,
        first_flexible: int = NEVER_FLEXIBLE,
        is_open_ended: bool = False,
    ) -> None:
        self.name = name
        self.module = module
        self.oldest_version, self.latest_version = versions
        self.first_flexible = first_flexible
        self.is_open_ended = is_open_ended
        self._message_type: MessageType | None = None

    @property
    def message_type(self) -> MessageType:
        """The message without its version."""
        if self._message_type is None:
            from importlib import import_module

            from kcore.protocol.codec import MessageType

            schema = import_module(f"{__name__}.{self.module}").SCHEMA
            versions = (self.latest_version, self.first_flexible, self.oldest_version)
            with _LOAD_LOCK:
                self._message_type = self._message_type or MessageType(self.name, schema, *versions)
        return self._message_type

    def decode(self, data: Buffer) -> tuple[int, Message]:
        """Returns the version as written and the message. Raises ProtocolError or UnsupportedVersionError."""
        version = version_of(data)
        if self.is_open_ended:
            return version, self.message_type.decode_prefix(min(version, self.latest_version), data, VERSION_SIZE)[0]
        return version, self.message_type.decode(version, data, VERSION_SIZE)

    def encode(self, version: int, fields: Message | Mapping[str, Any]) -> bytes:
        return self.message_type.encode(version, fields, version.to_bytes(VERSION_SIZE, "big", signed=True))


OFFSET_COMMIT_KEY = VersionedType("OffsetCommitKey", "offset_commit_key", (0, 1))
OFFSET_COMMIT_VALUE = VersionedType("OffsetCommitValue", "offset_commit_value", (0, 4), first_flexible=4)
GROUP_METADATA_KEY = VersionedType("GroupMetadataKey", "group_metadata_key", (2, 2))
GROUP_METADATA_VALUE = VersionedType("GroupMetadataValue", "group_metadata_value", (0, 4), first_flexible=4)


def _of_consumer_groups(name: str, module: str, kind: int) -> tuple[VersionedType, VersionedType]:
    """A key and its value. The key's version is the kind of the record; the value has version 0 and is flexible."""
    key = VersionedType(f"ConsumerGroup{name}Key", f"consumer_group_{module}_key", (kind, kind))
    value = VersionedType(f"ConsumerGroup{name}Value", f"consumer_group_{module}_value", (0, 0), first_flexible=0)
    return key, value


CONSUMER_GROUP_METADATA_KEY, CONSUMER_GROUP_METADATA_VALUE = _of_consumer_groups("Metadata", "metadata", 3)
CONSUMER_GROUP_PARTITION_METADATA_KEY, CONSUMER_GROUP_PARTITION_METADATA_VALUE = _of_consumer_groups(
    "PartitionMetadata", "partition_metadata", 4
)
CONSUMER_GROUP_MEMBER_METADATA_KEY, CONSUMER_GROUP_MEMBER_METADATA_VALUE = _of_consumer_groups(
    "MemberMetadata", "member_metadata", 5
)
CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY, CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE = _of_consumer_groups(
    "TargetAssignmentMetadata", "target_assignment_metadata", 6
)
CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY, CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE = _of_consumer_groups(
    "TargetAssignmentMember", "target_assignment_member", 7
)
CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY, CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE = _of_consumer_groups(
    "CurrentMemberAssignment", "current_member_assignment", 8
)
CONSUMER_GROUP_REGULAR_EXPRESSION_KEY, CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE = _of_consumer_groups(
    "RegularExpression", "regular_expression", 16
)
CONSUMER_PROTOCOL_SUBSCRIPTION = VersionedType(
    "ConsumerProtocolSubscription", "consumer_protocol_subscription", (0, 3), is_open_ended=True
)
CONSUMER_PROTOCOL_ASSIGNMENT = VersionedType(
    "ConsumerProtocolAssignment", "consumer_protocol_assignment", (0, 3), is_open_ended=True
)
