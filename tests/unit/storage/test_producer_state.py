"""Idempotent and transactional producers, as the log sees them."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from kcore import errors
from kcore.record.encoder import RecordBatchBuilder
from kcore.storage.log import Log
from tests.unit.storage.log_place import (
    COMMITTED,
    COORDINATOR,
    OLD_MS,
    REPLICATION,
    LogPlace,
    append_each,
    batch,
    file_name,
    read_all,
)

OUT_OF_ORDER = errors.by_code(45)
INVALID_EPOCH = errors.by_code(47)
LAST_SEQUENCE = 2**31 - 1


def produced(sequence: int, count: int = 1, *, producer_id: int = 5, epoch: int = 0, **fields: Any) -> bytes:
    return batch(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **fields)


def marker(commit: bool, *, producer_id: int = 5, epoch: int = 0, coordinator_epoch: int = 3) -> bytes:
    builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=epoch, transactional=True, control=True)
    builder.append(struct.pack(">hh", 0, int(commit)), struct.pack(">hi", 0, coordinator_epoch), OLD_MS)
    return builder.build()


def test_a_repeated_batch_gets_its_first_offset_and_writes_nothing(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 1)
    first = log.append(produced(0, 3))
    log.append(produced(3, 2))
    size = log.size_bytes
    again = log.append(produced(0, 3))
    assert again.duplicate
    assert (again.base_offset, again.last_offset) == (first.base_offset, first.last_offset) == (1, 3)
    assert (log.size_bytes, log.end_offset) == (size, 6)


def test_the_last_five_batches_can_be_repeated(place: LogPlace) -> None:
    log = place.open()
    for sequence in range(7):
        log.append(produced(sequence))
    for sequence in range(2, 7):
        assert log.append(produced(sequence)).base_offset == sequence
    for sequence in range(2):
        with pytest.raises(OUT_OF_ORDER):
            log.append(produced(sequence))


def test_a_gap_or_another_size_is_out_of_order(place: LogPlace) -> None:
    log = place.open()
    log.append(produced(0, 3))
    for sequence, count in ((4, 1), (0, 2), (1, 3), (2, 1)):
        with pytest.raises(OUT_OF_ORDER):
            log.append(produced(sequence, count))
    assert log.append(produced(3)).base_offset == 3


def test_sequences_wrap_to_zero(place: LogPlace) -> None:
    log = place.open()
    log.append(produced(LAST_SEQUENCE - 1, 1))
    log.append(produced(LAST_SEQUENCE, 3))
    assert log.append(produced(LAST_SEQUENCE, 3)).duplicate
    assert log.append(produced(2)).base_offset == 4
    log.append(produced(LAST_SEQUENCE, producer_id=6))
    assert not log.append(produced(0, producer_id=6)).duplicate


def test_a_new_epoch_starts_at_zero_and_fences_the_old_one(place: LogPlace) -> None:
    log = place.open()
    log.append(produced(0, 5))
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(5, epoch=1))
    log.append(produced(0, epoch=1))
    with pytest.raises(INVALID_EPOCH):
        log.append(produced(5))
    assert log.append(produced(1, epoch=1)).base_offset == 6


def test_an_unknown_producer_may_start_anywhere(place: LogPlace) -> None:
    assert place.open().append(produced(1_000)).base_offset == 0


def test_a_follower_trusts_its_leader(place: LogPlace) -> None:
    log = place.open()
    for sequence, offset in ((0, 0), (7, 1)):
        log.append(produced(sequence, base_offset=offset), origin=REPLICATION)
    assert log.end_offset == 2
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(1))
    assert not log.append(produced(8)).duplicate


@pytest.mark.parametrize("clean", [True, False])
def test_sequences_survive_a_restart(place: LogPlace, clean: bool) -> None:
    now = place.disk.now_ms()
    log = place.open()
    for sequence in range(4):
        log.append(produced(sequence, timestamp=now))
    log.roll()
    for sequence in range(4, 8):
        log.append(produced(sequence, timestamp=now))
    if clean:
        log.close()
    del log
    log = place.open(clean_shutdown=clean)
    assert log.append(produced(7)).duplicate
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(9))
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(2))
    assert [log.append(produced(sequence)).base_offset for sequence in (4, 3)] == [4, 3]
    assert log.append(produced(8)).base_offset == 8


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(
    "rolls", [(), (3,), (0, 1, 2, 3, 4)], ids=["one segment", "a roll among them", "a segment each"]
)
def test_a_snapshot_does_not_hide_what_was_on_the_way_at_a_restart(
    place: LogPlace, rolls: tuple[int, ...], clean: bool
) -> None:
    now = place.disk.now_ms()
    log = place.open()
    log.append(produced(0, timestamp=now))
    firsts = []
    for number in range(5):
        firsts.append(log.append(produced(1 + 2 * number, 2, timestamp=now)).base_offset)
        log.append(produced(number, producer_id=6, timestamp=now))
        append_each(log, 1)
        if number in rolls:
            log.roll()
    if clean:
        log.close()
    else:
        log.roll()
    end = log.end_offset
    del log
    log = place.open(clean_shutdown=clean)
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(0, timestamp=now))
    again = [log.append(produced(1 + 2 * number, 2, timestamp=now)) for number in range(5)]
    assert [result.base_offset for result in again] == firsts
    assert all(result.duplicate for result in again)
    assert log.end_offset == end
    assert log.append(produced(11, timestamp=now)).base_offset == end
    assert log.append(produced(0, producer_id=6, timestamp=now)).duplicate


def test_a_producer_is_not_looked_for_further_back_than_its_largest_batches_reach(place: LogPlace) -> None:
    now = place.disk.now_ms()
    config: dict[str, object] = {"max.message.bytes": "1000", "index.interval.bytes": "100"}
    log = place.open(config)
    log.append(produced(0, timestamp=now))
    append_each(log, 100)
    near = log.append(produced(1, timestamp=now)).base_offset
    log.append(produced(2, timestamp=now))
    log.close()
    log = place.open(config)
    assert log.append(produced(1, timestamp=now)).base_offset == near
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(0, timestamp=now))


def test_a_snapshot_brings_no_expired_producers_back(place: LogPlace) -> None:
    log = place.open()
    log.append(produced(0, 3, timestamp=OLD_MS))
    log.close()
    del log
    log = place.open(clean_shutdown=True)
    assert log.producer_state.active_producers() == []
    assert not log.append(produced(0, 3)).duplicate


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01", b"\x00\x02" + bytes(8), b"\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"]
)
def test_a_damaged_snapshot_is_dropped_and_the_log_read_instead(place: LogPlace, content: bytes) -> None:
    log = place.open()
    log.append(produced(0, 3))
    log.close()
    del log
    place.let_go()
    place.write_file(file_name(3, ".snapshot"), content)
    log = place.open(clean_shutdown=True)
    assert place.names(".snapshot") == []
    assert log.append(produced(0, 3)).duplicate
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(4))


def test_snapshots_are_kept_for_segment_starts_and_the_end(place: LogPlace) -> None:
    log = place.open()
    for _ in range(3):
        append_each(log, 2)
        log.roll()
    append_each(log, 1)
    log.close()
    del log
    assert place.names(".snapshot") == [file_name(offset, ".snapshot") for offset in (2, 4, 6, 7)]
    log = place.open(clean_shutdown=True)
    append_each(log, 1)
    log.close()
    del log
    place.open(clean_shutdown=True)
    assert place.names(".snapshot") == [file_name(offset, ".snapshot") for offset in (2, 4, 6, 8)]


def test_truncation_takes_sequences_back(place: LogPlace) -> None:
    log = place.open()
    for sequence in range(6):
        log.append(produced(sequence))
    assert log.truncate_to(3)
    with pytest.raises(OUT_OF_ORDER):
        log.append(produced(6))
    assert log.append(produced(3)).base_offset == 3
    assert log.append(produced(2)).duplicate


def test_silent_producers_expire(place: LogPlace) -> None:
    log = place.open({"producer.id.expiration.ms": 1_000})
    log.append(produced(0, producer_id=1, timestamp=OLD_MS))
    log.append(produced(0, producer_id=2, timestamp=OLD_MS + 500))
    log.append(produced(0, producer_id=3, timestamp=OLD_MS, transactional=True))
    assert log.producer_state.remove_expired(OLD_MS + 1_200) == 1
    assert [producer["producer_id"] for producer in log.producer_state.active_producers()] == [2, 3]


def test_a_producer_is_described_as_it_stands(place: LogPlace) -> None:
    log = place.open()
    log.append(produced(0, 2, epoch=3))
    log.append(produced(2, 3, epoch=3))
    assert log.producer_state.active_producers() == [
        {
            "producer_id": 5,
            "producer_epoch": 3,
            "last_sequence": 4,
            "last_offset": 4,
            "last_timestamp": OLD_MS + 2,
            "coordinator_epoch": -1,
            "current_txn_start_offset": -1,
            "sequences": [(0, 1), (2, 4)],
        }
    ]


def bounds(log: Log) -> tuple[int, int, int]:
    return log.last_stable_offset, log.high_watermark, log.end_offset


def test_the_last_stable_offset_waits_for_open_transactions(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 2)
    log.append(produced(0, 2, transactional=True))
    append_each(log, 1)
    log.append(produced(0, 1, producer_id=6, transactional=True))
    log.advance_high_watermark(6)
    assert bounds(log) == (2, 6, 6)
    assert [offset for offset, _ in read_all(log, COMMITTED)] == [0, 1]
    log.append(marker(True), origin=COORDINATOR)
    # Decided, but the marker itself is not below the high watermark yet.
    assert bounds(log) == (2, 6, 7)
    log.advance_high_watermark(7)
    assert bounds(log) == (5, 7, 7)
    log.append(marker(False, producer_id=6), origin=COORDINATOR)
    log.advance_high_watermark(8)
    assert bounds(log) == (8, 8, 8)
    assert [offset for offset, _ in read_all(log, COMMITTED)] == list(range(8))


@pytest.mark.parametrize("clean", [True, False])
def test_an_open_transaction_survives_a_restart(place: LogPlace, clean: bool) -> None:
    log = place.open()
    append_each(log, 3)
    log.append(produced(0, 2, transactional=True))
    append_each(log, 3)
    log.roll()
    append_each(log, 1)
    if clean:
        log.close()
    del log
    log = place.open(clean_shutdown=clean)
    log.advance_high_watermark(9)
    assert bounds(log) == (3, 9, 9)
    assert [offset for offset, _ in read_all(log, COMMITTED)] == [0, 1, 2]
    log.append(marker(True), origin=COORDINATOR)
    log.advance_high_watermark(10)
    assert bounds(log) == (10, 10, 10)


def test_a_marker_of_nothing_changes_no_bound(place: LogPlace) -> None:
    log = place.open()
    log.append(marker(False), origin=COORDINATOR)
    log.advance_high_watermark(1)
    assert bounds(log) == (1, 1, 1)
    assert log.producer_state.active_producers()[0]["coordinator_epoch"] == 3


def test_truncation_forgets_transactions_that_are_gone(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 2)
    log.append(produced(0, 2, transactional=True))
    log.advance_high_watermark(4)
    assert bounds(log) == (2, 4, 4)
    log.truncate_to(2)
    append_each(log, 3)
    log.advance_high_watermark(5)
    assert bounds(log) == (5, 5, 5)
