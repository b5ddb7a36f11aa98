"""What happens to a log while a flush is under way, and which names are on the device before anything is promised."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator

import pytest

from kcore import errors
from kcore.errors import KafkaStorageError
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.storage.log_config import LogConfig
from kcore.storage.log_dir import LogDir
from kcore.storage.log_loader import load_log
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


def test_a_flush_that_waited_for_one_that_failed_fails_too() -> None:
    """The system drops pages that it could not write and reports that once: a second sync would find nothing wrong."""
    memory = MemoryDisk()
    disk = FailingDisk(memory)
    log = load_log(disk, "/data/orders-0", "orders", 0, LogConfig.from_properties({}))
    append_each(log, 3)
    disk.fail(["fdatasync"], path="*.log", done=True)
    memory.hold_syncs()
    outcomes: list[object] = []

    def flush() -> None:
        try:
            log.flush()
            outcomes.append("flushed")
        except KafkaStorageError as error:
            outcomes.append(type(error))

    first, second = threading.Thread(target=flush), threading.Thread(target=flush)
    first.start()
    memory.wait_for_held_sync()
    append_each(log, 3)
    second.start()
    memory.release_syncs()
    first.join()
    second.join()
    assert outcomes == [KafkaStorageError, KafkaStorageError]
    assert log.recovery_point == 0
    assert memory.file_syncs == 1, "the second one syncs nothing"


def durable_index(disk: MemoryDisk) -> bytes:
    """What a loss of power leaves of the first segment's index; its name is not what is asked."""
    gc.collect()
    for directory in ("/", "/data", "/data/orders-0"):
        disk.fsync_dir(directory)
    disk.restore_power()
    return disk.read_file("/data/orders-0/00000000000000000000.index")


INDEXED = LogConfig.from_properties({"index.interval.bytes": 0, "segment.bytes": 100_000})


def test_the_index_of_a_segment_that_ended_at_the_recovery_point_is_synced_by_the_next_flush() -> None:
    """Its records were on the device already, its index was only written when it was rolled."""
    disk = MemoryDisk(volatile_cache=True)
    log = load_log(disk, "/data/orders-0", "orders", 0, INDEXED)
    append_each(log, 10)
    log.flush()
    log.roll()
    written = disk.read_file("/data/orders-0/00000000000000000000.index")
    append_each(log, 1)
    log.flush()
    assert log.recovery_point == 11, "recovery does not look at the first segment any more"
    del log
    assert written
    assert durable_index(disk) == written


def test_a_clean_end_syncs_the_index_of_a_segment_that_was_flushed_before() -> None:
    disk = MemoryDisk(volatile_cache=True)
    log = load_log(disk, "/data/orders-0", "orders", 0, INDEXED)
    append_each(log, 10)
    log.flush()
    log.close()
    written = disk.read_file("/data/orders-0/00000000000000000000.index")
    del log
    assert written
    assert durable_index(disk) == written


def test_an_index_built_anew_below_the_recovery_point_is_synced_at_once() -> None:
    """No flush comes back to it."""
    disk = MemoryDisk(volatile_cache=True)
    log = load_log(disk, "/data/orders-0", "orders", 0, INDEXED)
    append_each(log, 10)
    log.roll()
    append_each(log, 1)
    log.flush()
    log.close()
    written = disk.read_file("/data/orders-0/00000000000000000000.index")
    del log
    disk.unlink("/data/orders-0/00000000000000000000.index")
    log = load_log(disk, "/data/orders-0", "orders", 0, INDEXED, recovery_point=11)
    del log
    assert durable_index(disk) == written
