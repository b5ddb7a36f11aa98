"""Every message in every version that kio has: kio reads our bytes as the same values and writes the same bytes."""

from __future__ import annotations

import datetime
import enum
import importlib
import io
import re
import uuid
from dataclasses import fields
from typing import Any

import pytest
from kio.serial import entity_reader, entity_writer

from kcore.protocol.codec import MessageType
from kcore.protocol.message import Message
from kcore.protocol.notation import includes
from tests.unit.protocol import samples

# Nearly all of the time is kio's; test_every_version.py takes the native codec through the same messages.
pytestmark = pytest.mark.release_build

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
# kio reads these as points or spans in time of Python's, which do not have all values of 64 bits.
TIMES = {"log_append_time_ms", "timestamp", "retention_time_ms", "session_lifetime_ms", "transaction_start_time_ms"}
# kio drops unknown tags, so that there is nothing to compare them with.
FLAVOURS = tuple(flavour for flavour in samples.FLAVOURS if flavour != "tags")


def kio_entity(message_type: MessageType, version: int) -> type | None:
    """kio's class of a message, None where it has none."""
    stem = re.sub(r"(Request|Response)$", "", message_type.name)
    package = re.sub(r"(?<!^)(?=[A-Z])", "_", stem).lower()
    module = {"Request": "request", "Response": "response"}.get(message_type.name.removeprefix(stem), "data")
    try:
        entity: type = getattr(importlib.import_module(f"kio.schema.{package}.v{version}.{module}"), message_type.name)
    except ModuleNotFoundError:
        return None
    return entity


def plain(value: Any) -> Any:
    """A value of kio's as the codec has it; entities as lists of their fields in order."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, enum.IntEnum):
        return int(value)
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    if isinstance(value, uuid.UUID):
        return value.bytes
    if hasattr(value, "__dataclass_fields__"):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    return value


def listed(message: Any, version: int) -> Any:
    """A message of ours likewise: the fields that the version has, in their order."""
    if isinstance(message, list):
        return [listed(item, version) for item in message]
    if isinstance(message, memoryview):
        return bytes(message)
    if not isinstance(message, Message):
        return message
    present = [field for field in message._struct.fields if includes(field.versions, version)]
    return [listed(getattr(message, field.name), version) for field in present]


def same(ours: Any, theirs: Any) -> bool:
    """Equal, where kio says None for the zero uuid and for the time -1."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs or (theirs is None and ours in (bytes(16), -1))


def cases() -> list[Any]:
    return [
        pytest.param(message_type, version, id=f"{message_type.name}-{version}")
        for message_type in samples.message_types()
        for version in samples.versions_of(message_type)
        if kio_entity(message_type, version) is not None
    ]


def tame_times(fields: Any) -> Any:
    if isinstance(fields, list):
        return [tame_times(item) for item in fields]
    if isinstance(fields, dict):
        return {name: 1_600_000_000_000 if name in TIMES else tame_times(item) for name, item in fields.items()}
    return fields


@pytest.mark.parametrize("flavour", FLAVOURS)
@pytest.mark.parametrize(("message_type", "version"), cases())
def test_kio_reads_and_writes_the_same(message_type: MessageType, version: int, flavour: str) -> None:
    entity: Any = kio_entity(message_type, version)
    fields = tame_times(samples.sample(message_type, version, flavour, real_error_codes=True))
    ours = message_type.encode(version, fields)
    message = message_type.decode(version, ours)
    theirs, size = entity_reader(entity)(ours, 0)
    assert size == len(ours)
    assert same(listed(message, version), plain(theirs))
    written = io.BytesIO()
    entity_writer(entity)(written, theirs)
    assert written.getvalue() == ours
    assert message_type.encode(version, message) == ours
