"""What happens to a log while a flush is under way, and which names are on the device before anything is promised."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from kcore import errors
from kcore.platform.memory_disk import MemoryDisk
from kcore.storage.log_dir import LogDir
from tests.unit.storage.log_place import LogPlace, append_each, batch, read_all


@pytest.fixture
def volatile() -> Iterator[LogPlace]:
    """A log on a disk that loses what was not synced with its power."""
    disk = MemoryDisk(volatile_cache=True)
    place = LogPlace(disk, "/data/orders-0")
    yield place
    disk.release_syncs()
    place.let_go()


def in_thread(job: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=job)
    thread.start()
    return thread


def test_a_flush_says_nothing_of_what_came_in_place_of_what_was_cut_meanwhile(volatile: LogPlace) -> None:
    disk, log = volatile.disk, volatile.open()
    assert isinstance(disk, MemoryDisk)
    append_each(log, 2)
    log.flush()
    append_each(log, 8)
    disk.hold_syncs()
    flush = in_thread(log.flush)
    disk.wait_for_held_sync()
    assert log.truncate_to(5)
    append_each(log, 4)
    disk.release_syncs()
    flush.join()
    assert log.recovery_point == 5
    log.flush()
    assert log.recovery_point == 9


@pytest.mark.parametrize("attempt", range(10))
def test_no_append_succeeds_whose_flush_finds_the_log_closed(volatile: LogPlace, attempt: int) -> None:
    """Whichever comes first, the close or the append's flush: what was not refused is on the device."""
    disk, log = volatile.disk, volatile.open({"flush.messages": 1})
    assert isinstance(disk, MemoryDisk)
    log.append(batch())
    outcomes: list[object] = []

    def append() -> None:
        try:
            outcomes.append(log.append(batch()))
        except errors.KafkaStorageError as error:
            outcomes.append(error)

    disk.hold_syncs()
    first = in_thread(append)
    disk.wait_for_held_sync()
    # A directory that failed closes its logs; it waits for the flush, and so does the next append.
    close = in_thread(lambda: log.close(for_deletion=True))
    second = in_thread(append)
    disk.release_syncs()
    for thread in (first, close, second):
        thread.join()
    done = sum(not isinstance(outcome, errors.KafkaStorageError) for outcome in outcomes)
    assert log.recovery_point >= 1 + done


def test_asking_an_empty_log_for_a_time_makes_no_file(volatile: LogPlace) -> None:
    log = volatile.open()
    assert log.timestamp_at(0) is None
    assert volatile.names(".log") == []
    append_each(log, 1)
    assert len(read_all(log)) == 1


@pytest.mark.parametrize("path", ["/srv/kafka/logs", "/srv/kafka/logs/"])
def test_a_log_directory_outlives_a_loss_of_power_with_all_above_it(path: str) -> None:
    disk = MemoryDisk(volatile_cache=True)
    log_dir = LogDir(disk, path)
    log_dir.open()
    log_dir.close()
    disk.cut_power()
    disk.restore_power()
    assert disk.is_directory("/srv/kafka/logs")
