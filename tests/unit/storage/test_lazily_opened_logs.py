"""After a clean shutdown a log is known without being opened, and whatever is not as it was left has the log read."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import Buffer

from kcore import errors
from kcore.config.broker import BrokerConfig
from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.storage.clean_shutdown_state import format_clean_state, parse_clean_state
from kcore.storage.log import Log
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_manager import LogManager
from kcore.storage.scheduler import Scheduler
from kcore.storage.segment import bound_open_segments, open_segment_count
from tests.unit.storage.log_place import LOG_END, OLD_MS, LogPlace, append_each, batch, file_name, read_all

SMALL = {"segment.bytes": 300, "index.interval.bytes": 0, "producer.id.expiration.ms": 2**62}


def left_behind(place: LogPlace, properties: dict[str, object] | None = None) -> tuple[int, ...]:
    """Closes the log cleanly; how it was left."""
    assert place.log is not None
    place.log.flush()
    place.log.close()
    left = place.log.left_clean()
    assert left is not None
    return left


def reopened(place: LogPlace, left: tuple[int, ...] | None, **properties: object) -> Log:
    return place.open({**SMALL, **properties}, clean_shutdown=True, left=left, recovery_point=10**9)


def test_a_log_that_was_left_clean_is_known_without_an_open_file(place: LogPlace) -> None:
    log = place.open(SMALL)
    append_each(log, 20)
    expected = read_all(log)
    segments = [(info.base_offset, info.size_bytes) for info in log.segments]
    left = left_behind(place)
    before = open_segment_count()
    log = reopened(place, left)
    assert (log.start_offset, log.end_offset, log.recovery_point) == (0, 20, 20)
    assert [(info.base_offset, info.size_bytes) for info in log.segments] == segments
    assert log.advance_high_watermark(20)
    assert open_segment_count() == before, "nothing was opened yet"
    if isinstance(place.disk, MemoryDisk):
        assert place.disk.open_descriptors == 0
    assert read_all(log) == expected
    append_each(log, 1)
    assert len(read_all(log)) == 21


def test_closing_it_again_writes_nothing(memory_place: LogPlace) -> None:
    log = memory_place.open(SMALL)
    append_each(log, 5)
    left = left_behind(memory_place)
    content = {name: memory_place.read_file(name) for name in memory_place.names()}
    times = {name: memory_place.disk.modified_ms(memory_place.path(name)) for name in memory_place.names()}
    assert isinstance(memory_place.disk, MemoryDisk)
    memory_place.disk.advance(60_000)
    reopened(memory_place, left)
    assert left_behind(memory_place) == left
    assert {name: memory_place.read_file(name) for name in memory_place.names()} == content
    assert {name: memory_place.disk.modified_ms(memory_place.path(name)) for name in memory_place.names()} == times


def test_producers_are_known_from_the_snapshot(place: LogPlace) -> None:
    log = place.open(SMALL)
    log.append(batch(1, producer_id=7, producer_epoch=0, base_sequence=0))
    left = left_behind(place)
    log = reopened(place, left)
    assert log.append(batch(1, producer_id=7, producer_epoch=0, base_sequence=0)).duplicate
    with pytest.raises(errors.OutOfOrderSequenceNumberError):
        log.append(batch(1, producer_id=7, producer_epoch=0, base_sequence=5))


def cut_tail(place: LogPlace) -> None:
    name = file_name(place.log.segments[-1].base_offset) if place.log is not None else ""
    place.write_file(name, place.read_file(name)[:-10])


def remove_index(place: LogPlace) -> None:
    place.disk.unlink(place.path(file_name(0, ".index")))


def add_leftover(place: LogPlace) -> None:
    place.write_file(f"{file_name(0)}.deleted", b"x")


def remove_epochs(place: LogPlace) -> None:
    place.disk.unlink(place.path("leader-epoch-checkpoint"))


@pytest.mark.parametrize("touch", [cut_tail, remove_index, add_leftover, remove_epochs])
def test_a_log_that_was_touched_since_is_read(place: LogPlace, touch: object) -> None:
    log = place.open(SMALL)
    log.assign_epoch_start(3, 0)
    for i in range(10):
        log.append(batch(timestamp=OLD_MS + i), 3)
    expected = read_all(log)
    left = left_behind(place)
    assert callable(touch)
    touch(place)
    log = reopened(place, left)
    survived = 9 if touch is cut_tail else 10
    assert log.end_offset == survived
    assert read_all(log) == expected[:survived]
    assert log.latest_epoch == 3
    assert place.disk.exists(place.path(file_name(0, ".index")))


def test_a_wrong_index_is_not_believed_and_built_anew_at_the_next_start(place: LogPlace) -> None:
    log = place.open(SMALL)
    append_each(log, 10)
    expected = read_all(log)
    left = left_behind(place)
    sound = place.read_file(file_name(0, ".index"))
    assert sound
    place.write_file(file_name(0, ".index"), b"\xff" * len(sound))
    log = reopened(place, left)
    assert read_all(log) == expected
    log.close()
    assert log.left_clean() is None, "the next start has to look"
    reopened(place, None)
    assert place.read_file(file_name(0, ".index")) == sound


def entries(index: bytes) -> set[bytes]:
    return {index[i : i + 8] for i in range(0, len(index), 8)}


def test_an_index_that_was_cut_and_grew_again_has_no_entry_of_before(place: LogPlace) -> None:
    log = place.open({"index.interval.bytes": 0})
    append_each(log, 20)
    log.close()
    log = place.open({"index.interval.bytes": 0}, clean_shutdown=True)
    log.truncate_to(5)
    log.append(batch(3, value=b"longer than before"))
    append_each(log, 30)
    log.close()
    place.disk.unlink(place.path(file_name(0, ".timeindex")))
    grown = place.read_file(file_name(0, ".index"))
    place.open({"index.interval.bytes": 0}, clean_shutdown=True)
    rebuilt = place.read_file(file_name(0, ".index"))
    assert len(grown) <= len(rebuilt)
    assert entries(grown) <= entries(rebuilt)


@pytest.fixture
def one_open() -> Iterator[None]:
    bound_open_segments(1)
    yield
    bound_open_segments(0)


@pytest.mark.usefixtures("one_open")
def test_many_logs_that_are_written_in_turn_share_one_open_segment() -> None:
    disk = MemoryDisk()
    places = [LogPlace(disk, f"/data/orders-{number}") for number in range(10)]
    for place in places:
        place.open({"index.interval.bytes": 0})
    for _ in range(5):
        for place in places:
            assert place.log is not None
            append_each(place.log, 3)
            assert open_segment_count() == 1
            assert disk.open_descriptors == 1
    for place in places:
        assert place.log is not None
        assert [offset for offset, _ in read_all(place.log)] == list(range(15))
        place.log.flush()
        place.log.close()
        # What was indexed before the segment was closed is there again when it is opened.
        assert len(entries(place.read_file(file_name(0, ".index")))) == 14
    for place in places:
        log = place.open({}, clean_shutdown=True)
        assert log.end_offset == 15
        place.let_go()


def test_a_process_without_descriptors_closes_idle_segments_and_goes_on(tmp_path: Path) -> None:
    """In a process of its own, because a limit is for all of it."""
    import subprocess
    import sys

    program = """
import os, resource, sys
from kcore.platform.real_disk import RealDisk
from tests.unit.storage.log_place import LogPlace, append_each, read_all
disk = RealDisk()
places = [LogPlace(disk, f"{sys.argv[1]}/orders-{number}") for number in range(40)]
for place in places:
    place.open()
resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))
for round in range(3):
    for place in places:
        append_each(place.log, 2)
taken = []
try:
    while True:
        taken.append(os.dup(0))
except OSError:
    pass
for place in places:
    assert [offset for offset, _ in read_all(place.log)] == list(range(6))
    append_each(place.log, 1)
    assert not place.log.is_offline
print("done")
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert done.stdout == "done\n", done.stderr


def test_without_any_descriptor_an_append_is_refused_with_the_remedy(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = """
import os, resource, sys
from kcore import errors
from kcore.platform.real_disk import RealDisk
from tests.unit.storage.log_place import LogPlace, append_each, batch
place = LogPlace(RealDisk(), sys.argv[1])
log = place.open()
resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
taken = []
try:
    while True:
        taken.append(os.dup(0))
except OSError:
    pass
try:
    log.append(batch())
except errors.KafkaStorageError as error:
    assert "ulimit -n" in str(error) and "kcli.log.max.open.segments" in str(error), str(error)
assert not log.is_offline
os.close(taken.pop()); os.close(taken.pop())
append_each(log, 1)
print(log.end_offset)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "orders-0")],
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr


class TestManager:
    TOPIC_ID = bytes(range(16))

    def start(self, disk: RealDisk | MemoryDisk, directory: str, partitions: int = 0) -> LogManager:
        config = BrokerConfig({"log.dirs": directory})
        manager = LogManager(disk, [directory], config, Scheduler())
        manager.open()
        topics = {"orders": HostedTopic(self.TOPIC_ID, range(partitions))} if partitions else {}
        manager.startup(1, "cluster", topics)
        return manager

    def test_a_start_after_a_clean_shutdown_opens_no_segment(self, tmp_path: Path) -> None:
        disk = MemoryDisk()
        manager = self.start(disk, "/data")
        for partition in range(20):
            log = manager.get_or_create_log("orders", partition, self.TOPIC_ID)
            if partition % 2:
                append_each(log, partition)
        manager.shutdown()
        del manager, log
        left = parse_clean_state(disk.read_file("/data/kcli-clean-logs"))
        assert left is not None
        assert sorted(partition for _, partition in left) == list(range(1, 20, 2))
        manager = self.start(disk, "/data", 20)
        assert open_segment_count() == 0
        assert disk.open_descriptors == 1, "of the directory's lock"
        assert not disk.exists("/data/kcli-clean-logs")
        for partition in range(20):
            log = manager.get_or_create_log("orders", partition, self.TOPIC_ID)
            assert log.end_offset == (partition if partition % 2 else 0)
            assert len(read_all(log, LOG_END)) == log.end_offset
        manager.shutdown()

    @pytest.mark.parametrize("fails", [False, True])
    def test_many_logs_are_synced_together_at_the_end(self, tmp_path: Path, fails: bool) -> None:
        class Watched(RealDisk):
            """Tells when the whole file system was synced, and what was said before and after."""

            def __init__(self) -> None:
                self.events: list[str] = []

            def sync_deferred(self, path: str) -> None:
                self.events.append("sync")
                if fails:
                    raise OSError(5, "Input/output error", path)
                super().sync_deferred(path)

            def write_file_atomically(self, path: str, data: Buffer) -> None:
                self.events.append(path.rpartition("/")[2])
                super().write_file_atomically(path, data)

        disk = Watched()
        manager = self.start(disk, str(tmp_path / "data"))
        for partition in range(70):
            append_each(manager.get_or_create_log("orders", partition, self.TOPIC_ID), 2)
        disk.events.clear()
        manager.shutdown()
        if fails:
            assert disk.events == ["sync"], "nothing is said of what may not be on the device"
            assert not (tmp_path / "data" / ".kafka_cleanshutdown").exists()
        else:
            assert disk.events[0] == "sync"
            assert disk.events[-1] == ".kafka_cleanshutdown"
        del manager
        manager = self.start(RealDisk(), str(tmp_path / "data"), 70)
        for partition in range(70):
            log = manager.get_or_create_log("orders", partition, self.TOPIC_ID)
            assert (log.end_offset, log.recovery_point) == (2, 0 if fails else 2)
        manager.shutdown()

    def test_checkpoints_that_would_say_the_same_are_not_written(self) -> None:
        disk = MemoryDisk(now_ms=2_000_000_000_000)
        manager = self.start(disk, "/data")
        log = manager.get_or_create_log("orders", 0, self.TOPIC_ID)
        names = ("replication-offset-checkpoint", "recovery-point-offset-checkpoint", "log-start-offset-checkpoint")

        def run() -> list[int]:
            disk.advance(5_000)
            manager.checkpoints.write_high_watermarks()
            manager.checkpoints.write_recovery_points()
            manager.checkpoints.write_log_start_offsets()
            return [disk.modified_ms(f"/data/{name}") for name in names]

        run()
        before = run()
        assert run() == before
        log.append(batch())
        after = run()
        assert all(new > old for new, old in zip(after, before, strict=True))
        assert run() == after
        manager.shutdown()


@pytest.mark.parametrize(
    ("count", "entries"),
    [
        (0, b"orders 0 1 2 3 4 5 6 7\n"),
        (2, b"orders 0 1 2 3 4 5 6 7\n"),
        (1, b"orders 0 1 2 3\n"),
        (1, b"orders 0 1 2 3 4 5 6 x\n"),
        (1, b"orders 0 1 2 3 4 5 6 7"),
        (1, b"\xff 0 1 2 3 4 5 6 7\n"),
    ],
)
def test_entries_that_break_a_rule_say_nothing(count: int, entries: bytes) -> None:
    assert not parse_clean_state(b"1\n%d\n%d\n%s" % (count, zlib.crc32(entries), entries))


def test_every_flipped_bit_and_every_prefix_says_nothing() -> None:
    logs = {("orders", 0): (1742, 1200, 65536, 1763750000000, 1763740000000, 1763749999000, 1741)}
    content = format_clean_state(logs)
    assert parse_clean_state(content) == logs
    for position in range(len(content)):
        assert not parse_clean_state(content[:position])
        for bit in range(8):
            damaged = bytearray(content)
            damaged[position] ^= 1 << bit
            assert parse_clean_state(bytes(damaged)) in (None, {}), (position, bit)
