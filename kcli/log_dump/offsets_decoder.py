"""Keys and values of `__consumer_offsets` as JSON, in the form of Kafka's own --offsets-decoder.

    key: {"type":"1","data":{...}} payload: {"version":"3","data":{...}}

Key versions 0 and 1 are committed offsets, 2 is a group. What members hand to one another is decoded too where it is
the consumer protocol's. A record that cannot be read is named as such and the rest goes on.
"""

from __future__ import annotations

import base64

from kcli.output import to_json
from kcore.errors import KafkaError
from kcore.protocol import records
from kcore.protocol.message import Message
from kcore.protocol.notation import includes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Row = dict[str, Any]

GROUP_KEY_VERSION = 2
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
        if len(key) >= records.VERSION_SIZE and records.version_of(key) > GROUP_KEY_VERSION:
            return f"Unknown record type {records.version_of(key)} at offset {offset}, skipping.", None
        return f"Error at offset {offset}, skipping. {error}", None


def _decode(key: bytes, value: bytes | None) -> tuple[str, str]:
    is_group = records.version_of(key) >= GROUP_KEY_VERSION
    key_type = records.GROUP_METADATA_KEY if is_group else records.OFFSET_COMMIT_KEY
    version, message = key_type.decode(key)
    text = to_json({"type": str(version), "data": to_fields(message, version)})
    if value is None:
        return text, DELETED
    value_type = records.GROUP_METADATA_VALUE if is_group else records.OFFSET_COMMIT_VALUE
    version, message = value_type.decode(value)
    fields = to_fields(message, version)
    if is_group and message.protocol_type == CONSUMER_PROTOCOL:
        for member, row in zip(message.members, fields["members"], strict=True):
            row["subscription"] = _inner(records.CONSUMER_PROTOCOL_SUBSCRIPTION, member.subscription)
            row["assignment"] = _inner(records.CONSUMER_PROTOCOL_ASSIGNMENT, member.assignment)
    return text, to_json({"version": str(version), "data": fields})


def _inner(kind: records.VersionedType, data: bytes) -> Any:
    """What a member said of itself, or its bytes where they are not what they should be."""
    try:
        version, message = kind.decode(data)
    except KafkaError:
        return base64.b64encode(data).decode()
    return to_fields(message, min(version, kind.latest_version))


def to_fields(message: Message, version: int) -> dict[str, Any]:
    """The fields that this version of the message has, under Kafka's names; bytes in base64."""
    return {
        _camel_case(field.name): _plain(getattr(message, field.name), version)
        for field in message._struct.fields
        if includes(field.versions, version)
    }


def _plain(value: object, version: int) -> object:
    if isinstance(value, Message):
        return to_fields(value, version)
    if isinstance(value, list):
        return [_plain(item, version) for item in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode()
    return value


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
