"""The values in a partition's log, in order, read from its files by code that is neither broker's nor clients'."""

from __future__ import annotations

from pathlib import Path

from aiokafka.record import MemoryRecords

from tests.invariants.log_files import read_directory, segment_files


def values_in(directory: Path) -> list[bytes | None]:
    """Value i is that of offset i: the checksum of every batch is looked at, and offsets are without gaps."""
    found: list[bytes | None] = []
    files = read_directory(directory)
    for name in segment_files(files, ".log"):
        records = MemoryRecords(files[name])
        while records.has_next():
            batch = records.next_batch()
            assert batch.validate_crc(), f"{directory.name}/{name}: a wrong checksum behind offset {len(found)}"
            for record in batch:
                assert record.offset == len(found), f"{directory.name}: {record.offset} where {len(found)} was due"
                found.append(record.value)
    return found
