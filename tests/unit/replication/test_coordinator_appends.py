"""What a coordinator appends with group commit: it answers when the append returns, so that has to be on the device."""

from __future__ import annotations

import threading

import pytest

from kcore.platform.memory_disk import MemoryDisk
from kcore.purgatory.purgatory import Purgatory
from kcore.replication.partition import Partition
from kcore.storage.log_committer import LogCommitter
from kcore.storage.log_config import LogConfig
from kcore.storage.log_loader import load_log
from tests.unit.storage.log_place import batch

KAFKA_STORAGE_ERROR = 56


@pytest.mark.parametrize("attempt", range(10))
def test_none_succeeds_that_finds_its_log_closed_before_the_flush(attempt: int) -> None:
    disk = MemoryDisk()
    log = load_log(disk, "/data/offsets-0", "offsets", 0, LogConfig.from_properties({}))
    # Not started: the appends' own flushes are what counts.
    log.set_committer(LogCommitter())
    purgatories = [Purgatory(name, manual_clock=True) for name in ("Fetch", "Produce")]
    partition = Partition("offsets", 0, bytes(16), log, 1, *purgatories)
    partition.make_leader(0, [1], [1], 1)
    assert partition.append_records(batch(), internal=True).error == 0
    codes: list[int] = []

    def append() -> None:
        codes.append(partition.append_records(batch(), internal=True).error)

    disk.hold_syncs()
    threads = [threading.Thread(target=append)]
    threads[0].start()
    disk.wait_for_held_sync()
    threads += [threading.Thread(target=lambda: log.close(for_deletion=True)), threading.Thread(target=append)]
    for thread in threads[1:]:
        thread.start()
    disk.release_syncs()
    for thread in threads:
        thread.join()
    partition.close()
    assert set(codes) <= {0, KAFKA_STORAGE_ERROR}
    assert log.recovery_point >= 1 + codes.count(0)
