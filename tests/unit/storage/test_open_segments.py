"""Finished segments that are open at once have a bound, whoever reads them."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.record.decoder import decode_batches
from kcore.storage.log import Log
from kcore.storage.segment import bound_open_segments, open_segment_count
from tests.unit.storage.log_place import LOG_END, LogPlace, append_each, file_name

SEGMENTS = 40


@pytest.fixture
def bounded() -> Iterator[int]:
    """A bound for one test."""
    bound_open_segments(5)
    yield 5
    bound_open_segments(0)


def log_of_many_segments(place: LogPlace) -> Log:
    """Every record in a segment of its own."""
    place.open({"segment.bytes": 100}).close()
    log = place.open({"segment.bytes": 100})
    append_each(log, SEGMENTS)
    log.flush()
    assert len(log.segments) == SEGMENTS
    log.close_idle_segments()
    return log


def value_at(log: Log, offset: int) -> int:
    """The offset that a batch says it is at."""
    return next(decode_batches(log.read(offset, 1, LOG_END))).base_offset


def test_reading_everything_keeps_no_more_open_than_the_bound(memory_place: LogPlace, bounded: int) -> None:
    log = log_of_many_segments(memory_place)
    disk = memory_place.disk
    assert isinstance(disk, MemoryDisk)
    before = disk.open_descriptors
    for offset in range(SEGMENTS):
        assert value_at(log, offset) == offset
        assert open_segment_count() <= bounded
    assert disk.open_descriptors <= before + bounded
    log.close()
    del log
    memory_place.let_go()
    assert open_segment_count() == 0


def test_a_segment_in_use_stays_open_longer(memory_place: LogPlace, bounded: int) -> None:
    log = log_of_many_segments(memory_place)
    for offset in range(1, SEGMENTS - 1):
        value_at(log, 0)
        value_at(log, offset)
    memory_place.disk.rename(memory_place.path(file_name(0)), memory_place.path("elsewhere"))
    assert value_at(log, 0) == 0, "it is still open, so its name does not matter"


def test_loading_many_segments_keeps_to_the_bound(memory_place: LogPlace, bounded: int) -> None:
    log_of_many_segments(memory_place).close()
    log = memory_place.open({"segment.bytes": 100}, clean_shutdown=True)
    assert open_segment_count() <= bounded
    assert [value_at(log, offset) for offset in range(SEGMENTS)] == list(range(SEGMENTS))


def test_readers_beyond_the_bound_never_read_from_a_closed_file(tmp_path: Path) -> None:
    """Each reads at random, so that segments are closed and opened under the others' hands all the time."""
    place = LogPlace(RealDisk(), str(tmp_path / "orders-0"))
    log = log_of_many_segments(place)
    wrong: list[tuple[int, int]] = []

    def read(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(1_500):
            offset = chance.randrange(SEGMENTS)
            found = value_at(log, offset)
            if found != offset:
                wrong.append((offset, found))

    bound_open_segments(1)
    try:
        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        bound_open_segments(0)
    assert not wrong
    assert not log.is_offline
