"""Which transactions were aborted, as readers of committed records are told: `.txnindex`, its making and its loss."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from kcore.record.decoder import decode_batches
from kcore.storage.log import Log
from tests.unit.storage.log_place import COMMITTED, COORDINATOR, LogPlace, append_each, batch, file_name, read_all
from tests.unit.storage.test_producer_state import marker

SMALL = {"segment.bytes": 600, "index.interval.bytes": 100}


def records(producer_id: int, sequence: int, count: int = 1) -> bytes:
    return batch(count, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, transactional=True)


def entry(producer_id: int, first: int, last: int, last_stable: int) -> bytes:
    return struct.pack(">hqqqq", 0, producer_id, first, last, last_stable)


def end(log: Log, producer_id: int, *, commit: bool = False) -> int:
    """The marker's offset."""
    offset = log.append(marker(commit, producer_id=producer_id), origin=COORDINATOR).base_offset
    log.advance_high_watermark(log.end_offset)
    return offset


def aborted(log: Log, offset: int, max_bytes: int = 1 << 20) -> list[tuple[int, int]]:
    """Producer ids and first offsets that a fetch from an offset names."""
    return [(producer_id, first) for producer_id, first, _, _ in log.aborted_transactions(offset, max_bytes)]


def index_files(place: LogPlace) -> dict[str, bytes]:
    return {name: place.read_file(name) for name in place.names(".txnindex")}


def two_aborted(log: Log) -> None:
    """Offsets 0-1 of producer 5 aborted by 4, 2-3 of producer 6 by 5; 6 to 8 committed."""
    log.append(records(5, 0, 2))
    log.append(records(6, 0, 2))
    end(log, 5)
    end(log, 6)
    log.append(records(5, 2, 2))
    end(log, 5, commit=True)


def test_an_entry_for_every_aborted_transaction(place: LogPlace) -> None:
    log = place.open()
    two_aborted(log)
    # The first marker leaves producer 6's transaction as the earliest that is undecided.
    assert place.read_file(file_name(0, ".txnindex")) == entry(5, 0, 4, 2) + entry(6, 2, 5, 6)
    assert aborted(log, 0) == [(5, 0), (6, 2)]
    assert aborted(log, 5) == [(6, 2)]
    assert aborted(log, 6) == []


def test_committed_and_empty_transactions_have_none(place: LogPlace) -> None:
    log = place.open()
    log.append(records(5, 0))
    end(log, 5, commit=True)
    end(log, 7)
    assert place.names(".txnindex") == []
    assert aborted(log, 0) == []


def test_other_readers_are_told_of_none(place: LogPlace) -> None:
    log = place.open()
    two_aborted(log)
    assert read_all(log)[0][0] == 0, "what was aborted is still there"
    assert log.aborted_transactions(log.end_offset, 1 << 20) == []


@pytest.mark.parametrize("clean", [True, False])
def test_it_lasts_over_a_restart(place: LogPlace, clean: bool) -> None:
    log = place.open()
    two_aborted(log)
    log.close()
    before = index_files(place)
    log = place.open(clean_shutdown=clean, recovery_point=log.end_offset if clean else 0)
    log.advance_high_watermark(log.end_offset)
    assert index_files(place) == before
    assert aborted(log, 0) == [(5, 0), (6, 2)]
    log.append(records(6, 2))
    end(log, 6)
    assert aborted(log, 6) == [(6, 9)]


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        entry(5, 0, 4, 2)[:-1],
        b"\0\1" + entry(5, 0, 4, 2)[2:],
        entry(6, 2, 5, 6) + entry(5, 0, 4, 2),
        entry(5, 4, 0, 2),
        b"\0" * 34 * 3 + b"\1",
    ],
    ids=["lost", "cut", "version", "order", "backwards", "length"],
)
def test_recovery_makes_it_anew(place: LogPlace, wrong: bytes | None) -> None:
    log = place.open()
    two_aborted(log)
    log.close()
    before = index_files(place)
    if wrong is None:
        place.disk.unlink(place.path(file_name(0, ".txnindex")))
    else:
        place.write_file(file_name(0, ".txnindex"), wrong)
    # One that is there and wrong is noticed after a clean shutdown too.
    log = place.open(clean_shutdown=wrong is not None)
    assert index_files(place) == before
    log.advance_high_watermark(log.end_offset)
    assert aborted(log, 0) == [(5, 0), (6, 2)]


def test_what_is_cut_off_leaves_it(place: LogPlace) -> None:
    log = place.open()
    two_aborted(log)
    log.truncate_to(5)
    assert place.read_file(file_name(0, ".txnindex")) == entry(5, 0, 4, 2)
    # Producer 6's transaction is open again.
    assert log.last_stable_offset == 2
    end(log, 6)
    assert place.read_file(file_name(0, ".txnindex")) == entry(5, 0, 4, 2) + entry(6, 2, 5, 6)


def test_it_goes_with_its_segment(place: LogPlace) -> None:
    log = place.open({**SMALL, "file.delete.delay.ms": 0, "retention.ms": 1})
    for number in range(6):
        log.append(records(5, number * 2, 2))
        end(log, 5)
        append_each(log, 3)
    log.advance_high_watermark(log.end_offset)
    assert len(place.names(".txnindex")) > 1
    assert log.delete_old_segments(place.disk.now_ms()) > 1
    log.delete_old_segments(place.disk.now_ms() + 1000)
    assert place.names(".txnindex") == []
    assert aborted(log, log.start_offset) == []


class Oracle:
    """Every aborted transaction of a run: who, from where, to which marker."""

    def __init__(self) -> None:
        self.aborted: list[tuple[int, int, int]] = []

    def overlapping(self, offset: int, last: int) -> set[tuple[int, int]]:
        """Those with records in a range, markers included."""
        return {(producer_id, first) for producer_id, first, end in self.aborted if end >= offset and first <= last}


def random_life(log: Log, seed: int) -> Oracle:
    """Producers that begin, write, commit and abort across each other, and plain records between."""
    rng = random.Random(seed)
    oracle = Oracle()
    first: dict[int, int] = {}
    sequences = dict.fromkeys(range(4), 0)
    for _ in range(120):
        producer_id = rng.randrange(4)
        act = rng.random()
        if act < 0.2:
            append_each(log, 1)
        elif act < 0.7:
            count = rng.randrange(1, 4)
            offset = log.append(records(producer_id, sequences[producer_id], count)).base_offset
            sequences[producer_id] += count
            first.setdefault(producer_id, offset)
        elif producer_id in first:
            commit = rng.random() < 0.4
            offset = end(log, producer_id, commit=commit)
            if not commit:
                oracle.aborted.append((producer_id, first[producer_id], offset))
            del first[producer_id]
    log.advance_high_watermark(log.end_offset)
    return oracle


def check_against(log: Log, oracle: Oracle, rng: random.Random) -> None:
    """Everything that a reader needs to be told is told, and nothing that ended before the fetch."""
    for _ in range(60):
        offset = rng.randrange(log.last_stable_offset)
        max_bytes = rng.choice([1, 300, 1 << 20])
        told = set(aborted(log, offset, max_bytes))
        last = max(found.last_offset for found in decode_batches(log.read(offset, max_bytes, COMMITTED)))
        assert oracle.overlapping(offset, last) <= told <= oracle.overlapping(offset, log.end_offset)


@pytest.mark.parametrize("seed", range(8))
def test_random_lives(place: LogPlace, seed: int) -> None:
    rng = random.Random(seed)
    log = place.open(SMALL)
    oracle = random_life(log, seed)
    check_against(log, oracle, rng)
    before = index_files(place)
    log.close()
    options: list[dict[str, Any]] = [
        {"clean_shutdown": True},
        {"recovery_point": 0},
        {"recovery_point": log.segments[len(log.segments) // 2].base_offset},
    ]
    for option in options:
        if "recovery_point" in option:
            for name in place.names(".txnindex"):
                if int(name[:20]) >= option["recovery_point"]:
                    place.disk.unlink(place.path(name))
        log = place.open(SMALL, **option)
        log.advance_high_watermark(log.end_offset)
        assert index_files(place) == before
        check_against(log, oracle, rng)
        log.close()
