"""Dumps .index, .timeindex and .txnindex files, and compares the first two with their log.

    offset index       relative offset int32 | position int32
    time index         timestamp int64 | relative offset int32
    transaction index  version int16 | producer id int64 | first, last and last stable offset int64

Indexes of an active segment are preallocated: entries from the first empty one on are unused.
"""

from __future__ import annotations

import os
import struct

from kcli.log_dump.batch_reader import BatchReader
from kcli.log_dump.log_file import base_offset_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from kcli.log_dump.findings import Findings

    Row = dict[str, Any]

OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
NO_TIMESTAMP = -1
ABORTED_TXN = struct.Struct(">hqqqq")
ABORTED_TXN_VERSION = 0
REBUILD = "A broker rebuilds the index: delete the file and restart the broker"
# A broker does not miss a transaction index, but it rebuilds that of a segment whose offset index is missing.
REBUILD_WITH_OFFSET_INDEX = (
    "A broker rebuilds it together with the offset index: stop the broker, delete the .index and .txnindex files of "
    "the segment, and start the broker again"
)


def read_entries(path: str, entry: struct.Struct) -> list[tuple[int, ...]]:
    """The entries in use: complete ones, up to the first empty one."""
    with open(path, "rb") as file:
        content = file.read()
    usable = len(content) - len(content) % entry.size
    entries: list[tuple[int, ...]] = []
    for fields in entry.iter_unpack(memoryview(content)[:usable]):
        if not any(fields):
            break
        entries.append(fields)
    return entries


def dump_offset_index(path: str, *, sanity_only: bool, verify_only: bool, findings: Findings) -> Iterator[Row]:
    base_offset = base_offset_of(path)
    entries = read_entries(path, OFFSET_ENTRY)
    if not entries:
        yield {"kind": "empty", "file": path}
        return
    if sanity_only:
        yield from _sanity(path, OFFSET_ENTRY, [offset for offset, _ in entries], findings)
        return
    with BatchReader(_beside(path, ".log")) as log:
        for number, (relative_offset, position) in enumerate(entries, 1):
            if relative_offset < 0 or position < 0:
                shown = f"offset {base_offset + relative_offset}, position {position}"
                findings.errors.append(f"{path}: entry {number} ({shown}) is not valid. {REBUILD}")
                return
            offset = base_offset + relative_offset
            batch = log.batch_at(position)
            if batch is None or batch.last_offset != offset:
                found = -1 if batch is None else batch.last_offset
                findings.add(findings.index_mismatches, os.path.abspath(path), (offset, found))
            if not verify_only:
                yield {"kind": "offset_index_entry", "offset": offset, "position": position}


def dump_time_index(path: str, *, sanity_only: bool, verify_only: bool, findings: Findings) -> Iterator[Row]:
    base_offset = base_offset_of(path)
    entries = read_entries(path, TIME_ENTRY)
    if sanity_only:
        yield from _sanity(path, TIME_ENTRY, [timestamp for timestamp, _ in entries], findings)
        return
    positions = [entry for entry in read_entries(_beside(path, ".index"), OFFSET_ENTRY) if min(entry) >= 0]
    previous = NO_TIMESTAMP
    with BatchReader(_beside(path, ".log")) as log:
        for number, (timestamp, relative_offset) in enumerate(entries, 1):
            offset = base_offset + relative_offset
            if timestamp < NO_TIMESTAMP or relative_offset < 0:
                shown = f"timestamp {timestamp}, offset {offset}"
                findings.errors.append(f"{path}: entry {number} ({shown}) is not valid. {REBUILD}")
                return
            start = max((position for found, position in positions if found <= relative_offset), default=0)
            _check_time(path, log, start, offset, timestamp, previous, findings)
            if not verify_only:
                yield {"kind": "time_index_entry", "timestamp": timestamp, "offset": offset}
            previous = timestamp


def _check_time(
    path: str, log: BatchReader, start: int, offset: int, timestamp: int, previous: int, findings: Findings
) -> None:
    """An entry contains the last offset of a batch and the largest timestamp in it."""
    file = os.path.abspath(path)
    for _, batch in log.batches_from(start):
        if batch.last_offset < offset:
            continue
        if batch.base_offset > offset:
            findings.add(findings.offsets_not_found, file, (offset, batch.last_offset))
        elif batch.max_timestamp != timestamp:
            findings.add(findings.time_mismatches, file, (timestamp, batch.max_timestamp))
        if previous >= timestamp:
            findings.add(findings.time_out_of_order, file, (timestamp, previous))
        return
    findings.add(findings.offsets_not_found, file, (offset, -1))


def dump_transaction_index(path: str, findings: Findings) -> Iterator[Row]:
    with open(path, "rb") as file:
        content = file.read()
    usable = len(content) - len(content) % ABORTED_TXN.size
    entries = ABORTED_TXN.iter_unpack(memoryview(content)[:usable])
    for number, (version, producer_id, first, last, stable) in enumerate(entries, 1):
        if version != ABORTED_TXN_VERSION:
            findings.errors.append(
                f"{path}: entry {number} has the unknown version {version}. {REBUILD_WITH_OFFSET_INDEX}"
            )
            return
        if min(producer_id, first, last, stable) < 0:
            shown = f"producer id {producer_id}, offsets {first} to {last}"
            findings.errors.append(f"{path}: entry {number} ({shown}) is not valid. {REBUILD_WITH_OFFSET_INDEX}")
            return
        yield {
            "kind": "aborted_transaction",
            "version": version,
            "producer_id": producer_id,
            "first_offset": first,
            "last_offset": last,
            "last_stable_offset": stable,
        }
    if usable < len(content):
        findings.errors.append(
            f"{path}: {len(content) - usable} bytes after the last entry are not a complete entry. "
            f"{REBUILD_WITH_OFFSET_INDEX}"
        )


def _sanity(path: str, entry: struct.Struct, ordered: list[int], findings: Findings) -> Iterator[Row]:
    """The checks of a broker at start-up: the size, and that the last entry is not before the first."""
    if os.path.getsize(path) % entry.size:
        findings.errors.append(f"{path}: the size is not a multiple of {entry.size} bytes")
    elif ordered and (ordered[-1] < ordered[0] or ordered[-1] < 0):
        findings.errors.append(f"{path}: the last entry ({ordered[-1]}) comes before the first ({ordered[0]})")
    else:
        yield {"kind": "sane", "file": path}


def _beside(path: str, suffix: str) -> str:
    return os.path.splitext(path)[0] + suffix
