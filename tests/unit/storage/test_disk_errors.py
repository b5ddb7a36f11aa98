"""A log whose disk fails: an error to every caller, no acknowledgement, and what is on disk stays sound."""

from __future__ import annotations

import gc
import os
import resource
from pathlib import Path

import pytest

from kcore import errors
from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.storage.log import Log
from kcore.storage.log_config import LogConfig
from kcore.storage.log_loader import load_log
from tests.unit.storage.log_place import LogPlace, append_each, batch, file_name, read_all

STORAGE_ERROR = errors.by_code(56)


def test_a_write_that_fails_takes_the_log_offline() -> None:
    size = len(batch())
    place = LogPlace(MemoryDisk(max_file_bytes=3 * size + 10), "/data/orders-0")
    told: list[tuple[Log, OSError]] = []
    log = place.open(on_failure=lambda failed, error: told.append((failed, error)))
    append_each(log, 3)
    log.advance_high_watermark(3)
    for _ in range(2):
        with pytest.raises(STORAGE_ERROR):
            log.append(batch())
    assert log.is_offline
    assert log.failure is not None
    assert log.failure.filename == "/data/orders-0"
    assert str(log.failure.strerror).endswith("while appending to the log")
    assert [(failed is log, error.filename) for failed, error in told] == [(True, "/data/orders-0")]
    assert log.end_offset == 3
    with pytest.raises(STORAGE_ERROR):
        log.read(0, 1_000)
    with pytest.raises(STORAGE_ERROR):
        log.flush()
    log.close()
    told.clear()
    del log
    place.let_go()
    assert [offset for offset, _ in read_all(place.open())] == [0, 1, 2]
    place.let_go()
    gc.collect()


def test_a_missing_file_is_a_storage_error(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 300})
    append_each(log, 10)
    log.flush()
    log.close()
    del log
    log = place.open({"segment.bytes": 300}, clean_shutdown=True)
    log.close_idle_segments()
    place.disk.unlink(place.path(file_name(0)))
    with pytest.raises(STORAGE_ERROR):
        log.read(0, 1_000, 0)
    assert log.is_offline


def test_damage_met_by_a_reader_is_no_disk_error(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 1_000_000})
    append_each(log, 200)
    descriptor = place.disk.open(place.path(file_name(0)), 2)
    place.disk.pwrite(descriptor, b"\x7f" * 8, len(batch()) + 8)
    place.disk.close(descriptor)
    with pytest.raises(errors.by_code(2)):
        log.read(100, 1_000, 0)
    assert not log.is_offline
    assert append_each(log, 1)[0].base_offset == 200


def test_a_directory_that_cannot_be_made_is_an_error() -> None:
    disk = MemoryDisk()
    disk.write_file_atomically("/data", b"")
    with pytest.raises(OSError, match="data"):
        load_log(disk, "/data/orders-0", "orders", 0, LogConfig.from_properties({}))


def test_a_roll_without_descriptors_leaves_no_file_that_would_end_the_log_later(tmp_path: Path) -> None:
    """An empty segment left at the failed roll's offset would hide, after a restart, what was appended since."""
    place = LogPlace(RealDisk(), str(tmp_path / "orders-0"))
    log = place.open({"segment.bytes": 400})
    append_each(log, 3)
    before = place.names()
    held, (soft, hard) = os.open(os.devnull, os.O_RDONLY), resource.getrlimit(resource.RLIMIT_NOFILE)
    os.close(held)
    # One more file can be opened: the new segment's log, but not its index.
    resource.setrlimit(resource.RLIMIT_NOFILE, (held + 1, hard))
    try:
        with pytest.raises(STORAGE_ERROR):
            log.append(batch(value=bytes(300)))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert not log.is_offline
    assert [name for name in place.names() if not name.endswith(".snapshot")] == before
    log.append(batch(value=b""))
    log.flush()
    log.close()
    log = place.open({"segment.bytes": 400}, clean_shutdown=True)
    assert [offset for offset, _ in read_all(log)] == [0, 1, 2, 3]


def test_a_duplicate_is_acknowledged_only_once_it_is_where_the_flush_policy_says(place: LogPlace) -> None:
    log = place.open()
    records = batch(3, producer_id=7, producer_epoch=0, base_sequence=0)
    log.append(records)
    assert log.recovery_point == 0, "the first append's flush has not come yet"
    log.update_config(LogConfig.from_properties({"flush.messages": 1}))
    assert log.append(records).duplicate
    assert log.recovery_point == 3


def test_a_closed_log_touches_no_file_any_more(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 3)
    log.advance_high_watermark(3)
    log.close()
    # As a deletion does; a new log of the name may follow.
    place.disk.rename(place.directory, f"{place.directory}.gone-delete")
    log.flush()
    assert not log.flush_rolled()
    for change in (lambda: log.increment_start_offset(2), lambda: log.truncate_fully_and_start_at(9)):
        with pytest.raises(STORAGE_ERROR):
            change()
    assert not log.truncate_to(1)
    log.close()
    assert not log.is_offline
    assert not place.disk.exists(place.directory)


def test_closing_a_log_for_deletion_writes_nothing(place: LogPlace) -> None:
    """The disk may be full, which is why the topic is deleted."""
    log = place.open()
    append_each(log, 3)
    before = {name: place.read_file(name) for name in place.names()}
    log.close(for_deletion=True)
    assert {name: place.read_file(name) for name in place.names()} == before
    if isinstance(place.disk, MemoryDisk):
        assert place.disk.open_descriptors == 0
    with pytest.raises(STORAGE_ERROR):
        log.append(batch())


def test_a_truncation_that_stops_half_way_ends_the_logs_service(tmp_path: Path) -> None:
    place = LogPlace(RealDisk(), str(tmp_path / "orders-0"))
    log = place.open({"segment.bytes": 400})
    append_each(log, 12)
    last = log.segments[-2]
    with open(last.path, "r+b") as damaged:
        damaged.write(b"\xff" * 12)
    with pytest.raises(errors.KafkaError):
        log.truncate_to(last.base_offset + 1)
    assert log.is_offline
    with pytest.raises(STORAGE_ERROR):
        log.append(batch())
