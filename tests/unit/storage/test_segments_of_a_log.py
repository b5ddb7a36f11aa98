"""When segments begin, when they go, and how time finds a record in them."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.platform.memory_disk import MemoryDisk
from kcore.storage.log import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, MAX_TIMESTAMP, Log
from tests.unit.storage.log_place import (
    LOG_END,
    OLD_MS,
    REPLICATION,
    LogPlace,
    append_each,
    batch,
    file_name,
    read_all,
)

HOUR_MS = 3_600_000


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


# When a segment begins


def test_a_segment_is_not_filled_beyond_its_size(place: LogPlace) -> None:
    size = len(batch())
    log = place.open({"segment.bytes": 3 * size})
    append_each(log, 7)
    assert bases(log) == [0, 3, 6]
    assert [segment.size_bytes for segment in log.segments] == [3 * size, 3 * size, size]


def test_a_segment_ends_by_the_time_of_its_records(place: LogPlace) -> None:
    log = place.open({"segment.ms": 1_000})
    for timestamp in (0, 1_000, 1_001, 500, 2_002):
        log.append(batch(timestamp=OLD_MS + timestamp))
    assert bases(log) == [0, 2, 4]


def test_a_segment_of_records_without_time_ends_by_the_clock(memory_place: LogPlace) -> None:
    disk = memory_place.disk
    assert isinstance(disk, MemoryDisk)
    log = memory_place.open({"segment.ms": 1_000})
    log.append(batch(timestamp=-1))
    disk.advance(1_000)
    log.append(batch(timestamp=-1))
    assert bases(log) == [0]
    disk.advance(1)
    log.append(batch(timestamp=-1))
    assert bases(log) == [0, 2]


def test_jitter_takes_some_time_off(memory_place: LogPlace) -> None:
    log = memory_place.open({"segment.ms": 1_000, "segment.jitter.ms": 1_000})
    for number in range(400):
        log.append(batch(timestamp=OLD_MS + 20 * number))
    lives = [second - first for first, second in zip(bases(log), bases(log)[1:], strict=False)]
    assert max(lives) <= 51
    assert len(set(lives)) > 1
    assert min(lives) < 50


def test_a_full_index_ends_a_segment(place: LogPlace) -> None:
    log = place.open({"segment.index.bytes": 48, "index.interval.bytes": 0})
    append_each(log, 20)
    # 48 bytes hold six offset entries, or four time entries, the last of which is kept for the roll; a segment's first
    # batch has no entry, and its last one's is there already when it rolls.
    assert bases(log) == [0, 4, 8, 12, 16]
    assert [segment.time_index_entries for segment in log.segments[:-1]] == [3] * 4
    assert [offset for offset, _ in read_all(log, max_bytes=1)] == list(range(20))


def test_an_offset_too_far_from_the_base_begins_a_segment(place: LogPlace) -> None:
    log = place.open()
    far = 2**31 + 5
    log.append(batch(base_offset=0), origin=REPLICATION)
    log.append(batch(base_offset=far), origin=REPLICATION)
    assert bases(log) == [0, far]
    assert [offset for offset, _ in read_all(log)] == [0, far]
    assert int.from_bytes(log.read(1, 100, LOG_END)[:8], "big") == far


def test_an_empty_segment_is_not_rolled(place: LogPlace) -> None:
    log = place.open()
    assert log.roll() == 0
    append_each(log, 1)
    assert [log.roll(), log.roll()] == [1, 1]
    assert bases(log) == [0, 1]


# When segments go


def test_retention_by_time_counts_the_newest_record(memory_place: LogPlace) -> None:
    log = memory_place.open({"retention.ms": HOUR_MS})
    for timestamp in (0, HOUR_MS, 2 * HOUR_MS):
        log.append(batch(timestamp=OLD_MS + timestamp))
        log.append(batch(timestamp=OLD_MS + timestamp - 1))
        log.roll()
    log.advance_high_watermark(6)
    assert log.delete_old_segments(OLD_MS + HOUR_MS) == 0
    assert log.delete_old_segments(OLD_MS + HOUR_MS + 1) == 1
    assert (log.start_offset, bases(log)) == (2, [2, 4, 6])
    assert log.delete_old_segments(OLD_MS + 9 * HOUR_MS) == 2
    assert (log.start_offset, bases(log), log.end_offset) == (6, [6], 6)


def test_retention_may_take_the_active_segment_too(memory_place: LogPlace) -> None:
    log = memory_place.open({"retention.ms": 1})
    append_each(log, 3)
    log.advance_high_watermark(3)
    assert log.delete_old_segments(OLD_MS + HOUR_MS) == 1
    assert (log.start_offset, log.end_offset, bases(log)) == (3, 3, [3])
    assert log.delete_old_segments(OLD_MS + HOUR_MS) == 0
    assert append_each(log, 1)[0].base_offset == 3


def test_retention_by_size_keeps_at_least_so_many_bytes(memory_place: LogPlace) -> None:
    size = len(batch())
    log = memory_place.open({"segment.bytes": 2 * size, "retention.bytes": 5 * size, "retention.ms": -1})
    append_each(log, 9)
    log.advance_high_watermark(9)
    assert log.delete_old_segments(0) == 2
    assert (bases(log), log.size_bytes) == ([4, 6, 8], 5 * size)


def test_nothing_above_the_high_watermark_is_deleted(memory_place: LogPlace) -> None:
    size = len(batch())
    log = memory_place.open({"segment.bytes": 2 * size, "retention.ms": 1})
    append_each(log, 9)
    log.advance_high_watermark(5)
    assert log.delete_old_segments(OLD_MS + HOUR_MS) == 2
    assert bases(log) == [4, 6, 8]


def test_a_compacted_log_loses_only_what_its_start_has_passed(memory_place: LogPlace) -> None:
    size = len(batch())
    log = memory_place.open({"segment.bytes": 2 * size, "retention.ms": 1, "cleanup.policy": "compact"})
    append_each(log, 9)
    log.advance_high_watermark(9)
    assert log.delete_old_segments(OLD_MS + HOUR_MS) == 0
    log.increment_start_offset(5)
    assert log.delete_old_segments(OLD_MS + HOUR_MS) == 2
    assert (log.start_offset, bases(log)) == (5, [4, 6, 8])


def test_the_start_offset_stays_below_the_high_watermark(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 4)
    log.advance_high_watermark(2)
    log.increment_start_offset(2)
    log.increment_start_offset(1)
    assert log.start_offset == 2
    with pytest.raises(errors.by_code(1)):
        log.increment_start_offset(3)
    with pytest.raises(errors.by_code(1)):
        log.read(1, 100, LOG_END)


def test_files_are_renamed_at_once_and_removed_after_the_delay(memory_place: LogPlace) -> None:
    log = memory_place.open({"file.delete.delay.ms": 5_000, "retention.ms": 1})
    append_each(log, 3)
    log.roll()
    log.advance_high_watermark(3)
    log.delete_old_segments(OLD_MS + HOUR_MS)
    gone = [f"{file_name(0, suffix)}.deleted" for suffix in (".index", ".log", ".timeindex")]
    assert memory_place.names(".deleted") == gone
    log.delete_old_segments(OLD_MS + HOUR_MS + 4_999)
    assert memory_place.names(".deleted") == gone
    log.delete_old_segments(OLD_MS + HOUR_MS + 5_000)
    assert memory_place.names(".deleted") == []


def test_a_closed_log_leaves_no_deleted_files(memory_place: LogPlace) -> None:
    log = memory_place.open({"retention.ms": 1})
    append_each(log, 3)
    log.roll()
    log.advance_high_watermark(3)
    log.delete_old_segments(OLD_MS + HOUR_MS)
    log.close()
    assert memory_place.names(".deleted") == []


# Truncation


@pytest.mark.parametrize("offset", range(0, 31, 3))
def test_truncation_leaves_what_lies_below(place: LogPlace, offset: int) -> None:
    properties: dict[str, object] = {"segment.bytes": 500, "index.interval.bytes": 100}
    log = place.open(properties)
    for _ in range(15):
        log.append(batch(2), 1)
    log.advance_high_watermark(20)
    assert log.truncate_to(offset) == (offset < 30)
    kept = offset // 2 * 2 if offset < 30 else 30
    assert log.end_offset == offset
    assert log.high_watermark == min(20, offset)
    assert [found for found, _ in read_all(log)] == list(range(kept))
    assert log.append(batch(2), 2).base_offset == offset
    del log
    log = place.open(properties)
    assert [found for found, _ in read_all(log)] == [*range(kept), offset, offset + 1]
    assert log.leader_epochs.snapshot() == ([(1, 0)] if offset else []) + [(2, offset)]


def test_truncation_takes_the_recovery_point_back(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 5)
    log.flush()
    log.truncate_to(2)
    assert log.recovery_point == 2


def test_a_log_can_begin_anew_anywhere(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 500})
    for _ in range(20):
        log.append(batch(), 1)
    log.truncate_fully_and_start_at(100)
    assert (log.start_offset, log.high_watermark, log.end_offset, bases(log)) == (100, 100, 100, [100])
    assert log.leader_epochs.snapshot() == []
    assert log.append(batch(), 3).base_offset == 100
    log.truncate_fully_and_start_at(0)
    assert [info.base_offset for info in append_each(log, 2)] == [0, 1]


# Finding records by time


def test_time_finds_the_first_record_that_is_no_older(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 600, "index.interval.bytes": 150})
    timestamps = [OLD_MS + t for t in (10, 20, 15, 40, 30, 40, 60, 5, 70, 65, 90, 100)]
    for timestamp in timestamps:
        log.append(batch(timestamp=timestamp))
    assert len(bases(log)) > 1
    for wanted in range(OLD_MS, OLD_MS + 102):
        expected = next(((n, t) for n, t in enumerate(timestamps) if t >= wanted), None)
        assert log.offset_for_timestamp(wanted) == expected
    log.close()
    del log
    log = place.open({"segment.bytes": 600}, clean_shutdown=True)
    assert log.offset_for_timestamp(OLD_MS + 41) == (6, OLD_MS + 60)


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_time_finds_a_record_within_a_batch(place: LogPlace, codec: int) -> None:
    log = place.open()
    log.append(batch(10, codec=codec))
    log.append(batch(10, codec=codec, timestamp=OLD_MS + 10))
    for wanted in range(20):
        assert log.offset_for_timestamp(OLD_MS + wanted) == (wanted, OLD_MS + wanted)


def test_special_times(place: LogPlace) -> None:
    log = place.open(log_start_offset=5)
    assert log.offset_for_timestamp(MAX_TIMESTAMP) is None
    for timestamp in (10, 30, 30, 20):
        log.append(batch(timestamp=OLD_MS + timestamp))
    log.advance_high_watermark(8)
    assert log.offset_for_timestamp(EARLIEST_TIMESTAMP) == (5, -1)
    assert log.offset_for_timestamp(LATEST_TIMESTAMP) == (8, -1)
    assert log.offset_for_timestamp(MAX_TIMESTAMP) == (6, OLD_MS + 30)
    log.increment_start_offset(7)
    assert log.offset_for_timestamp(0) == (7, OLD_MS + 30)


# Leader epochs


def test_epochs_end_where_the_next_one_starts(place: LogPlace) -> None:
    log = place.open()
    assert log.end_offset_for_epoch(3) == (-1, -1)
    for epoch in (2, 2, 5, 7, 7):
        log.append(batch(), epoch)
    answers = {epoch: log.end_offset_for_epoch(epoch) for epoch in range(-1, 9)}
    assert answers == {
        -1: (-1, -1),
        0: (0, 0),
        1: (1, 0),
        2: (2, 2),
        3: (2, 2),
        4: (2, 2),
        5: (5, 3),
        6: (5, 3),
        7: (7, 5),
        8: (-1, -1),
    }
    assert [log.epoch_of(offset) for offset in range(5)] == [2, 2, 5, 7, 7]


def test_an_epoch_that_starts_anew_replaces_what_it_contradicts(place: LogPlace) -> None:
    log = place.open()
    for epoch, offset in ((1, 0), (2, 10), (3, 20), (2, 15), (5, 8)):
        log.assign_epoch_start(epoch, offset)
    assert log.leader_epochs.snapshot() == [(1, 0), (5, 8)]
    assert log.latest_epoch == 5


def test_epochs_follow_the_log_start(memory_place: LogPlace) -> None:
    log = memory_place.open({"segment.bytes": len(batch())})
    for epoch in (1, 1, 2, 3):
        log.append(batch(), epoch)
    log.advance_high_watermark(4)
    log.increment_start_offset(3)
    assert log.leader_epochs.snapshot() == [(3, 3)]
    assert memory_place.open(log_start_offset=3).leader_epochs.snapshot() == [(3, 3)]
    # A crash may come before the checkpoint of the start offset: the records that are back have their epochs again.
    log = memory_place.open(log_start_offset=1)
    assert log.leader_epochs.snapshot() == [(1, 1), (2, 2), (3, 3)]
