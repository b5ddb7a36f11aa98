"""LogValidator's rules once more, slowly and in plain Python, for the fast ones to be held against.

Written from the rules (LogValidator and UnifiedLog of Apache Kafka 3.9), not from validator.pyx: struct, the codec
packages that others use, and lists.
"""

from __future__ import annotations

import gzip
import struct
from typing import NamedTuple

import crc32c
import lz4.frame
import zstandard

from kcore.record.decoder import decode_batches
from kcore.record.validator import Validation
from tests.unit.record.batches import field, patched, record, xerial_blocks

CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP, UNSUPPORTED_COMPRESSION_TYPE, INVALID_RECORD = 2, 10, 32, 76, 87
CLIENT, COORDINATOR = 0, 1
HEADER_BYTES = 61
LONG_MAX = (1 << 63) - 1


class Rules(NamedTuple):
    """What `validate` takes by name; the defaults are a topic's."""

    base_offset: int = 0
    leader_epoch: int = 0
    now_ms: int = 0
    origin: int = CLIENT
    compacted: bool = False
    reject_zstd: bool = False
    timestamp_type: int = 0
    target_codec: int = -1
    max_message_bytes: int = 1048588
    timestamp_before_max_ms: int = LONG_MAX
    timestamp_after_max_ms: int = LONG_MAX


class ParsedRecord(NamedTuple):
    attributes: int
    timestamp: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[bytes, bytes | None]]


class Refused(Exception):
    def __init__(self, error: int, record_index: int = -1) -> None:
        super().__init__(error)
        self.error = error
        self.record_index = record_index


class Outcome(NamedTuple):
    error: int
    record_index: int = -1
    records: bytes | None = None  # the exact bytes; None when compressed anew, where `rows` stands for them
    header: dict[str, int] | None = None
    rows: list[ParsedRecord] | None = None
    max_timestamp: int = -1


def signed(value: int) -> int:
    """A 64-bit integer as Java wraps it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def read_varint(data: bytes, position: int, bits: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if position >= len(data) or shift >= bits + 3:
            raise Refused(INVALID_RECORD)
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if value >= 1 << bits:
        raise Refused(INVALID_RECORD)
    return (value >> 1) ^ -(value & 1), position


def read_sized(data: bytes, position: int) -> tuple[bytes | None, int]:
    size, position = read_varint(data, position, 32)
    if size < 0:
        return None, position
    if position + size > len(data):
        raise Refused(INVALID_RECORD)
    return data[position : position + size], position + size


def parse_record(body: bytes, base_timestamp: int) -> ParsedRecord:
    if not body:
        raise Refused(INVALID_RECORD)
    timestamp_delta, position = read_varint(body, 1, 64)
    offset_delta, position = read_varint(body, position, 32)
    key, position = read_sized(body, position)
    value, position = read_sized(body, position)
    count, position = read_varint(body, position, 32)
    headers: list[tuple[bytes, bytes | None]] = []
    if count < 0 or count > len(body):
        raise Refused(INVALID_RECORD)
    for _ in range(count):
        name, position = read_sized(body, position)
        if name is None:
            raise Refused(INVALID_RECORD)
        content, position = read_sized(body, position)
        headers.append((name, content))
    if position != len(body):
        raise Refused(INVALID_RECORD)
    attributes = struct.unpack(">b", body[:1])[0]
    return ParsedRecord(attributes, signed(base_timestamp + timestamp_delta), offset_delta, key, value, headers)


def parse_records(payload: bytes, count: int, base_timestamp: int) -> list[ParsedRecord]:
    parsed, position = [], 0
    for index in range(count):
        try:
            size, position = read_varint(payload, position, 32)
            if size < 0 or position + size > len(payload):
                raise Refused(INVALID_RECORD)
            parsed.append(parse_record(payload[position : position + size], base_timestamp))
        except Refused as refused:
            raise Refused(refused.error, index) from None
        position += size
    if position != len(payload):
        raise Refused(INVALID_RECORD)
    return parsed


def decompressed(codec: int, payload: bytes) -> bytes:
    if codec and not payload:
        raise Refused(INVALID_RECORD)
    try:
        if codec == 1:
            return gzip.decompress(payload)
        if codec == 2:
            return xerial_blocks(payload)
        if codec == 3:
            return bytes(lz4.frame.decompress(payload))
        if codec == 4:
            return zstandard.ZstdDecompressor().stream_reader(payload).read()
    except Exception as error:
        raise Refused(INVALID_RECORD) from error
    return payload


def check_batch(data: bytes, rules: Rules) -> None:
    """Everything about the batch as a whole, in Kafka's order."""
    if len(data) < 17 or len(data) < field(data, "length") + 12:
        raise Refused(CORRUPT_MESSAGE if len(data) >= 12 and field(data, "length") < 14 else INVALID_RECORD)
    if field(data, "length") < 14 or not 0 <= field(data, "magic") <= 2:
        raise Refused(CORRUPT_MESSAGE)
    if field(data, "magic") < 2:
        raise Refused(INVALID_RECORD)
    if field(data, "length") < HEADER_BYTES - 12:
        raise Refused(CORRUPT_MESSAGE)
    if len(data) != field(data, "length") + 12:
        raise Refused(INVALID_RECORD)
    codec = field(data, "attributes") & 7
    if rules.origin == CLIENT and codec == 4 and rules.reject_zstd:
        raise Refused(UNSUPPORTED_COMPRESSION_TYPE)
    if rules.origin == CLIENT and field(data, "base_offset") != 0:
        raise Refused(INVALID_RECORD)
    if len(data) > rules.max_message_bytes:
        raise Refused(MESSAGE_TOO_LARGE)
    if crc32c.crc32c(data[21:]) != field(data, "crc"):
        raise Refused(CORRUPT_MESSAGE)
    if codec > 4:
        raise Refused(UNSUPPORTED_COMPRESSION_TYPE)
    if field(data, "record_count") <= 0 or field(data, "last_offset_delta") != field(data, "record_count") - 1:
        raise Refused(INVALID_RECORD)
    if rules.origin == CLIENT:
        if field(data, "attributes") & 0x20:
            raise Refused(INVALID_RECORD)
        if field(data, "producer_id") >= 0 and field(data, "base_sequence") < 0:
            raise Refused(INVALID_RECORD)


def check_records(rows: list[ParsedRecord], data: bytes, rules: Rules) -> None:
    attributes = field(data, "attributes")
    failures: list[tuple[int, int]] = []
    for index, row in enumerate(rows):
        age = signed(rules.now_ms - row.timestamp)
        error = 0
        if rules.compacted and row.key is None:
            error = INVALID_RECORD
        elif rules.timestamp_type == 0 and row.timestamp != -1:
            if age > rules.timestamp_before_max_ms or signed(-age) > rules.timestamp_after_max_ms:
                error = INVALID_TIMESTAMP
        elif attributes & 0x08:
            error = INVALID_TIMESTAMP
        if error:
            failures.append((error, index))
        if row.offset_delta != index and not attributes & 7:
            failures.append((INVALID_RECORD, index))
    if failures:
        worst = INVALID_TIMESTAMP if any(error == INVALID_TIMESTAMP for error, _ in failures) else INVALID_RECORD
        raise Refused(worst, failures[0][1])


def write_anew(rows: list[ParsedRecord]) -> bytes:
    out = b""
    for index, row in enumerate(rows):
        delta = signed(row.timestamp - rows[0].timestamp)
        out += record(row.key, row.value, row.headers, offset_delta=index, timestamp_delta=delta)
    return out


def validate(data: bytes, rules: Rules) -> Outcome:
    try:
        return accept(data, rules)
    except Refused as refused:
        return Outcome(refused.error, refused.record_index)


def accept(data: bytes, rules: Rules) -> Outcome:
    check_batch(data, rules)
    attributes, count = field(data, "attributes"), field(data, "record_count")
    codec = attributes & 7
    payload = decompressed(codec, data[HEADER_BYTES:])
    rows = parse_records(payload, count, field(data, "base_timestamp"))
    if attributes & 0x08:
        rows = [row._replace(timestamp=field(data, "max_timestamp")) for row in rows]
    check_records(rows, data, rules)
    target = codec if rules.target_codec == -1 else rules.target_codec
    if codec == 0 and attributes & 0x20:
        target = 0
    max_timestamp = rules.now_ms if rules.timestamp_type else max(-1, *(row.timestamp for row in rows))
    changed = {"base_offset": rules.base_offset, "leader_epoch": rules.leader_epoch, "max_timestamp": max_timestamp}
    if target == codec and [row.offset_delta for row in rows] == list(range(count)):
        changed["attributes"] = attributes & ~0x08 | (0x08 if rules.timestamp_type else 0)
        return Outcome(0, records=patched(data, **changed), max_timestamp=max_timestamp)
    changed["attributes"] = target | attributes & 0x10 | (0x08 if rules.timestamp_type else 0)
    changed |= {"base_timestamp": rows[0].timestamp}
    if target == 0:
        body = data[:HEADER_BYTES] + write_anew(rows)
        if len(body) > rules.max_message_bytes:
            raise Refused(MESSAGE_TOO_LARGE)
        return Outcome(0, records=patched(body, length=len(body) - 12, **changed), max_timestamp=max_timestamp)
    return Outcome(0, header=changed, rows=rows, max_timestamp=max_timestamp)


def agree(ours: Validation, expected: Outcome, rules: Rules) -> None:
    """Asserts that a `Validation` is what the reference came to."""
    assert ours.error == expected.error, (ours, expected)
    assert ours.failed_record_index == expected.record_index, (ours, expected)
    if expected.error:
        assert ours.records is None
        return
    written = ours.records
    assert written is not None
    assert ours.max_timestamp == expected.max_timestamp
    if expected.records is not None:
        assert written == expected.records
    else:
        assert expected.header is not None
        assert expected.rows is not None
        assert {name: field(written, name) for name in expected.header} == expected.header
        assert crc32c.crc32c(written[21:]) == field(written, "crc")
        payload = decompressed(field(written, "attributes") & 7, written[HEADER_BYTES:])
        assert payload == write_anew(expected.rows)
    (batch,) = decode_batches(written)
    assert [read.offset for read in batch] == list(range(rules.base_offset, rules.base_offset + batch.record_count))
