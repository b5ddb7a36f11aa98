"""The checker itself: it lets a good history pass, and finds each thing that may go wrong, under its number."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import crc32c
import pytest

from kcore.record.encoder import encode_batch
from tests.invariants import checker
from tests.invariants.checker import InvariantViolation
from tests.invariants.history import (
    Commit,
    Committed,
    History,
    LogView,
    Offsets,
    Outcome,
    Producer,
    Read,
    RecordsDeleted,
    Send,
    TopicPartition,
)
from tests.invariants.log_files import BATCH_HEAD, OFFSET_ENTRY, TIME_ENTRY

ACKED, FAILED, UNKNOWN = Outcome.ACKED, Outcome.FAILED, Outcome.UNKNOWN
P0 = TopicPartition("t", 0)
P1 = TopicPartition("t", 1)
Records = dict[int, bytes]


def good_history() -> History:
    """An idempotent producer and a plain one; the log was read whole twice, with records between."""
    history = History()
    history.add_producer(Producer("safe", idempotent=True, ordered=True))
    history.add_producer(Producer("plain", idempotent=False, ordered=False))
    history.sends = [
        Send("safe", 0, P0, b"s0", ACKED, 0, at=1),
        Send("plain", 0, P0, b"p0", UNKNOWN, at=2),
        Send("safe", 1, P0, b"s1", ACKED, None, at=3),
        Send("plain", 1, P0, b"p1", FAILED, at=4),
        Send("safe", 2, P0, b"s2", ACKED, 4, at=6),
    ]
    history.reads = [Read("r", P0, 0, b"s0", at=2), Read("r", P0, 1, b"p0", at=3)]
    first = {0: b"s0", 1: b"p0", 2: b"s1"}
    history.views = [
        LogView(P0, 0, 3, first, at=5),
        LogView(P0, 1, 5, {1: b"p0", 2: b"s1", 3: b"p0", 4: b"s2"}, at=7),
    ]
    history.deletions = [RecordsDeleted(P0, 1, at=6), RecordsDeleted(P1, 9, at=6), RecordsDeleted(P0, 9, at=9)]
    history.offsets = [Offsets(P0, 1, 5, 5, 5)]
    history.commits = [
        Commit("g", P0, 1, ACKED, at=2),
        Commit("g", P0, 3, UNKNOWN, at=4),
        Commit("g", P0, 2, FAILED, at=5),
    ]
    history.committed = [Committed("g", P0, 1, at=3), Committed("g", P0, 3, at=6), Committed("g", P1, None, at=6)]
    return history


def test_a_good_history_passes() -> None:
    checker.check_history(good_history())


def change_view(records: Callable[[Records], object], start: int = 1, end: int = 5) -> Callable[[History], None]:
    def change(history: History) -> None:
        changed = dict(history.views[1].records)
        records(changed)
        history.views[1] = LogView(P0, start, end, changed, at=7)

    return change


def send(index: int, **fields: Any) -> Callable[[History], None]:
    def change(history: History) -> None:
        history.sends[index] = history.sends[index]._replace(**fields)

    return change


def add(name: str, *events: object) -> Callable[[History], None]:
    return lambda history: getattr(history, name).extend(events)


BROKEN: list[tuple[str, int, Callable[[History], None]]] = [
    ("an acknowledged record is cut off", 1, lambda history: history.views.append(LogView(P0, 1, 4, {}, at=8))),
    ("a whole log was lost", 1, lambda history: history.views.append(LogView(P0, 0, 0, {}, at=8))),
    ("an acknowledged record never came", 1, add("sends", Send("plain", 2, P0, b"p2", ACKED, 2, at=4))),
    ("one without an offset never came", 1, add("sends", Send("safe", 3, P0, b"s3", ACKED, None, at=6))),
    ("a refused record is there", 1, send(1, outcome=FAILED)),
    ("an offset got another value", 2, add("reads", Read("r", P0, 2, b"p0", at=9))),
    ("an offset was given twice", 2, add("sends", Send("plain", 2, P0, b"p2", ACKED, 4, at=8))),
    ("bytes that nobody sent", 2, add("reads", Read("r", P0, 9, b"s0s1", at=9))),
    ("a record in another partition", 2, add("reads", Read("r", P1, 0, b"s0", at=9))),
    ("what was read is gone", 2, add("reads", Read("r", P0, 5, b"p0", at=6))),
    ("the start goes back", 2, lambda history: history.views.append(good_history().views[0]._replace(end=5, at=8))),
    ("deleted records are back", 2, add("deletions", RecordsDeleted(P0, 2, at=6))),
    ("a hole", 3, change_view(lambda records: records.pop(3))),
    ("a record behind the end", 3, change_view(lambda records: None, end=4)),
    ("an idempotent producer's record twice", 5, change_view(lambda records: records.update({3: b"s1"}))),
    ("twice, and retention took the first", 5, change_view(lambda records: records.update({3: b"s0"}))),
    ("out of order", 5, send(0, number=7)),
    ("the high watermark behind the end", 6, add("offsets", Offsets(P0, 0, 5, 6, 5))),
    ("the last stable offset behind the high watermark", 6, add("offsets", Offsets(P0, 0, 5, 4, 5))),
    ("the start behind the last stable offset", 6, add("offsets", Offsets(P0, 4, 3, 4, 5))),
    ("a commit is gone", 9, add("committed", Committed("g", P0, None, at=6))),
    ("a commit went back", 9, add("commits", Commit("g", P0, 5, ACKED, at=5))),
    ("a refused commit counts", 9, add("committed", Committed("g", P0, 2, at=6))),
    ("nobody committed that", 9, add("committed", Committed("g", P0, 77, at=6))),
]


@pytest.mark.parametrize(("number", "breaks"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_each_violation_is_found(number: int, breaks: Callable[[History], None]) -> None:
    history = good_history()
    breaks(history)
    with pytest.raises(InvariantViolation):
        checker.check_history(history)
    # One fault may break several: a log that lost its end lost acknowledged records too.
    violated = set()
    for check in checker.HISTORY_CHECKS:
        try:
            check(history)
        except InvariantViolation as violation:
            violated.add(violation.number)
    assert number in violated


def test_one_in_flight_may_repeat_but_not_reorder() -> None:
    history = History()
    history.add_producer(Producer("p", idempotent=False, ordered=True))
    history.sends = [Send("p", number, P0, b"%d" % number, UNKNOWN) for number in range(3)]
    history.views = [LogView(P0, 0, 4, {0: b"0", 1: b"1", 2: b"0", 3: b"1"})]
    checker.check_history(history)
    history.views = [LogView(P0, 0, 3, {0: b"1", 1: b"0", 2: b"2"})]
    with pytest.raises(InvariantViolation, match="invariant 5"):
        checker.check_history(history)


def test_a_reset_may_go_back() -> None:
    history = good_history()
    history.commits += [
        Commit("g", P0, 9, ACKED, at=10),
        Commit("g", P0, 0, ACKED, at=11, is_reset=True),
    ]
    history.committed.append(Committed("g", P0, 0, at=12))
    checker.check_history(history)
    history.committed.append(Committed("g", P0, None, at=13))
    with pytest.raises(InvariantViolation, match="invariant 9"):
        checker.check_history(history)


def test_what_a_loss_of_power_took_counts_no_more() -> None:
    """The records from offset 2 on were not synced; their offsets have other values afterwards."""
    history = good_history()
    history.forget_from(P0, 2)
    assert [one.partition for one in history.deletions] == [P1]
    history.sends.append(Send("plain", 5, P0, b"p5", ACKED, 2, at=9))
    history.views.append(LogView(P0, 1, 3, {1: b"p0", 2: b"p5"}, at=10))
    checker.check_history(history)
    history.views.append(LogView(P0, 0, 1, {0: b"s0"}, at=11))
    with pytest.raises(InvariantViolation):
        checker.check_history(history)


def test_two_sends_of_one_value_prove_nothing() -> None:
    history = good_history()
    history.sends.append(Send("plain", 9, P0, b"s0", UNKNOWN))
    with pytest.raises(ValueError, match="two sends have the value"):
        checker.check_history(history)


def test_histories_merge() -> None:
    whole, other = good_history(), good_history()
    other.sends, other.views, other.reads = [Send("safe", 9, P0, b"s9", ACKED, 5, at=8)], [], []
    whole.merge(other)
    assert [one.value for one in whole.sends][-1] == b"s9"
    checker.check_history(whole)
    other.producers["safe"] = Producer("safe", idempotent=False, ordered=False)
    with pytest.raises(ValueError, match="two different producers"):
        whole.merge(other)


def test_only_the_tail_may_go() -> None:
    before = LogView(P0, 0, 4, {0: b"a", 1: b"b", 2: b"c", 3: b"d"})
    checker.check_only_tail_lost(before, LogView(P0, 1, 3, {1: b"b", 2: b"c"}))
    checker.check_only_tail_lost(before, LogView(P0, 4, 5, {4: b"e"}))
    for after in (LogView(P0, 0, 3, {0: b"a", 2: b"c"}), LogView(P0, 0, 2, {0: b"a", 1: b"c"})):
        with pytest.raises(InvariantViolation, match="invariant 3"):
            checker.check_only_tail_lost(before, after)


def test_progress() -> None:
    history = good_history()
    checker.check_everyone_makes_progress(history, 2, ["safe"], ["g"])
    with pytest.raises(InvariantViolation, match=r"invariant 12: .*'g', |\['plain', 'g'\]"):
        checker.check_everyone_makes_progress(history, 3, ["safe", "plain"], ["g"])


def test_a_dump_must_have_what_was_read() -> None:
    view = LogView(P0, 1, 3, {1: b"b", 2: b"c"})
    checker.check_dump_agrees(view, [(0, b"a"), (1, b"b"), (2, b"c")])
    for dumped in ([(1, b"b")], [(1, b"b"), (2, b"x")], [(1, b"b"), (2, b"c"), (3, b"d")]):
        with pytest.raises(InvariantViolation, match="invariant 14"):
            checker.check_dump_agrees(view, dumped)


def test_recovery_twice() -> None:
    checker.check_recovery_is_idempotent({"a": b"1"}, {"a": b"1"})
    for second in ({"a": b"2"}, {}, {"a": b"1", "b": b""}):
        with pytest.raises(InvariantViolation, match="invariant 10"):
            checker.check_recovery_is_idempotent({"a": b"1"}, second)


# Files


def batch(base_offset: int, count: int, timestamp: int, sequence: int, producer_id: int = 7) -> bytes:
    return encode_batch(
        [(None, b"v%d" % number) for number in range(count)],
        timestamp=timestamp,
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
    )


def names(base: int) -> tuple[str, str, str]:
    return f"{base:020d}.log", f"{base:020d}.index", f"{base:020d}.timeindex"


def good_files() -> dict[str, bytes]:
    """Two segments: offsets 0-3 in two batches, 4-5 in one; the second batch and no other has index entries."""
    first, second, third = batch(0, 2, 100, 0), batch(2, 2, 200, 2), batch(4, 2, 150, 4)
    log, index, times = names(0)
    log_4, index_4, times_4 = names(4)
    return {
        log: first + second,
        index: OFFSET_ENTRY.pack(3, len(first)),
        times: TIME_ENTRY.pack(200, 3),
        log_4: third,
        index_4: bytes(OFFSET_ENTRY.size * 4),
        times_4: b"",
        "partition.metadata": b"version: 0\n",
    }


def test_good_files_pass() -> None:
    files = good_files()
    checker.check_files(files, index_interval_bytes=0)
    checker.check_nothing_was_set_aside(files)
    checker.check_retention_by_size(files, 1 << 30)


def flip(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :]


def set_sequence(content: bytes, sequence: int) -> bytes:
    """The last batch of these, with another base sequence."""
    return batch(4, 2, 150, sequence)


LOG, INDEX, TIMES = names(0)
LOG_4, INDEX_4, TIMES_4 = names(4)
DAMAGES: list[tuple[str, int, dict[str, Callable[[bytes], bytes | None]]]] = [
    ("a torn tail", 4, {LOG_4: lambda content: content[:-1]}),
    ("a flipped bit", 4, {LOG: lambda content: flip(content, 70)}),
    ("less than a head", 4, {LOG_4: lambda content: content + bytes(BATCH_HEAD.size - 1)}),
    ("a batch is missing", 3, {LOG: lambda content: batch(0, 2, 100, 0)}),
    ("offsets overlap", 3, {LOG_4: lambda content: batch(3, 2, 150, 4)}),
    ("no offset index", 4, {INDEX: lambda content: None}),
    ("no time index", 4, {TIMES_4: lambda content: None}),
    ("an entry between batches", 4, {INDEX: lambda content: OFFSET_ENTRY.pack(3, 9)}),
    ("an entry for a first offset", 4, {INDEX: lambda content: OFFSET_ENTRY.pack(2, len(batch(0, 2, 100, 0)))}),
    ("an entry twice", 4, {INDEX: lambda content: content * 2}),
    ("an entry is missing", 4, {INDEX: lambda content: b""}),
    ("a time that no batch has", 4, {TIMES: lambda content: TIME_ENTRY.pack(199, 3)}),
    ("a time that is not the newest", 4, {TIMES_4: lambda content: TIME_ENTRY.pack(200, 1)}),
    ("times that go back", 4, {TIMES: lambda content: content + TIME_ENTRY.pack(100, 1)}),
    ("a sequence is missing", 5, {LOG_4: lambda content: set_sequence(content, 5)}),
    ("a sequence comes again", 5, {LOG_4: lambda content: set_sequence(content, 2)}),
]


@pytest.mark.parametrize(("number", "changes"), [case[1:] for case in DAMAGES], ids=[case[0] for case in DAMAGES])
def test_each_damage_is_found(number: int, changes: dict[str, Callable[[bytes], bytes | None]]) -> None:
    files = good_files()
    for name, change in changes.items():
        content = change(files.pop(name))
        if content is not None:
            files[name] = content
    with pytest.raises(InvariantViolation) as found:
        checker.check_files(files, index_interval_bytes=0)
    assert found.value.number == number


def test_a_snapshot_must_fit_the_log() -> None:
    files = good_files()
    files["00000000000000000004.snapshot"] = snapshot(last_sequence=3, last_offset=3)
    checker.check_files(files)
    for wrong in (snapshot(2, 3), snapshot(3, 2), flip(snapshot(3, 3), 20), snapshot(3, 3)[:-1]):
        files["00000000000000000004.snapshot"] = wrong
        with pytest.raises(InvariantViolation, match="invariant 4"):
            checker.check_files(files)


def snapshot(last_sequence: int, last_offset: int) -> bytes:
    body = struct.pack(">iqhiqiqiq", 1, 7, 0, last_sequence, last_offset, 1, 200, -1, -1)
    return struct.pack(">hI", 1, crc32c.crc32c(body)) + body


def test_what_was_set_aside_is_seen() -> None:
    with pytest.raises(InvariantViolation, match="invariant 3"):
        checker.check_nothing_was_set_aside({f"{LOG}.61.corrupt": b""})


def test_retention_that_took_too_much() -> None:
    files = good_files()
    del files[LOG]
    checker.check_retention_by_size(files, len(files[LOG_4]))
    with pytest.raises(InvariantViolation, match="invariant 7"):
        checker.check_retention_by_size(files, len(files[LOG_4]) + 1)
