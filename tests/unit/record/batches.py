"""Batches for the tests: written by other projects' codecs, or byte by byte where no codec would write them."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import cramjam
import crc32c
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

Row = tuple[bytes | None, bytes | None, list[tuple[str, bytes | None]], int]

HEADER = struct.Struct(">qiibIhiqqqhii")
CRC_POSITION, ATTRIBUTES_POSITION = 17, 21
FIELDS = {
    "base_offset": (0, "q"),
    "length": (8, "i"),
    "leader_epoch": (12, "i"),
    "magic": (16, "b"),
    "crc": (17, "I"),
    "attributes": (21, "h"),
    "last_offset_delta": (23, "i"),
    "base_timestamp": (27, "q"),
    "max_timestamp": (35, "q"),
    "producer_id": (43, "q"),
    "producer_epoch": (51, "h"),
    "base_sequence": (53, "i"),
    "record_count": (57, "i"),
}


def write_by_aiokafka(rows: Sequence[Row], codec: int = 0, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    return _write(AiokafkaBuilder, rows, codec, producer)


def write_by_kafka_python(rows: Sequence[Row], codec: int = 0, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    return _write(KafkaPythonBuilder, rows, codec, producer)


def _write(builder_class: Any, rows: Sequence[Row], codec: int, producer: tuple[int, int, int]) -> bytes:
    builder = builder_class(2, codec, 0, *producer, 1 << 30)
    for offset, (key, value, headers, timestamp) in enumerate(rows):
        assert builder.append(offset, timestamp, key, value, headers) is not None
    return bytes(builder.build())


def varint(value: int) -> bytes:
    rest = ((value << 1) ^ (value >> 63)) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while rest >= 0x80:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def record(
    key: bytes | None = None,
    value: bytes | None = b"v",
    headers: Iterable[tuple[bytes, bytes | None]] = (),
    *,
    offset_delta: int = 0,
    timestamp_delta: int = 0,
    attributes: int = 0,
) -> bytes:
    """One encoded record."""
    pairs = list(headers)
    body = bytes((attributes,)) + varint(timestamp_delta) + varint(offset_delta) + sized(key) + sized(value)
    body += varint(len(pairs)) + b"".join(sized(name) + sized(content) for name, content in pairs)
    return varint(len(body)) + body


def batch(payload: bytes, count: int, **fields: int) -> bytes:
    """A batch around a payload, its checksum right unless `crc` is given."""
    values = {"leader_epoch": -1, "magic": 2, "last_offset_delta": count - 1, "record_count": count}
    values |= {"length": 49 + len(payload), "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    return patched(bytes(HEADER.size) + payload, **(values | fields))


def patched(data: bytes, **fields: int) -> bytes:
    """A batch with header fields replaced and the checksum computed anew, unless `crc` is among them."""
    out = bytearray(data)
    for name, value in fields.items():
        position, kind = FIELDS[name]
        struct.pack_into(f">{kind}", out, position, value)
    if "crc" not in fields:
        struct.pack_into(">I", out, CRC_POSITION, crc32c.crc32c(bytes(out[ATTRIBUTES_POSITION:])))
    return bytes(out)


def field(data: bytes, name: str) -> int:
    position, kind = FIELDS[name]
    value: int = struct.unpack_from(f">{kind}", data, position)[0]
    return value


def xerial_blocks(framed: bytes) -> bytes:
    """What SnappyInputStream of the Java client reads, by the `cramjam` package block for block."""
    assert framed[:16] == b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
    out, position = b"", 16
    while position < len(framed):
        size = int.from_bytes(framed[position : position + 4], "big")
        out += bytes(cramjam.snappy.decompress_raw(framed[position + 4 : position + 4 + size]))
        position += 4 + size
    return out
