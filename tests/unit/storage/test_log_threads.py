"""Appends, reads, rolls, deletion and flushes of one log at once, in threads that hold no GIL where it matters."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kcore import errors
from kcore.platform.disk import Disk
from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.record.decoder import decode_batches
from kcore.storage.log import Log
from kcore.storage.log_config import LogConfig
from kcore.storage.log_loader import load_log
from tests.unit.storage.log_place import OLD_MS, batch

SECONDS = 2.0
ENOUGH = 100
OUT_OF_RANGE = errors.by_code(1)


class Crowd:
    """Threads that work on one log until the time is over and enough is done, or one of them fails."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.over = threading.Event()
        self.failures: list[BaseException] = []
        self.counting = threading.Lock()
        self.appended = 0
        self.read = 0

    def run(self) -> None:
        jobs = [self.append, self.append, self.read_from_start, self.read_from_start, self.read_tail, self.maintain]
        threads = [threading.Thread(target=self.guard, args=(job,)) for job in jobs]
        for thread in threads:
            thread.start()
        self.over.wait(SECONDS)
        while min(self.appended, self.read) <= ENOUGH and not self.over.wait(0.05):
            continue  # on a busy machine
        self.over.set()
        for thread in threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def guard(self, job: Callable[[], None]) -> None:
        try:
            while not self.over.is_set():
                job()
        except BaseException as failure:
            self.failures.append(failure)
            self.over.set()

    def append(self) -> None:
        info = self.log.append(batch(3, timestamp=OLD_MS + self.log.end_offset), 1)
        assert info.last_offset == info.base_offset + 2
        self.log.advance_high_watermark(info.last_offset + 1)
        with self.counting:
            self.appended += 1

    def read_from(self, offset: int) -> int:
        """Every batch from `offset` to the high watermark follows the one before; returns where that ended."""
        while not self.over.is_set():
            try:
                data = self.log.read(offset, 4_000)
            except OUT_OF_RANGE:
                offset = self.log.start_offset
                continue
            if not data:
                break
            for record_batch in decode_batches(data):
                assert record_batch.base_offset <= offset <= record_batch.last_offset
                offset = record_batch.next_offset
                self.read += 1
        return offset

    def read_from_start(self) -> None:
        self.read_from(self.log.start_offset)

    def read_tail(self) -> None:
        self.read_from(max(self.log.high_watermark - 3, self.log.start_offset))

    def maintain(self) -> None:
        self.log.flush()
        self.log.flush_rolled()
        self.log.close_idle_segments()
        self.log.delete_old_segments(OLD_MS)
        assert self.log.last_stable_offset <= self.log.high_watermark <= self.log.end_offset
        self.log.offset_for_timestamp(OLD_MS + self.log.start_offset + 10)


@pytest.mark.parametrize("kind", ["real", "memory"])
def test_many_threads_share_a_log(kind: str, tmp_path: Path) -> None:
    disk: Disk = RealDisk() if kind == "real" else MemoryDisk()
    directory = str(tmp_path / "orders-0") if kind == "real" else "/data/orders-0"
    config = LogConfig.from_properties(
        {
            "segment.bytes": 20_000,
            "index.interval.bytes": 300,
            "retention.bytes": 100_000,
            "retention.ms": -1,
            "file.delete.delay.ms": 0,
        }
    )
    log = load_log(disk, directory, "orders", 0, config)
    crowd = Crowd(log)
    crowd.run()
    assert crowd.appended > ENOUGH
    assert crowd.read > ENOUGH
    assert log.end_offset == 3 * crowd.appended
    assert log.start_offset > 0
    end_offset = log.end_offset
    del log, crowd
    reopened = load_log(disk, directory, "orders", 0, config)
    assert reopened.end_offset == end_offset
    del reopened
