"""The files beside a log, against bytes computed by hand from Kafka's formats."""

from __future__ import annotations

import struct

import crc32c
import pytest

from tests.unit.storage.log_place import OLD_MS, LogPlace, append_each, batch, file_name


def offset_entries(content: bytes) -> list[tuple[int, int]]:
    return list(struct.iter_unpack(">ii", content))


def time_entries(content: bytes) -> list[tuple[int, int]]:
    return list(struct.iter_unpack(">qi", content))


def test_indexes_have_an_entry_each_time_the_interval_has_passed(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 1_000}, log_start_offset=100)
    size = len(batch(1, value=bytes(300)))
    timestamps = [OLD_MS + t for t in (50, 10, 20, 90, 30, 40, 60, 70, 80, 100)]
    for timestamp in timestamps:
        log.append(batch(1, value=bytes(300), timestamp=timestamp))
    log.close()
    # An entry stands for the batch before which more than 1,000 bytes came since the last entry: the 4th and the 7th...
    step = 1_000 // size + 1
    numbers = range(step, 10, step)
    assert offset_entries(place.read_file(file_name(100, ".index"))) == [(n, n * size) for n in numbers]
    expected: list[tuple[int, int]] = []
    for number in numbers:
        newest = max(timestamps[: number + 1])
        entry = (newest, timestamps.index(newest))
        if not expected or entry[0] > expected[-1][0]:
            expected.append(entry)
    expected.append((OLD_MS + 100, 9))
    assert time_entries(place.read_file(file_name(100, ".timeindex"))) == list(dict.fromkeys(expected))


def test_entries_name_the_last_offset_of_a_batch_and_its_position(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 0})
    sizes = [len(batch(count)) for count in (2, 3, 4)]
    for count in (2, 3, 4):
        log.append(batch(count, timestamp=OLD_MS + 10 * count))
    log.close()
    assert offset_entries(place.read_file(file_name(0, ".index"))) == [(4, sizes[0]), (8, sizes[0] + sizes[1])]
    # The largest timestamp of a batch is its last record's here; the entry names the batch's last offset.
    assert time_entries(place.read_file(file_name(0, ".timeindex"))) == [(OLD_MS + 32, 4), (OLD_MS + 43, 8)]


def test_indexes_of_an_active_segment_are_written_when_it_rolls(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 0})
    append_each(log, 3)
    log.roll()
    assert len(offset_entries(place.read_file(file_name(0, ".index")))) == 2
    assert time_entries(place.read_file(file_name(0, ".timeindex"))) == [(OLD_MS + 1, 1), (OLD_MS + 2, 2)]


def snapshot(entries: list[tuple[int, ...]]) -> bytes:
    body = struct.pack(">i", len(entries))
    for entry in entries:
        body += struct.pack(">qhiqiqiq", *entry)
    return struct.pack(">hI", 1, crc32c.crc32c(body)) + body


def test_a_producer_snapshot_holds_the_last_batch_of_each_producer(place: LogPlace) -> None:
    log = place.open()
    log.append(batch(3, producer_id=4001, producer_epoch=2, base_sequence=0))
    log.append(batch(2, producer_id=17, producer_epoch=0, base_sequence=5, timestamp=OLD_MS + 100))
    log.append(batch(4, producer_id=4001, producer_epoch=2, base_sequence=3, timestamp=OLD_MS + 200))
    log.close()
    assert place.read_file(file_name(9, ".snapshot")) == snapshot(
        [(17, 0, 6, 4, 1, OLD_MS + 101, -1, -1), (4001, 2, 6, 8, 3, OLD_MS + 203, -1, -1)]
    )


def test_a_snapshot_without_producers_has_ten_bytes(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 1)
    log.roll()
    assert place.read_file(file_name(1, ".snapshot")) == snapshot([])
    assert len(snapshot([])) == 10


def test_an_open_transaction_stands_in_the_snapshot(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 2)
    log.append(batch(2, producer_id=9, producer_epoch=1, base_sequence=0, transactional=True))
    log.roll()
    assert place.read_file(file_name(4, ".snapshot")) == snapshot([(9, 1, 1, 3, 1, OLD_MS + 1, -1, 2)])


def test_the_leader_epoch_file_is_text(place: LogPlace) -> None:
    log = place.open()
    for epoch in (0, 0, 3, 17):
        log.append(batch(), epoch)
    log.flush()
    assert place.read_file("leader-epoch-checkpoint") == b"0\n3\n0 0\n3 2\n17 3\n"


@pytest.mark.parametrize("offset", [0, 7, 2**40])
def test_files_are_named_after_their_first_offset(place: LogPlace, offset: int) -> None:
    log = place.open(log_start_offset=offset)
    append_each(log, 1)
    log.close()
    stem = f"{offset:020d}"
    assert place.names() == [
        f"{stem}.index",
        f"{stem}.log",
        f"{stem}.timeindex",
        f"{offset + 1:020d}.snapshot",
        "leader-epoch-checkpoint",
    ]
