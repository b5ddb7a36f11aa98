"""Dumps a .snapshot file: the state of idempotent producers (ProducerStateManager, version 1).

    version int16 | crc uint32 | count int32 | entries, each:
    producer id int64 | producer epoch int16 | last sequence int32 | last offset int64 | offset delta int32
    | timestamp int64 | coordinator epoch int32 | current transaction's first offset int64

The checksum is a CRC-32C of all bytes after it.
"""

from __future__ import annotations

import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcli.log_dump.findings import Findings

HEADER = struct.Struct(">hIi")
ENTRY = struct.Struct(">qhiqiqiq")
CRC_END = 6
VERSIONS = (1,)


def dump_snapshot(path: str, findings: Findings) -> Iterator[dict[str, Any]]:
    """One row per producer. An invalid snapshot yields no rows, because a broker would not use it either."""
    from kcore.record.crc import checksum

    with open(path, "rb") as file:
        content = file.read()
    if len(content) < HEADER.size:
        findings.errors.append(f"{path}: too short for a snapshot ({len(content)} bytes)")
        return
    version, crc, count = HEADER.unpack_from(content)
    if version not in VERSIONS:
        findings.errors.append(f"{path}: unsupported snapshot version {version}")
    elif checksum(memoryview(content)[CRC_END:]) != crc:
        findings.errors.append(f"{path}: the checksum of the snapshot does not match")
    elif len(content) != HEADER.size + count * ENTRY.size:
        findings.errors.append(f"{path}: the size ({len(content)} bytes) does not fit {count} entries")
    else:
        for fields in ENTRY.iter_unpack(memoryview(content)[HEADER.size :]):
            yield _row(*fields)


def _row(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    current_txn_first_offset: int,
) -> dict[str, Any]:
    return {
        "kind": "producer",
        "producer_id": producer_id,
        "producer_epoch": producer_epoch,
        "coordinator_epoch": coordinator_epoch,
        "current_txn_first_offset": None if current_txn_first_offset < 0 else current_txn_first_offset,
        "last_timestamp": timestamp,
        "first_sequence": -1 if last_sequence < 0 else (last_sequence - offset_delta) & 0x7FFFFFFF,
        "last_sequence": last_sequence,
        "last_offset": last_offset,
        "offset_delta": offset_delta,
        "timestamp": timestamp,
    }
