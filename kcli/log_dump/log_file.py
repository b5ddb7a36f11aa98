"""Dumps a .log file: its batches, and with `deep` also their records."""

from __future__ import annotations

import os
import struct

from kcli.log_dump.batch_reader import BatchReader
from kcore.errors import KafkaError
from kcore.record.compression import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcli.log_dump.findings import Findings
    from kcore.record.decoder import Record, RecordBatch

    Row = dict[str, Any]

CONTROL_TYPES = {0: "ABORT", 1: "COMMIT", 2: "LEADER_CHANGE"}


def base_offset_of(path: str) -> int:
    """The base offset in a file name. Raises ValueError for a name without one."""
    return int(os.path.basename(path).partition(".")[0])


def dump_log(path: str, *, deep: bool, max_bytes: int | None, findings: Findings) -> Iterator[Row]:
    """One row per batch, each followed by one row per record."""
    last_offset = None
    with BatchReader(path, max_bytes) as reader:
        for position, batch in reader:
            valid = batch.has_valid_checksum()
            if not valid:
                findings.errors.append(f"{path}: the checksum of the batch at position {position} does not match")
            yield batch_row(batch, position, valid)
            if not deep or not valid:
                continue
            for row in _record_rows(path, position, batch, findings):
                if last_offset is not None and row["offset"] != last_offset + 1:
                    findings.add(findings.non_consecutive, os.path.abspath(path), (last_offset, row["offset"]))
                last_offset = row["offset"]
                yield row
        if reader.invalid_bytes > 0:
            findings.errors.append(f"{path}: no complete batch at position {reader.position}")
            yield {"kind": "invalid_bytes", "size": reader.invalid_bytes, "file": os.path.basename(path)}


def timestamp_type(batch: RecordBatch) -> str:
    """Kafka's name of the timestamp type. Messages of magic 0 have no timestamp."""
    if batch.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.is_log_append_time else "CreateTime"


def codec_name(number: int) -> str:
    return NAMES[number] if number < len(NAMES) else f"unknown({number})"


def batch_row(batch: RecordBatch, position: int, valid: bool) -> Row:
    return {
        "kind": "batch",
        "base_offset": batch.base_offset,
        "last_offset": batch.last_offset,
        "count": batch.record_count,
        "base_sequence": batch.base_sequence,
        "last_sequence": batch.last_sequence,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "partition_leader_epoch": batch.partition_leader_epoch,
        "is_transactional": batch.is_transactional,
        "is_control": batch.is_control,
        "delete_horizon_ms": batch.delete_horizon_ms,
        "position": position,
        "timestamp_type": timestamp_type(batch),
        "timestamp": batch.max_timestamp,
        "size": batch.size_bytes,
        "magic": batch.magic,
        "compression": codec_name(batch.codec),
        "crc": batch.crc,
        "is_valid": valid,
    }


def _record_rows(path: str, position: int, batch: RecordBatch, findings: Findings) -> Iterator[Row]:
    try:
        for record in batch:
            yield _record_row(batch, record)
    except KafkaError as error:
        findings.errors.append(f"{path}: the batch at position {position}: {error}")


def _record_row(batch: RecordBatch, record: Record) -> Row:
    row: Row = {
        "kind": "record",
        "offset": record.offset,
        "timestamp_type": timestamp_type(batch),
        "timestamp": record.timestamp,
        "key_size": -1 if record.key is None else len(record.key),
        "value_size": -1 if record.value is None else len(record.value),
        "sequence": _sequence(batch, record.offset),
        "header_keys": [name for name, _ in record.headers],
        "key": record.key,
        "value": record.value,
        "magic": batch.magic,
    }
    if batch.is_control:
        row["control"] = _control(record.key, record.value)
    return row


def _sequence(batch: RecordBatch, offset: int) -> int:
    return -1 if batch.base_sequence < 0 else (batch.base_sequence + offset - batch.base_offset) & 0x7FFFFFFF


def _control(key: bytes | None, value: bytes | None) -> Row:
    """The key of a control record is version and type. End markers have the coordinator epoch in their value."""
    if key is None or len(key) < 4:
        return {"type": "UNKNOWN", "type_id": -1}
    _, number = struct.unpack_from(">hh", key)
    control: Row = {"type": CONTROL_TYPES.get(number, "UNKNOWN"), "type_id": number}
    if number in (0, 1) and value is not None and len(value) >= 6:
        (control["coordinator_epoch"],) = struct.unpack_from(">i", value, 2)
    return control
