"""What a log is after a crash, for every place at which the crash may have cut it, and after a clean end."""

from __future__ import annotations

import errno
import gc
import os
import struct
from contextlib import suppress

import pytest

from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from tests.unit.storage.log_place import LOG_END, OLD_MS, LogPlace, append_each, batch, file_name, read_all


def state(place: LogPlace) -> dict[str, bytes]:
    """Every file of the directory."""
    return {name: place.read_file(name) for name in place.names()}


def test_a_clean_end_is_taken_as_it_is(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 500, "index.interval.bytes": 100})
    append_each(log, 30)
    log.flush()
    log.close()
    segments = [(segment.base_offset, segment.size_bytes) for segment in log.segments]
    del log
    before = state(place)
    log = place.open({"segment.bytes": 500, "index.interval.bytes": 100}, clean_shutdown=True)
    assert [(segment.base_offset, segment.size_bytes) for segment in log.segments] == segments
    assert (log.start_offset, log.end_offset, log.recovery_point, log.high_watermark) == (0, 30, 30, 0)
    assert [offset for offset, _ in read_all(log)] == list(range(30))
    assert state(place) == before
    assert append_each(log, 1)[0].base_offset == 30


def test_clean_ends_leave_no_gaps_in_indexes(place: LogPlace) -> None:
    """Reopened ever so often between few batches, a log gets the index entries that it would have got in one go."""
    properties: dict[str, object] = {"index.interval.bytes": 200}
    for _ in range(12):
        log = place.open(properties, clean_shutdown=True)
        append_each(log, 2)
        log.close()
    del log
    reopened = place.read_file(file_name(0, ".index"))
    assert len(reopened) > 8 * 4
    place.open(properties, clean_shutdown=False).close()
    assert place.read_file(file_name(0, ".index")) == reopened


def test_a_clean_end_is_not_scanned(place: LogPlace) -> None:
    """Damage that only a checksum shows stays unseen: nothing but the last batches' headers is read."""
    log = place.open()
    append_each(log, 3)
    log.close()
    del log
    content = bytearray(place.read_file(file_name(0)))
    content[70] ^= 1
    place.write_file(file_name(0), content)
    assert place.open(clean_shutdown=True).end_offset == 3
    assert place.open(clean_shutdown=False).end_offset == 0


def test_a_new_log_begins_at_its_start_offset(place: LogPlace) -> None:
    log = place.open(log_start_offset=42)
    assert (log.start_offset, log.end_offset, log.high_watermark) == (42, 42, 42)
    assert place.names(".log") == [file_name(42)]


def small_log(disk_place: LogPlace) -> tuple[bytes, list[int]]:
    """The bytes of a log of several batches, and where each of them ends."""
    log = disk_place.open({"index.interval.bytes": 0})
    ends = []
    for count in (1, 3, 2):
        log.append(batch(count, producer_id=7, producer_epoch=0, base_sequence=log.end_offset), 1)
        ends.append(log.size_bytes)
    log.flush()
    del log
    disk_place.let_go()
    return disk_place.read_file(file_name(0)), ends


def test_every_truncation_point_keeps_the_whole_batches_before_it() -> None:
    content, ends = small_log(LogPlace(MemoryDisk(), "/made/orders-0"))
    offsets = {0: 0, ends[0]: 1, ends[1]: 4, ends[2]: 6}
    for length in range(len(content) + 1):
        place = LogPlace(MemoryDisk(), "/data/orders-0")
        place.disk.mkdirs(place.directory)
        place.write_file(file_name(0), content[:length])
        kept = max(end for end in offsets if end <= length)
        log = place.open()
        assert (log.size_bytes, log.end_offset) == (kept, offsets[kept]), length
        assert place.read_file(file_name(0)) == content[:kept]
        assert place.names(".corrupt") == []
        assert log.append(batch()).base_offset == offsets[kept]
        del log
        place.let_go()


def test_every_flipped_bit_cuts_before_its_batch_and_saves_what_follows() -> None:
    content, ends = small_log(LogPlace(MemoryDisk(), "/made/orders-0"))
    starts = [0, *ends[:-1]]
    for position in range(len(content)):
        number = max(i for i, start in enumerate(starts) if start <= position)
        within = position - starts[number]
        if 12 <= within < 16 or within < 8:
            # The leader epoch and the base offset stand outside the checksum; offsets are judged by their order.
            continue
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        place = LogPlace(MemoryDisk(), "/data/orders-0")
        place.disk.mkdirs(place.directory)
        place.write_file(file_name(0), damaged)
        log = place.open()
        assert log.size_bytes == starts[number], position
        expected = [f"{file_name(0)}.{starts[number]}.corrupt"] if number < 2 else []
        assert place.names(".corrupt") == expected, position
        for name in expected:
            assert place.read_file(name) == damaged[starts[number] :]
        del log
        place.let_go()


def test_recovery_is_idempotent(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 0})
    append_each(log, 20)
    del log
    place.let_go()
    content = bytearray(place.read_file(file_name(0)))
    content[len(content) // 2] ^= 1
    place.write_file(file_name(0), content)
    end_offset = place.open().end_offset
    place.let_go()
    first = state(place)
    assert place.open().end_offset == end_offset
    place.let_go()
    assert state(place) == first


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_a_segment_that_lost_its_end_is_the_last_one(
    place: LogPlace, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    """Whole batches: a loss of power may take what was not synced and leave what was written to the next segment."""
    config: dict[str, object] = {"segment.bytes": 500, "cleanup.policy": policy}
    log = place.open(config)
    append_each(log, 30)
    bases = [segment.base_offset for segment in log.segments]
    del log
    place.let_go()
    size = len(batch())
    content = place.read_file(file_name(bases[1]))
    assert len(content) == size * (bases[2] - bases[1])
    place.write_file(file_name(bases[1]), content[:-size])
    later = [place.read_file(file_name(base)) for base in bases[2:]]
    log = place.open(config)
    if policy == "compact":
        assert log.end_offset == 30, "the gaps of a compacted log are as they should be"
        return
    assert log.end_offset == bases[2] - 1
    assert [offset for offset, _ in read_all(log)] == list(range(bases[2] - 1))
    assert [place.read_file(f"{file_name(base)}.corrupt") for base in bases[2:]] == later
    assert len(place.names(".corrupt")) == len(later), "nothing was cut from the segment itself"
    assert f"offsets {bases[2] - 1} to {bases[2] - 1} are missing" in capsys.readouterr().err
    append_each(log, 1)
    del log
    place.let_go()
    assert place.open(config).end_offset == bases[2]


def test_an_empty_segment_behind_a_lost_end_leaves_no_gap(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 500})
    append_each(log, 5)
    log.roll()
    del log
    place.let_go()
    place.write_file(file_name(0), place.read_file(file_name(0))[: -len(batch())])
    log = place.open({"segment.bytes": 500})
    assert log.end_offset == 4
    assert append_each(log, 1)[0].base_offset == 4
    assert [offset for offset, _ in read_all(log)] == list(range(5))


def test_a_gap_below_the_recovery_point_is_left_alone(place: LogPlace) -> None:
    """It is older than the crash: of a log that was compacted once, say."""
    log = place.open({"segment.bytes": 500})
    append_each(log, 30)
    bases = [segment.base_offset for segment in log.segments]
    del log
    place.let_go()
    place.write_file(file_name(bases[1]), place.read_file(file_name(bases[1]))[: -len(batch())])
    log = place.open({"segment.bytes": 500}, recovery_point=bases[2])
    assert log.end_offset == 30


def synced_place(files: dict[str, bytes]) -> LogPlace:
    """A log's directory, durable to the last name, on a disk that can lose power."""
    place = LogPlace(MemoryDisk(volatile_cache=True), "/data/orders-0")
    place.disk.mkdirs(place.directory)
    for name, content in files.items():
        place.write_file(name, content)
    for directory in (place.directory, "/data", "/"):
        place.disk.fsync_dir(directory)
    return place


def lose_power(place: LogPlace) -> None:
    place.let_go()
    gc.collect()
    assert isinstance(place.disk, MemoryDisk)
    place.disk.restore_power()


@pytest.mark.parametrize("last", [b"", batch(base_offset=2)], ids=["empty", "with records"])
def test_a_segment_dropped_by_recovery_does_not_come_back(last: bytes) -> None:
    """It would end the log where it has gone on meanwhile."""
    place = synced_place({file_name(0): batch(), file_name(2): last, file_name(2, ".snapshot"): b""})
    assert place.open().end_offset == 1
    lose_power(place)
    assert place.names(".log") == [file_name(0)]
    assert place.open().end_offset == 1
    place.let_go()


@pytest.mark.parametrize("files", [{}, {file_name(0): batch()}], ids=["nothing", "too little"])
def test_where_an_empty_log_begins_survives_a_loss_of_power(files: dict[str, bytes]) -> None:
    """The checkpoint of log start offsets leaves that to the name of the first segment."""
    place = synced_place(files)
    assert place.open(log_start_offset=5).start_offset == 5
    lose_power(place)
    log = place.open()
    assert (log.start_offset, log.end_offset) == (5, 5)
    del log
    place.let_go()


def test_a_snapshot_dropped_by_recovery_does_not_come_back() -> None:
    """It would be believed once the log has reached its offset with other records."""
    place = LogPlace(MemoryDisk(), "/data/orders-0")
    log = place.open()
    for sequence in range(2):
        log.append(batch(producer_id=7, producer_epoch=0, base_sequence=sequence))
    log.close()
    files = {name: place.read_file(name) for name in place.names()}
    assert file_name(2, ".snapshot") in files
    del log
    place.let_go()
    # The second record was lost, what was known of its producer was not.
    files[file_name(0)] = files[file_name(0)][: len(files[file_name(0)]) // 2]
    place = synced_place(files)
    assert place.open().end_offset == 1
    lose_power(place)
    assert place.names(".snapshot") == []


def test_later_segments_are_set_aside_behind_a_damaged_one(place: LogPlace, capsys: pytest.CaptureFixture[str]) -> None:
    log = place.open({"segment.bytes": 500})
    append_each(log, 30)
    bases = [segment.base_offset for segment in log.segments]
    del log
    place.let_go()
    content = bytearray(place.read_file(file_name(bases[1])))
    content[-1] ^= 1
    place.write_file(file_name(bases[1]), content)
    later = [place.read_file(file_name(base)) for base in bases[2:]]
    log = place.open({"segment.bytes": 500})
    assert log.end_offset == bases[2] - 1
    assert [offset for offset, _ in read_all(log)] == list(range(bases[2] - 1))
    assert [place.read_file(f"{file_name(base)}.corrupt") for base in bases[2:]] == later
    assert place.names(".log") == [file_name(base) for base in bases[:2]]
    warning = capsys.readouterr().err
    assert f"ends at offset {bases[2] - 1}" in warning
    assert f"from offset {bases[2]} on" in warning


def test_only_segments_above_the_recovery_point_are_scanned(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 500})
    append_each(log, 30)
    log.flush()
    bases = [segment.base_offset for segment in log.segments]
    log.close()
    del log
    place.let_go()
    content = bytearray(place.read_file(file_name(0)))
    content[-1] ^= 1
    place.write_file(file_name(0), content)
    assert place.open({"segment.bytes": 500}, recovery_point=bases[1]).end_offset == 30
    assert place.open({"segment.bytes": 500}, recovery_point=bases[1] - 1).end_offset == bases[1] - 1


def test_zeros_at_the_end_of_a_preallocated_file_are_cut(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 3)
    size = log.size_bytes
    del log
    place.let_go()
    place.write_file(file_name(0), place.read_file(file_name(0)) + bytes(100_000))
    for clean in (True, False):
        log = place.open(clean_shutdown=clean)
        assert (log.end_offset, log.size_bytes) == (3, size)
        del log


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("harm", ["missing", "zeros", "beyond", "odd"])
def test_an_index_that_does_not_fit_is_built_anew(place: LogPlace, suffix: str, harm: str) -> None:
    properties: dict[str, object] = {"segment.bytes": 2_000, "index.interval.bytes": 200}
    log = place.open(properties)
    append_each(log, 60)
    log.flush()
    log.close()
    del log
    place.let_go()
    name = file_name(0, suffix)
    good = place.read_file(name)
    assert good
    if harm == "missing":
        place.disk.unlink(place.path(name))
    elif harm == "zeros":
        place.write_file(name, good + bytes(10 * len(good)))
    elif harm == "beyond":
        place.write_file(name, good[:-4] + b"\xff\xff\xff\xff")
    else:
        place.write_file(name, good + b"\x01\x02\x03")
    log = place.open(properties, clean_shutdown=True)
    assert [offset for offset, _ in read_all(log, max_bytes=1)] == list(range(60))
    assert log.offset_for_timestamp(OLD_MS + 7) == (7, OLD_MS + 7)
    log.close()
    del log
    place.let_go()
    if harm in ("missing", "beyond"):
        assert place.read_file(name) == good


def test_leftovers_of_a_crash_are_cleared_away(place: LogPlace) -> None:
    log = place.open({"segment.bytes": 500})
    append_each(log, 10)
    log.close()
    del log
    place.let_go()
    kept = set(place.names())
    for name in (
        f"{file_name(0)}.deleted",
        f"{file_name(0, '.index')}.deleted",
        f"{file_name(0)}.cleaned",
        f"{file_name(5)}.swap",
        "leader-epoch-checkpoint.tmp",
        file_name(777, ".index"),
        file_name(777, ".timeindex"),
        file_name(777, ".txnindex"),
    ):
        place.write_file(name, b"left over")
    place.write_file(f"{file_name(0)}.17.corrupt", b"saved")
    assert place.open({"segment.bytes": 500}, clean_shutdown=True).end_offset == 10
    assert set(place.names()) == kept | {f"{file_name(0)}.17.corrupt"}


def test_a_compaction_that_was_decided_is_completed(place: LogPlace) -> None:
    """A crash between the renames to .swap and the removal of the old segments: the swap files win."""
    log = place.open({"segment.bytes": 500})
    append_each(log, 20)
    bases = [segment.base_offset for segment in log.segments]
    log.close()
    del log
    place.let_go()
    compacted = place.read_file(file_name(0)) + place.read_file(file_name(bases[1]))
    place.write_file(f"{file_name(0)}.swap", compacted)
    log = place.open({"segment.bytes": 5_000}, clean_shutdown=True)
    assert [segment.base_offset for segment in log.segments] == [0, *bases[2:]]
    assert [offset for offset, _ in read_all(log)] == list(range(20))
    assert place.names(".swap") == []


def test_epochs_are_learnt_from_the_batches_when_their_file_is_lost(place: LogPlace) -> None:
    log = place.open()
    for epoch in (2, 2, 5):
        log.append(batch(), epoch)
    log.close()
    del log
    place.let_go()
    expected = place.read_file("leader-epoch-checkpoint")
    for content in (None, b"garbage", b"0\n5\n1 0\n", b"0\n2\n5 0\n2 1\n"):
        if content is None:
            place.disk.unlink(place.path("leader-epoch-checkpoint"))
        else:
            place.write_file("leader-epoch-checkpoint", content)
        assert place.open(clean_shutdown=True).leader_epochs.snapshot() == [(2, 0), (5, 2)]
        assert place.read_file("leader-epoch-checkpoint") == expected


def test_epochs_beyond_the_end_are_dropped(place: LogPlace) -> None:
    log = place.open()
    log.append(batch(), 1)
    log.append(batch(), 2)
    size = len(batch())
    del log
    place.let_go()
    place.write_file(file_name(0), place.read_file(file_name(0))[:size])
    log = place.open()
    assert (log.end_offset, log.leader_epochs.snapshot()) == (1, [(1, 0)])


def test_a_log_that_ends_before_its_start_offset_begins_anew(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 5)
    del log
    log = place.open(log_start_offset=9)
    assert (log.start_offset, log.end_offset) == (9, 9)
    assert place.names(".log") == [file_name(9)]
    assert append_each(log, 1)[0].base_offset == 9


def test_the_start_offset_hides_records_of_the_first_segment(place: LogPlace) -> None:
    log = place.open()
    append_each(log, 5)
    del log
    log = place.open(log_start_offset=3)
    assert [offset for offset, _ in read_all(log)] == [3, 4]
    assert log.high_watermark == 3


def test_random_damage_never_loses_what_lies_before_it() -> None:
    import random

    content, ends = small_log(LogPlace(MemoryDisk(), "/made/orders-0"))
    chance = random.Random(11)
    for _ in range(150):
        position = chance.randrange(len(content))
        damaged = content[:position] + chance.randbytes(chance.randrange(1, 200))
        damaged += content[len(damaged) :] if chance.random() < 0.5 else b""
        place = LogPlace(MemoryDisk(), "/data/orders-0")
        place.disk.mkdirs(place.directory)
        place.write_file(file_name(0), damaged)
        log = place.open()
        whole = max((end for end in ends if end <= position), default=0)
        assert log.size_bytes >= whole
        assert log.read(0, whole, LOG_END, False) == content[:whole]
        del log
        place.let_go()


def test_a_directory_that_cannot_be_read_is_an_error(place: LogPlace) -> None:
    place.disk.mkdirs(os.path.dirname(place.directory))
    place.disk.write_file_atomically(place.directory, b"a file, not a directory")
    with pytest.raises(OSError, match=r"orders-0"):
        place.open()


def test_an_epoch_costs_no_write_until_its_records_are_flushed(place: LogPlace) -> None:
    log = place.open()
    log.append(batch(), 1)
    log.flush()
    assert place.read_file("leader-epoch-checkpoint") == b"0\n1\n1 0\n"
    log.assign_epoch_start(2, 1)
    log.flush()
    log.append(batch(), 2)
    assert place.read_file("leader-epoch-checkpoint") == b"0\n1\n1 0\n"
    del log
    # What the file does not know yet lies above the recovery point, and is read there.
    log = place.open(recovery_point=1)
    assert log.leader_epochs.snapshot() == [(1, 0), (2, 1)]
    log.flush()
    assert place.read_file("leader-epoch-checkpoint") == b"0\n2\n1 0\n2 1\n"


def test_recovery_believes_the_batches_it_reads_more_than_the_epoch_file(place: LogPlace) -> None:
    """The file may still name an epoch's start of before a crash that cut the log, and the epoch came again."""
    log = place.open()
    for epoch in (1, 1, 5, 5):
        log.append(batch(), epoch)
    del log
    place.let_go()
    place.write_file("leader-epoch-checkpoint", b"0\n2\n1 0\n5 3\n")
    assert place.open().leader_epochs.snapshot() == [(1, 0), (5, 2)]


@pytest.mark.parametrize("content", [None, b"", b"0\n0\n"])
def test_a_log_without_records_is_opened_in_silence(
    place: LogPlace, content: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    place.open().close()
    if content is not None:
        place.write_file("leader-epoch-checkpoint", content)
    for clean in (True, False):
        assert place.open(clean_shutdown=clean).end_offset == 0
    assert capsys.readouterr() == ("", "")


def test_a_read_that_fails_behind_damage_cuts_nothing() -> None:
    """The read may be in the scan, or in the search for valid batches behind the damage."""
    made = LogPlace(MemoryDisk(), "/made/orders-0")
    log = made.open({"max.message.bytes": 4 << 20})
    log.append(batch(value=b"damaged"))
    log.append(batch(value=os.urandom(3 << 20)))
    log.close()
    content = bytearray(made.read_file(file_name(0)))
    content[70] ^= 1
    searches = failures = 0
    while failures == searches:
        searches += 1
        failing = FailingDisk(MemoryDisk())
        place = LogPlace(failing, "/data/orders-0")
        failing.mkdirs(place.directory)
        place.write_file(file_name(0), content)
        failing.fail(["pread"], errno.EIO, path="*.log", at=searches)
        opened = False
        with suppress(OSError):
            place.open()
            opened = True
        if not opened:
            assert place.read_file(file_name(0)) == content
            failures += 1
        failing.heal()
        assert place.open().end_offset == 0
        # A copy that failed halfway stays, beside the whole one.
        assert content in [place.read_file(name) for name in place.names() if ".corrupt" in name]
        place.let_go()
    assert failures >= 3, "a read of the scan, of the search, and of the copy"


def test_a_tail_made_of_claims_is_kept_aside_in_bounded_time(place: LogPlace) -> None:
    """Every 61 bytes say that a batch of all the rest begins: checking each claim would take terabytes of checksums."""
    log = place.open()
    append_each(log, 3)
    log.close()
    sound = place.read_file(file_name(0))
    size = 16 << 20
    tail = bytearray()
    while len(tail) < size:
        left = size - len(tail)
        tail += struct.pack(">qiibIhiqqqhii", 3, left - 12, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1)
    place.write_file(file_name(0), sound + tail)
    log = place.open()
    assert log.end_offset == 3
    assert place.read_file(f"{file_name(0)}.{len(sound)}.corrupt") == tail
    assert place.read_file(file_name(0)) == sound


@pytest.mark.parametrize("number", ["99999999999999999999", "09223372036854775808", "\u0661" * 20])
@pytest.mark.parametrize("suffix", [".log", ".index", ".snapshot", ".log.swap", ".txnindex"])
def test_a_name_that_is_no_offset_is_none_of_the_log(memory_place: LogPlace, number: str, suffix: str) -> None:
    log = memory_place.open()
    append_each(log, 3)
    before = read_all(log)
    log.close()
    del log
    memory_place.write_file(number + suffix, b"x" * 100)
    assert read_all(memory_place.open()) == before
    assert memory_place.read_file(number + suffix) == b"x" * 100
