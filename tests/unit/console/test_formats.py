"""How records are printed: `-f` formats, Kafka's properties, deserializers."""

from __future__ import annotations

import struct

import pytest

from kcli.console.format_tokens import parse_format
from kcli.console.record_formatter import formatter_of
from kcli.failures import UsageFailure
from kcore.client.consumer.consumer_record import CREATE_TIME, ConsumerRecord
from kcore.config.definition import ConfigException

RECORD = ConsumerRecord(
    "t", 3, 42, timestamp=7, timestamp_type=CREATE_TIME, key=b"k", value=b"\xff", headers=[("a", b"1"), ("b", None)]
)
TOMBSTONE = ConsumerRecord("t", 0, 1, timestamp=8, timestamp_type=CREATE_TIME)


def printed(properties: dict[str, str], *records: ConsumerRecord) -> bytes:
    return formatter_of(properties).of_records(list(records))


def by_format(text: str, record: ConsumerRecord, **properties: str) -> bytes:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return formatter_of(named, parse_format(text)).of_records([record])


def test_each_token() -> None:
    assert by_format(r"%t %p %o %T %k %K %s %S %R %h %%\n", RECORD) == (
        b"t 3 42 7 k 1 \xff 1 \x00\x00\x00\x01 a=1,b= %\n"
    )
    assert by_format("%k|%K|%s|%S|%h", TOMBSTONE) == b"|-1||-1|"
    assert by_format("%k|%s", TOMBSTONE, null_literal="NULL") == b"NULL|NULL"


def test_escapes_and_text() -> None:
    assert parse_format(r"\t\r\n\0\\\x41\xff") == [b"\t\r\n\0\\A\xff"]
    assert parse_format("é%s") == ["é".encode(), "value"]
    assert parse_format("") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%x", "-f: unknown token %x"),
        ("%", "-f: unknown token %."),
        (r"\q", r"-f: unknown escape \q"),
        ("\\", "-f: unknown escape \\."),
        (r"\x4", r"-f: \x4: \x must be followed by two"),
        (r"\xg1", r"-f: \xg1: \x must be followed by two"),
    ],
)
def test_formats_that_make_no_sense(text: str, message: str) -> None:
    with pytest.raises(UsageFailure) as raised:
        parse_format(text)
    assert str(raised.value).startswith(message)


def test_kafkas_parts_in_kafkas_order() -> None:
    everything = {
        f"print.{part}": "true" for part in ("value", "key", "headers", "epoch", "offset", "partition", "timestamp")
    }
    assert printed(everything, RECORD, TOMBSTONE) == (
        b"CreateTime:7\tPartition:3\tOffset:42\tEpoch:NOT_PRESENT\ta:1,b:null\tk\t\xff\n"
        b"CreateTime:8\tPartition:0\tOffset:1\tEpoch:NOT_PRESENT\tNO_HEADERS\tnull\tnull\n"
    )
    own = {
        "key.separator": "|",
        "line.separator": ";",
        "headers.separator": "&",
        "null.literal": "-",
        "print.key": "TRUE",
    }
    assert printed({**own, "print.headers": "true"}, RECORD, TOMBSTONE) == b"a:1&b:-|k|\xff;NO_HEADERS|-|-;"
    assert printed({"print.key": "true", "print.value": "false"}, RECORD) == b"k\n"
    assert printed({"print.value": "false"}, RECORD) == b""


def test_deserializers_make_text_of_what_is_there() -> None:
    package = "org.apache.kafka.common.serialization."
    record = ConsumerRecord("t", 0, 0, key=struct.pack(">q", -7), value=struct.pack(">i", 5))
    properties = {
        "print.key": "true",
        "key.deserializer": package + "LongDeserializer",
        "value.deserializer": package + "IntegerDeserializer",
        "value.deserializer.anything": "of Java's",
    }
    assert printed(properties, record, TOMBSTONE) == b"-7\t5\nnull\tnull\n"
    with pytest.raises(ValueError, match="topic t: 1 bytes instead of the 8 of a number"):
        printed(properties, RECORD)


def test_properties_that_make_no_sense() -> None:
    with pytest.raises(
        UsageFailure, match=r"--property print\.keys: unknown property. Valid properties: print\.timestamp"
    ):
        formatter_of({"print.keys": "true"})
    with pytest.raises(UsageFailure, match=r"headers\.deserializer: only StringDeserializer is supported"):
        formatter_of({"headers.deserializer": "org.apache.kafka.common.serialization.LongDeserializer"})
    with pytest.raises(ConfigException, match=r"Invalid value com\.example\.Own for configuration key\.deserializer"):
        formatter_of({"key.deserializer": "com.example.Own"})
