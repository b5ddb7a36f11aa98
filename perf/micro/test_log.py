"""What an append to a log and a read from it cost, as ratios to the bare system calls measured in the same run.

    .venv/bin/python -m pytest perf/micro/test_log.py --benchmark-only --benchmark-sort=fullname

needs pytest-benchmark. A row `floor` writes (or reads) the same bytes with one call and does nothing else; the relative
column of a group is the ratio. The log's rows include Python's call and its copy of the batch; LogValidator's rules
are on, header-only validation off. Nothing is asserted about time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kcore.platform.real_disk import RealDisk
from kcore.record.encoder import RecordBatchBuilder
from kcore.storage.log import Log
from kcore.storage.log_config import LogConfig
from kcore.storage.log_loader import load_log

SIZES = [1024, 16384, 65536, 1048576]
SEGMENT_BYTES = 256 * 1024 * 1024
LOG_END = 0
NOW_MS = 1_700_000_000_000


def batch_of(size: int) -> bytes:
    """Records of 1 KiB (one of 900 bytes for the smallest size)."""
    builder = RecordBatchBuilder()
    value = bytes(900)
    for number in range(max(1, size // 1024)):
        builder.append(b"%d" % number, value, NOW_MS + number)
    return builder.build()


def open_log(directory: str) -> Log:
    config = LogConfig.from_properties({"segment.bytes": SEGMENT_BYTES, "max.message.bytes": 2 * 1048576})
    return load_log(RealDisk(), directory, "bench", 0, config)


@pytest.fixture
def plain_file(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path / "floor", os.O_RDWR | os.O_CREAT)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("size", SIZES)
def test_append_floor(benchmark: Any, plain_file: int, size: int) -> None:
    benchmark.group = f"append {size} bytes"
    data = batch_of(size)
    written = 0

    def append() -> None:
        nonlocal written
        os.pwrite(plain_file, bytearray(data), written)
        written = (written + len(data)) % SEGMENT_BYTES

    benchmark(append)


@pytest.mark.parametrize("size", SIZES)
def test_append_log(benchmark: Any, tmp_path: Path, size: int) -> None:
    benchmark.group = f"append {size} bytes"
    log = open_log(str(tmp_path / "bench-0"))
    data = batch_of(size)

    def append() -> None:
        log.append(data, 0)
        if log.size_bytes > SEGMENT_BYTES // 2:
            log.truncate_fully_and_start_at(0)

    benchmark(append)


@pytest.mark.parametrize("size", SIZES)
def test_read_floor(benchmark: Any, plain_file: int, size: int) -> None:
    benchmark.group = f"read {size} bytes"
    os.pwrite(plain_file, bytes(32 * 1048576), 0)
    position = 0

    def read() -> None:
        nonlocal position
        os.pread(plain_file, size, position)
        position = (position + size) % (31 * 1048576)

    benchmark(read)


@pytest.mark.parametrize("size", SIZES)
def test_read_log(benchmark: Any, tmp_path: Path, size: int) -> None:
    """From offsets all over the log, so that every read searches the offset index."""
    benchmark.group = f"read {size} bytes"
    log = open_log(str(tmp_path / "bench-0"))
    data = batch_of(1024)
    for _ in range(32 * 1024):
        log.append(data, 0)
    offset = 0

    def read() -> None:
        nonlocal offset
        log.read(offset, size, LOG_END)
        offset = (offset + 7919) % (31 * 1024)

    benchmark(read)


@pytest.mark.parametrize("segments", [1, 100, 1000])
def test_load_after_a_clean_end(benchmark: Any, tmp_path: Path, segments: int) -> None:
    benchmark.group = "load after a clean end"
    directory = str(tmp_path / "bench-0")
    log = open_log(directory)
    data = batch_of(1024)
    for _ in range(segments):
        log.append(data, 0)
        log.roll()
    log.flush()
    log.close()
    config = LogConfig.from_properties({"segment.bytes": SEGMENT_BYTES})
    benchmark(lambda: load_log(RealDisk(), directory, "bench", 0, config, clean_shutdown=True))


def test_recovery_of_64_mib(benchmark: Any, tmp_path: Path) -> None:
    benchmark.group = "recovery of 64 MiB in batches of 64 KiB"
    directory = str(tmp_path / "bench-0")
    log = open_log(directory)
    data = batch_of(65536)
    for _ in range(1024):
        log.append(data, 0)
    del log
    config = LogConfig.from_properties({"segment.bytes": SEGMENT_BYTES})
    benchmark.pedantic(lambda: load_log(RealDisk(), directory, "bench", 0, config), rounds=3)
