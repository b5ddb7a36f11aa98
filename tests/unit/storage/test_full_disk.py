"""A disk without room: what cannot be written is refused, nothing that was acknowledged is lost, and it passes."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from kcore import errors
from kcore.config.broker import BrokerConfig
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_dirs import LogShortageError
from kcore.storage.log_manager import LogManager
from kcore.storage.scheduler import Scheduler
from tests.unit.storage.log_place import LogPlace, append_each, batch, file_name, read_all

STORAGE_ERROR = errors.by_code(56)
WRITES = ("pwritev", "fallocate", "create", "mkdir")
TOPIC_ID = bytes(15) + b"\1"


class Place(LogPlace):
    """A log on a disk that can be filled."""

    def __init__(self) -> None:
        self.failing = FailingDisk(MemoryDisk())
        super().__init__(self.failing, "/data/orders-0")


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("short", [False, True])
def test_an_append_without_room_is_refused_and_the_next_one_taken(place: Place, error: int, short: bool) -> None:
    log = place.open()
    append_each(log, 3)
    size = log.size_bytes
    place.failing.fail(["pwritev"], error, path="*.log", times=None, short=short)
    for _ in range(3):
        with pytest.raises(STORAGE_ERROR, match="full"):
            log.append(batch(5, value=bytes(200)))
    assert not log.is_offline
    assert log.refused_for_room >= 3
    assert [offset for offset, _ in read_all(log)] == [0, 1, 2]
    assert len(place.read_file(file_name(0))) == size, "what half fitted gives its room back"
    place.failing.heal()
    assert log.append(batch(1, value=b"after")).base_offset == 3
    expected = read_all(log)
    del log
    assert read_all(place.open()) == expected
    assert place.names(".corrupt") == []
    place.let_go()


def test_a_roll_without_room_is_refused_and_done_later(place: Place) -> None:
    log = place.open({"segment.bytes": 400, "index.interval.bytes": 0})
    append_each(log, 3)
    for operation, path in (
        ("pwritev", "*.snapshot*"),
        ("pwritev", "*.index"),
        ("create", "*.log"),
        ("create", "*.timeindex"),
    ):
        place.failing.fail([operation], errno.ENOSPC, path=path, times=None)
        before = log.end_offset
        with pytest.raises(STORAGE_ERROR):
            log.append(batch(value=bytes(300), producer_id=7, producer_epoch=0, base_sequence=0))
        assert (log.end_offset, log.is_offline) == (before, False)
        place.failing.heal()
    log.append(batch(value=bytes(300)))
    append_each(log, 3)
    log.flush()
    expected = read_all(log)
    log.close()
    del log
    log = place.open({"segment.bytes": 400}, clean_shutdown=True)
    assert read_all(log) == expected
    assert [offset for offset, _ in expected] == list(range(len(expected)))
    log.close()
    del log
    place.let_go()


@pytest.mark.parametrize("operation", ["pwritev", "fdatasync"])
@pytest.mark.parametrize("error", [errno.EIO, errno.EROFS])
def test_any_other_error_is_the_end(place: Place, operation: str, error: int) -> None:
    log = place.open({"flush.messages": 1})
    append_each(log, 3)
    place.failing.fail([operation], error, path="*.log")
    with pytest.raises(STORAGE_ERROR):
        log.append(batch())
    assert log.is_offline
    with pytest.raises(STORAGE_ERROR):
        log.append(batch())
    place.let_go()


def test_a_sync_without_room_is_the_end(place: Place) -> None:
    """It has lost pages, and a later one would not say so."""
    log = place.open({"flush.messages": 1})
    append_each(log, 3)
    place.failing.fail(["fdatasync"], errno.ENOSPC, path="*.log")
    with pytest.raises(STORAGE_ERROR):
        log.append(batch())
    assert log.is_offline
    place.let_go()


def test_no_acknowledgement_while_what_a_flush_writes_finds_no_room(place: Place) -> None:
    log = place.open({"flush.messages": 1})
    log.append(batch(), 1)
    place.failing.fail(["pwritev"], errno.ENOSPC, path="*leader-epoch-checkpoint*", times=None)
    log.assign_epoch_start(2, 1)
    with pytest.raises(STORAGE_ERROR):
        log.append(batch(), 2)
    assert not log.is_offline
    assert log.recovery_point == 1
    place.failing.heal()
    log.append(batch(), 2)
    assert log.recovery_point == log.end_offset == 3
    place.let_go()


class Machine:
    """A log manager whose disk can be filled, or one directory of it."""

    def __init__(self, *directories: str) -> None:
        self.disk = FailingDisk(MemoryDisk())
        self.directories = directories
        self.failed: list[str] = []
        self.manager = self.start()

    def start(self, partitions: int = 0) -> LogManager:
        manager = LogManager(self.disk, self.directories, BrokerConfig({}), Scheduler())
        manager.on_directory_failure = lambda path, _: self.failed.append(path)
        manager.open()
        topics = {"orders": HostedTopic(TOPIC_ID, range(partitions))} if partitions else {}
        manager.startup(1, "cluster", topics)
        return manager

    def fill(self, path: str = "*") -> None:
        self.disk.fail(WRITES, errno.ENOSPC, path=path, times=None)


def test_a_directory_stays_in_use_and_what_was_due_is_written_later(capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine("/data")
    log = machine.manager.get_or_create_log("orders", 0, TOPIC_ID)
    append_each(log, 3)
    log.advance_high_watermark(3)
    machine.fill()
    with pytest.raises(STORAGE_ERROR):
        log.append(batch())
    work: list[Callable[[], None]] = [
        machine.manager.checkpoints.write_high_watermarks,
        machine.manager.checkpoints.write_recovery_points,
        machine.manager.maintenance.flush_rolled,
        machine.manager.maintenance.apply_retention,
    ]
    for run in (*work, *work):
        run()
    assert machine.failed == []
    ((log_dir, _),) = machine.manager.logs_by_directory()
    assert log_dir.is_full
    said = capsys.readouterr().err
    assert said.count("The disk of log directory /data is full") == 1
    assert "free some space on its disk" in said
    # What the client is told of deleted records has to be true after a crash.
    log.increment_start_offset(2)
    assert machine.manager.save_start_offsets([("orders", 0)]) == {("orders", 0)}
    machine.disk.heal()
    assert machine.manager.save_start_offsets([("orders", 0)]) == set()
    for _ in range(2):
        append_each(log, 1)
        for run in work:
            run()
    ((log_dir, _),) = machine.manager.logs_by_directory()
    assert not log_dir.is_full
    assert b"orders 0 3" in machine.disk.read_file("/data/replication-offset-checkpoint")
    machine.manager.shutdown()
    assert machine.disk.exists("/data/.kafka_cleanshutdown")


def test_a_shutdown_without_room_is_not_a_clean_one() -> None:
    machine = Machine("/data")
    log = machine.manager.get_or_create_log("orders", 0, TOPIC_ID)
    append_each(log, 30)
    machine.fill()
    machine.manager.shutdown()
    assert not machine.disk.exists("/data/.kafka_cleanshutdown")
    del log
    machine.disk.heal()
    manager = machine.start(1)
    found = manager.get_or_create_log("orders", 0, TOPIC_ID)
    assert [offset for offset, _ in read_all(found)] == list(range(30))
    manager.shutdown()
    assert machine.disk.exists("/data/.kafka_cleanshutdown")


def test_a_new_log_goes_where_there_is_room() -> None:
    machine = Machine("/full", "/roomy")
    machine.fill("/full*")
    for partition in range(4):
        append_each(machine.manager.get_or_create_log("orders", partition, TOPIC_ID), 2)
    assert machine.failed == []
    assert [name for name in machine.disk.listdir("/full") if name.startswith("orders")] == []
    machine.fill("/roomy*")
    with pytest.raises(LogShortageError, match=r"/full, /roomy has no room|/roomy, /full has no room") as refused:
        machine.manager.get_or_create_log("orders", 4, TOPIC_ID)
    assert refused.value.code == STORAGE_ERROR.code
    machine.disk.heal()
    machine.manager.get_or_create_log("orders", 4, TOPIC_ID)
    machine.manager.shutdown()
    # No partition lies in two places, which the next start would refuse.
    manager = machine.start(5)
    assert all(len(read_all(manager.get_or_create_log("orders", partition, TOPIC_ID))) == 2 for partition in range(4))
    manager.shutdown()
