"""Reads the files of a partition directory, by means of its own: neither the broker's code nor the dump tool's.

    .log        record batches, one behind the other. Magic 2 (KIP-98): base offset int64 | length int32 |
                leader epoch int32 | magic int8 | CRC-32C uint32 | attributes int16 | last offset delta int32 |
                base timestamp int64 | max timestamp int64 | producer id int64 | producer epoch int16 |
                base sequence int32 | records int32
    .index      relative offset int32 | position int32
    .timeindex  timestamp int64 | relative offset int32
    .snapshot   version int16 | crc uint32 | count int32 | entries (ProducerStateManager, version 1)

Files are given as a mapping of names to bytes, so that a directory of a memory disk can be looked at too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import crc32c

Files = Mapping[str, bytes]

LOG_OVERHEAD = 12
BATCH_HEAD = struct.Struct(">qiibIhiqqqhii")
CRC_FROM = 21
CODEC_MASK, LOG_APPEND_TIME, TRANSACTIONAL, CONTROL = 0x07, 0x08, 0x10, 0x20
OFFSET_ENTRY = struct.Struct(">ii")
TIME_ENTRY = struct.Struct(">qi")
SNAPSHOT_HEAD = struct.Struct(">hIi")
SNAPSHOT_ENTRY = struct.Struct(">qhiqiqiq")
OFFSET_DIGITS = 20


class Batch(NamedTuple):
    """The head of a batch of magic 2, and where in its file it begins."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_sequence(self) -> int:
        """As Java counts them: behind 2^31 - 1 comes 0."""
        if self.base_sequence < 0:
            return -1
        return (self.base_sequence + self.last_offset - self.base_offset) & 0x7FFFFFFF

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)


class SnapshotEntry(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


class DamagedFile(ValueError):
    """A file is not what its format says."""


def read_directory(directory: Path) -> dict[str, bytes]:
    """The files in it, by name; not those in directories below."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}


def base_offset_of(name: str) -> int:
    return int(name[:OFFSET_DIGITS])


def segment_files(files: Files, suffix: str) -> list[str]:
    """Those named `<20 digits><suffix>`, in the order of their offsets."""
    return sorted(name for name in files if name[:OFFSET_DIGITS].isdigit() and name[OFFSET_DIGITS:] == suffix)


def batches(name: str, content: bytes) -> Iterator[Batch]:
    """All of a .log file's; DamagedFile at the first byte that belongs to no whole batch, and at a wrong checksum."""
    position = 0
    while position < len(content):
        if len(content) - position < BATCH_HEAD.size:
            raise DamagedFile(f"{name}: {len(content) - position} bytes at {position} are no whole batch")
        base, length, epoch, magic, crc, attributes, delta, _, newest, *rest = BATCH_HEAD.unpack_from(content, position)
        size = LOG_OVERHEAD + length
        if size < BATCH_HEAD.size or position + size > len(content):
            raise DamagedFile(f"{name}: the batch at {position} is {size} bytes long, the file {len(content)}")
        if magic != 2:
            raise DamagedFile(f"{name}: the batch at {position} has magic {magic}")
        if crc32c.crc32c(memoryview(content)[position + CRC_FROM : position + size]) != crc:
            raise DamagedFile(f"{name}: the batch at {position}, offset {base}, has a wrong checksum")
        yield Batch(position, size, base, base + delta, epoch, attributes, newest, *rest)
        position += size


def all_batches(files: Files) -> dict[str, list[Batch]]:
    """The batches of every .log file, by its name."""
    return {name: list(batches(name, files[name])) for name in segment_files(files, ".log")}


def log_end_offset(files: Files) -> int | None:
    """The offset behind the last record; None where there is no segment."""
    found = all_batches(files)
    if not found:
        return None
    name, last = list(found.items())[-1]
    return last[-1].last_offset + 1 if last else base_offset_of(name)


def index_entries(content: bytes, entry: struct.Struct) -> list[tuple[int, ...]]:
    """Those in use: an index is longer than that while its segment is the active one, and filled up with zeros."""
    usable = len(content) - len(content) % entry.size
    entries: list[tuple[int, ...]] = []
    for fields in entry.iter_unpack(memoryview(content)[:usable]):
        if not any(fields):
            break
        entries.append(fields)
    return entries


def snapshot_entries(name: str, content: bytes) -> list[SnapshotEntry]:
    version, crc, count = SNAPSHOT_HEAD.unpack_from(content)
    if version != 1 or len(content) != SNAPSHOT_HEAD.size + count * SNAPSHOT_ENTRY.size:
        raise DamagedFile(f"{name}: version {version} with {count} entries in {len(content)} bytes")
    if crc32c.crc32c(memoryview(content)[6:]) != crc:
        raise DamagedFile(f"{name}: its checksum does not match")
    return [SnapshotEntry(*fields) for fields in SNAPSHOT_ENTRY.iter_unpack(content[SNAPSHOT_HEAD.size :])]
