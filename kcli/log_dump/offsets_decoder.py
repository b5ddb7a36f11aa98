"""Keys and values of `__consumer_offsets` as JSON, as printed by Kafka's --offsets-decoder.

    key: {"type":"1","data":{...}} payload: {"version":"3","data":{...}}

Key versions 0 and 1 are committed offsets, 2 is a classic group, 3 to 8 and 16 are consumer groups. Subscriptions and
assignments of the consumer protocol are decoded too. A record that cannot be decoded is reported, and the next ones are
printed.
"""

from __future__ import annotations

import base64

from kcli.output import to_json
from kcore import uuid
from kcore.errors import KafkaError
from kcore.protocol import records
from kcore.protocol.message import Message
from kcore.protocol.notation import includes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.protocol.notation import Field

    Row = dict[str, Any]

OFFSET_KEY_VERSIONS = (0, 1)
GROUP_KEY_VERSION = 2
# The common prefix of key and value types, by the other key versions.
CONSUMER_GROUP_KINDS = {
    3: "CONSUMER_GROUP_METADATA",
    4: "CONSUMER_GROUP_PARTITION_METADATA",
    5: "CONSUMER_GROUP_MEMBER_METADATA",
    6: "CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA",
    7: "CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER",
    8: "CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT",
    16: "CONSUMER_GROUP_REGULAR_EXPRESSION",
}
CONSUMER_PROTOCOL = "consumer"
DELETED = "<DELETE>"


def decode_offsets_record(row: Row) -> tuple[str | None, str | None]:
    """Key and payload of a record's row as text."""
    offset, key, value = row["offset"], row["key"], row["value"]
    if key is None:
        return f"Error at offset {offset}, skipping. the record has no key", None
    try:
        return _decode(key, value)
    except KafkaError as error:
        if len(key) >= records.VERSION_SIZE and not _is_known(records.version_of(key)):
            return f"Unknown record type {records.version_of(key)} at offset {offset}, skipping.", None
        return f"Error at offset {offset}, skipping. {error}", None


def _is_known(version: int) -> bool:
    return version in OFFSET_KEY_VERSIONS or version == GROUP_KEY_VERSION or version in CONSUMER_GROUP_KINDS


def _types(version: int) -> tuple[records.VersionedType, records.VersionedType]:
    """Types of key and value for a key version. An unknown version uses those of offsets, whose decoding fails."""
    if version == GROUP_KEY_VERSION:
        return records.GROUP_METADATA_KEY, records.GROUP_METADATA_VALUE
    name = CONSUMER_GROUP_KINDS.get(version, "OFFSET_COMMIT")
    return getattr(records, f"{name}_KEY"), getattr(records, f"{name}_VALUE")


def _decode(key: bytes, value: bytes | None) -> tuple[str, str]:
    key_type, value_type = _types(records.version_of(key))
    is_group = value_type is records.GROUP_METADATA_VALUE
    version, message = key_type.decode(key)
    text = to_json({"type": str(version), "data": to_fields(message, version)})
    if value is None:
        return text, DELETED
    version, message = value_type.decode(value)
    fields = to_fields(message, version)
    if is_group and message.protocol_type == CONSUMER_PROTOCOL:
        for member, row in zip(message.members, fields["members"], strict=True):
            row["subscription"] = _inner(records.CONSUMER_PROTOCOL_SUBSCRIPTION, member.subscription)
            row["assignment"] = _inner(records.CONSUMER_PROTOCOL_ASSIGNMENT, member.assignment)
    return text, to_json({"version": str(version), "data": fields})


def _inner(kind: records.VersionedType, data: bytes) -> Any:
    """The decoded data of a member, or its bytes in base64 if they are invalid."""
    try:
        version, message = kind.decode(data)
    except KafkaError:
        return base64.b64encode(data).decode()
    return to_fields(message, min(version, kind.latest_version))


def to_fields(message: Message, version: int) -> dict[str, Any]:
    """The fields of this version of the message, under Kafka's names; bytes in base64, uuids as Kafka writes them.

    Tagged fields with default values are omitted, as on the wire.
    """
    return {
        _camel_case(field.name): _plain(getattr(message, field.name), version, field.element == "uuid")
        for field in message._struct.fields
        if includes(field.versions, version) and not _says_nothing(field, getattr(message, field.name))
    }


def _says_nothing(field: Field, value: object) -> bool:
    return field.tag >= 0 and not field.has_fresh_default and value == field.default


def _plain(value: object, version: int, is_uuid: bool = False) -> object:
    if is_uuid and isinstance(value, bytes):
        return uuid.to_text(value)
    if isinstance(value, Message):
        return to_fields(value, version)
    if isinstance(value, list):
        return [_plain(item, version, is_uuid) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return value


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
