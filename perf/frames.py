"""Requests of Kafka's protocol as the load generator sends them: encoded once, length included, for one partition.

Written by hand from the protocol's public description, apart from `kcore.protocol`: a measurement also checks that.
The flexible versions are those that librdkafka and the Java client speak: Produce 9, Fetch 12 (KIP-482). Each `Load`
says where in its answer the error codes stand, and where in its request the fetch offset.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import crc32c

PRODUCE, FETCH, METADATA, API_VERSIONS, DELETE_TOPICS = 0, 1, 3, 18, 20
CLIENT_ID = b"kload"
BATCH_HEADER_SIZE = 61
MAX_REQUEST_BYTES = 1 << 30


@dataclass(frozen=True)
class Load:
    """One pre-encoded request."""

    frame: bytes
    error_positions: tuple[int, ...] = ()
    offset_position: int | None = None


def unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varint(value: int) -> bytes:
    """Zigzag, as inside records."""
    return unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1)


def compact(value: bytes) -> bytes:
    return unsigned_varint(len(value) + 1) + value


def string(value: bytes) -> bytes:
    return struct.pack(">h", len(value)) + value


def framed(key: int, version: int, body: bytes, *, flexible: bool) -> bytes:
    header = struct.pack(">hhi", key, version, 0) + string(CLIENT_ID) + (b"\0" if flexible else b"")
    return struct.pack(">i", len(header) + len(body)) + header + body


def record(delta: int, value: bytes) -> bytes:
    body = b"\0" + varint(0) + varint(delta) + varint(-1) + varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def batch(values: list[bytes], timestamp_ms: int) -> bytes:
    """An uncompressed record batch of magic 2 (KIP-98) whose records have no key."""
    records = b"".join(record(delta, value) for delta, value in enumerate(values))
    last = len(values) - 1
    checked = struct.pack(">hiqqqhii", 0, last, timestamp_ms, timestamp_ms, -1, -1, -1, len(values)) + records
    length = len(checked) + 9
    return struct.pack(">qiibI", 0, length, -1, 2, crc32c.crc32c(checked)) + checked


def batch_of_size(size: int, timestamp_ms: int, record_size: int = 1024) -> tuple[bytes, int]:
    """A batch of exactly `size` bytes of records of about `record_size`, and how many records it has."""
    count = max(1, (size - BATCH_HEADER_SIZE) // (record_size + 16))
    values = [bytes(range(256)) * (record_size // 256)] * (count - 1)
    padding = size - len(batch([*values, b""], timestamp_ms))
    # The last record's two lengths grow by a few bytes with its value.
    for shorter in range(8):
        made = batch([*values, b"x" * (padding - shorter)], timestamp_ms)
        if len(made) == size:
            return made, count
    raise AssertionError(f"no batch of {size} bytes")


def produce(topic: str, partition: int, records: bytes, *, acks: int = 1, timeout_ms: int = 30_000) -> Load:
    """Produce 9."""
    name = topic.encode()
    part = struct.pack(">i", partition) + compact(records) + b"\0"
    topics = unsigned_varint(2) + compact(name) + unsigned_varint(2) + part + b"\0"
    body = b"\0" + struct.pack(">hi", acks, timeout_ms) + topics + b"\0"
    # length, correlation id, tags, topics, name, partitions, index
    error = 4 + 4 + 1 + 1 + len(compact(name)) + 1 + 4
    return Load(framed(PRODUCE, 9, body, flexible=True), (error,))


def fetch(
    topic: str, partition: int, *, max_bytes: int, offset: int = 0, max_wait_ms: int = 500, min_bytes: int = 1
) -> Load:
    """Fetch 12, outside any fetch session."""
    name = topic.encode()
    head = struct.pack(">iiiibii", -1, max_wait_ms, min_bytes, max_bytes, 0, 0, -1)
    before = head + unsigned_varint(2) + compact(name) + unsigned_varint(2) + struct.pack(">ii", partition, -1)
    part = struct.pack(">qiqi", offset, -1, -1, max_bytes) + b"\0"
    body = before + part + b"\0" + unsigned_varint(1) + compact(b"") + b"\0"
    frame = framed(FETCH, 12, body, flexible=True)
    # length, correlation id, tags, throttle time; then session, topics, name, partitions, index
    top_level = 4 + 4 + 1 + 4
    error = top_level + 2 + 4 + 1 + len(compact(name)) + 1 + 4
    return Load(frame, (top_level, error), len(frame) - len(body) + len(before))


def api_versions() -> bytes:
    """ApiVersions 0: what a client asks first."""
    return framed(API_VERSIONS, 0, b"", flexible=False)


def metadata() -> bytes:
    """Metadata 4 for all topics."""
    return framed(METADATA, 4, struct.pack(">i", -1) + b"\0", flexible=False)


def create_topic(topic: str) -> bytes:
    """Metadata 4 that lets the broker create the topic."""
    return framed(METADATA, 4, struct.pack(">i", 1) + string(topic.encode()) + b"\1", flexible=False)


def delete_topic(topic: str, timeout_ms: int = 30_000) -> bytes:
    """DeleteTopics 1."""
    body = struct.pack(">i", 1) + string(topic.encode()) + struct.pack(">i", timeout_ms)
    return framed(DELETE_TOPICS, 1, body, flexible=False)
