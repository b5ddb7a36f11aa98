"""What appending to and reading from a log gives back."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.storage.log_config import LogConfig
from tests.unit.storage.log_place import (
    COMMITTED,
    HIGH_WATERMARK,
    LOG_END,
    OLD_MS,
    REPLICATION,
    LogPlace,
    append_each,
    batch,
    file_name,
    read_all,
)


def test_offsets_follow_each_other_and_records_come_back(place: LogPlace) -> None:
    log = place.open()
    first, second = log.append(batch(3), 7), log.append(batch(2), 7)
    assert (first.base_offset, first.last_offset, first.record_count) == (0, 2, 3)
    assert (second.base_offset, second.last_offset, second.log_end_offset) == (3, 4, 5)
    assert [offset for offset, _ in read_all(log)] == [0, 1, 2, 3, 4]
    assert not first.duplicate


def test_the_file_holds_the_batches_with_offset_and_leader_epoch(place: LogPlace) -> None:
    log = place.open()
    sent = batch(2)
    log.append(sent, 5)
    log.append(sent, 6)
    content = place.read_file(file_name(0))
    for number, epoch in ((0, 5), (1, 6)):
        stored = content[number * len(sent) : (number + 1) * len(sent)]
        assert stored[:8] == (number * 2).to_bytes(8, "big")
        assert stored[8:12] == sent[8:12]
        assert stored[12:16] == epoch.to_bytes(4, "big")
        assert stored[16:] == sent[16:]
    assert len(content) == 2 * len(sent)


def test_the_callers_bytes_are_not_touched(place: LogPlace) -> None:
    log = place.open()
    log.append(batch())
    sent = batch()
    copy = bytes(bytearray(sent))
    log.append(sent, 9)
    assert sent == copy


def test_readers_stop_at_their_bound(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 10)
    assert log.high_watermark == 0
    assert read_all(log, HIGH_WATERMARK) == []
    assert log.advance_high_watermark(4)
    assert [offset for offset, _ in read_all(log, HIGH_WATERMARK)] == [0, 1, 2, 3]
    assert [offset for offset, _ in read_all(log, COMMITTED)] == [0, 1, 2, 3]
    assert len(read_all(log, LOG_END)) == 10
    assert log.read(7, 1_000, HIGH_WATERMARK) == b""


def test_the_high_watermark_only_rises_and_stays_below_the_end(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 10)
    assert log.advance_high_watermark(8)
    assert not log.advance_high_watermark(8)
    assert not log.advance_high_watermark(3)
    assert log.high_watermark == 8
    assert log.advance_high_watermark(1_000)
    assert log.high_watermark == log.last_stable_offset == 10


def test_the_high_watermark_finds_its_place_in_an_old_segment(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 1_000, "index.interval.bytes": 100})
    append_each(log, 300)
    for bound in (1, 2, 50, 151, 299, 300):
        log.advance_high_watermark(bound)
        assert [offset for offset, _ in read_all(log, HIGH_WATERMARK)] == list(range(bound))


def test_offsets_outside_the_log_are_refused(place: LogPlace) -> None:
    log = place.open(log_start_offset=10)
    append_each(log, 2)
    assert log.start_offset == 10
    for offset in (9, 13, -1):
        with pytest.raises(errors.by_code(1)):
            log.read(offset, 1_000, LOG_END)
    assert log.read(12, 1_000, LOG_END) == b""


@pytest.mark.parametrize("max_bytes", [0, 1, 70, 200, 10_000])
def test_the_first_batch_is_read_whole_when_it_must_be(place: LogPlace, max_bytes: int) -> None:
    log = place.open()
    sizes = [len(batch(1, value=bytes(size))) for size in (10, 500, 10)]
    for size in (10, 500, 10):
        log.append(batch(1, value=bytes(size)))
    for offset in range(3):
        available = sum(sizes[offset:])
        assert len(log.read(offset, max_bytes, LOG_END)) == min(max(max_bytes, sizes[offset]), available)
        # Where it need not be, a part of it is worse than nothing: Java's consumer takes it for a broken broker.
        at_most = min(max_bytes, available) if max_bytes >= sizes[offset] else 0
        assert len(log.read(offset, max_bytes, LOG_END, False)) == at_most


def test_a_read_starts_at_the_batch_that_holds_the_offset(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 0})
    for _ in range(20):
        log.append(batch(5))
    for offset in range(100):
        data = log.read(offset, 1, LOG_END)
        assert int.from_bytes(data[:8], "big") == offset // 5 * 5


def test_a_read_goes_on_in_the_next_segment(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 400})
    append_each(log, 40)
    assert len(log.segments) > 5
    assert [offset for offset, _ in read_all(log)] == list(range(40))
    assert [offset for offset, _ in read_all(log, max_bytes=1)] == list(range(40))


def test_a_batch_larger_than_a_segment_is_refused(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 500})
    with pytest.raises(errors.by_code(18)):
        log.append(batch(1, value=bytes(600)))
    with pytest.raises(errors.by_code(10)):
        log.append(batch(1, value=bytes(2_000_000)))
    assert log.end_offset == 0
    assert place.names(".log") == [], "files come with the first record"


def test_a_damaged_batch_changes_nothing(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 1)
    before = place.read_file(file_name(0))
    damaged = bytearray(batch())
    damaged[-1] ^= 1
    with pytest.raises(errors.by_code(2)):
        log.append(damaged)
    assert (log.end_offset, place.read_file(file_name(0))) == (1, before)


def test_a_topic_of_append_time_gives_its_own_time(memory_place: LogPlace) -> None:
    log = memory_place.open({"message.timestamp.type": "LogAppendTime"})
    assert log.append(batch()).log_append_time_ms == 1_000_000
    assert log.offset_for_timestamp(1_000_000) == (0, 1_000_000)
    assert memory_place.open().append(batch()).log_append_time_ms == -1


def test_a_new_configuration_counts_from_the_next_append(place: LogPlace) -> None:
    log = place.open()
    log.append(batch(1, value=bytes(1_000)))
    log.update_config(LogConfig.from_properties({"max.message.bytes": 500}))
    with pytest.raises(errors.by_code(10)):
        log.append(batch(1, value=bytes(1_000)))


def test_a_follower_takes_batches_as_they_are(place: LogPlace) -> None:
    leader = place.open()
    for epoch in (1, 1, 4):
        leader.append(batch(2), epoch)
    replicated = leader.read(0, 10_000, LOG_END)
    size = len(batch(2))
    place.let_go()
    del leader
    follower = LogPlace(place.disk, place.path("copy"))
    log = follower.open()
    # A fetch may end within a batch, and batches of several epochs may come together.
    log.append(replicated[: 2 * size + 30], origin=REPLICATION)
    assert log.end_offset == 4
    info = log.append(replicated[2 * size :], origin=REPLICATION)
    assert (info.base_offset, info.last_offset, log.end_offset) == (4, 5, 6)
    assert follower.read_file(file_name(0)) == replicated
    assert log.leader_epochs.snapshot() == [(1, 0), (4, 4)]
    with pytest.raises(errors.KafkaError):
        log.append(replicated, origin=REPLICATION)
    follower.let_go()


def test_a_closed_log_takes_and_gives_nothing(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 3)
    log.close()
    log.close()
    with pytest.raises(errors.by_code(56)):
        log.append(batch())
    with pytest.raises(errors.by_code(56)):
        log.read(0, 100, LOG_END)


def test_a_flush_moves_the_recovery_point(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 3)
    assert log.recovery_point == 0
    log.flush()
    assert log.recovery_point == 3


def test_flush_messages_counts_records_since_the_last_flush(place: LogPlace) -> None:
    log = place.open({"flush.messages": 5})
    log.append(batch(4))
    assert log.recovery_point == 0
    log.append(batch(1))
    assert log.recovery_point == 5
    log.append(batch(7))
    assert log.recovery_point == 12


def test_rolled_segments_are_flushed_apart_from_the_active_one(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 3)
    assert not log.flush_rolled()
    assert log.roll() == 3
    append_each(log, 2)
    assert log.flush_rolled()
    assert (log.recovery_point, log.end_offset) == (3, 5)
    assert not log.flush_rolled()
    assert [offset for offset, _ in read_all(log)] == list(range(5))


def test_properties_describe_the_log(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 3)
    log.roll()
    append_each(log, 1)
    size = len(batch())
    assert (log.topic, log.partition, log.directory) == ("orders", 0, place.directory)
    assert log.size_bytes == 4 * size
    assert [(segment.base_offset, segment.size_bytes) for segment in log.segments] == [(0, 3 * size), (3, size)]
    assert log.segments[0].max_timestamp == OLD_MS + 2
    assert log.segments[0].path == place.path(file_name(0))
    assert log.first_segment_offset == 0
    assert log.failure is None
    assert not log.is_offline
