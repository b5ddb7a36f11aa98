"""The log manager: what a broker finds, makes, deletes, checkpoints and leaves behind, and what one bad disk does."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from typing_extensions import Buffer

from kcore import errors, uuid
from kcore.config.broker import BrokerConfig
from kcore.platform.memory_disk import MemoryDisk
from kcore.platform.real_disk import RealDisk
from kcore.record.encoder import encode_batch
from kcore.storage import log_checkpoints, log_deletion
from kcore.storage.checkpoints import CorruptFileError, parse_checkpoint
from kcore.storage.log_dir import LogDirLockedError
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_dirs import LogDirsError
from kcore.storage.log_manager import LogManager
from kcore.storage.managed_logs import ManagedLogs
from kcore.storage.meta_properties import parse_meta_properties
from kcore.storage.scheduler import ScheduledTask, Scheduler

ORDERS_ID = uuid.from_text("0Qftv9yBTAmf2iDPSlIk7g")
PAYMENTS_ID = uuid.from_text("8bCsVfjYQkiKYLTfAJvcaQ")
CLUSTER = "mvrzJFkYTLCpF0j0Wz4wWw"
BATCH = encode_batch([(b"key", b"value" * 20)], timestamp=1_000)


class ManualScheduler(Scheduler):
    """Runs tasks when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.tasks: list[tuple[ScheduledTask, int, int | None]] = []

    def schedule(
        self, name: str, run: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        task = ScheduledTask(name, run, delay_ms / 1000, None)
        self.tasks.append((task, delay_ms, period_ms))
        return task

    def run(self, name: str) -> int:
        """Runs the waiting tasks of a name once; how many there were."""
        due = [entry for entry in self.tasks if entry[0].name == name]
        for entry in due:
            if entry[2] is None:
                self.tasks.remove(entry)
            entry[0].run()
        return len(due)

    def timing(self, name: str) -> tuple[int, int | None]:
        return next((delay, period) for task, delay, period in self.tasks if task.name == name)


class Failing:
    """Fails everything that is written below some directories, before the disk behind it hears of it."""

    broken: set[str]
    synced: list[str]

    def _check(self, path: str) -> None:
        if any(path.startswith(directory) for directory in self.broken):
            raise OSError(errno.EIO, "Input/output error", path)

    def write_file_atomically(self, path: str, data: Buffer) -> None:
        self._check(path)
        self.synced.append(path)
        super().write_file_atomically(path, data)  # type: ignore[misc]

    def fsync_dir(self, path: str) -> None:
        self.synced.append(path)
        super().fsync_dir(path)  # type: ignore[misc]

    def mkdir(self, path: str, mode: int = 0o700) -> None:
        self._check(path)
        super().mkdir(path, mode)  # type: ignore[misc]

    def mkdirs(self, path: str, mode: int = 0o700) -> None:
        self._check(path)
        super().mkdirs(path, mode)  # type: ignore[misc]

    def rename(self, source: str, target: str) -> None:
        self._check(source)
        super().rename(source, target)  # type: ignore[misc]

    def entries(self, path: str) -> list[tuple[str, bool]]:
        self._check(path)
        return super().entries(path)  # type: ignore[misc, no-any-return]


class FailingRealDisk(Failing, RealDisk):
    def __init__(self) -> None:
        self.broken = set()
        self.synced = []


class FailingMemoryDisk(Failing, MemoryDisk):
    def __init__(self) -> None:
        super().__init__()
        self.broken = set()
        self.synced = []


class Machine:
    """Directories, their disk, and the manager that runs on them at the moment."""

    def __init__(self, root: str, disk: FailingRealDisk | FailingMemoryDisk) -> None:
        self.root = root
        self.disk = disk
        self.disk.mkdirs(root)
        self.manager: LogManager | None = None
        self.scheduler = ManualScheduler()
        self.failures: list[tuple[str, list[tuple[str, int]]]] = []
        self.halts = 0

    def path(self, *names: str) -> str:
        return "/".join((self.root, *names))

    def read(self, *names: str) -> bytes:
        return self.disk.read_file(self.path(*names))

    def write(self, content: bytes, *names: str) -> None:
        self.disk.mkdirs(self.path(*names[:-1]))
        self.disk.write_file_atomically(self.path(*names), content)

    def exists(self, *names: str) -> bool:
        return self.disk.exists(self.path(*names))

    def make(self, *names: str, properties: Mapping[str, str] | None = None) -> LogManager:
        """A new manager over directories of these names, not opened yet."""
        self.scheduler = ManualScheduler()
        config = BrokerConfig(properties or {})
        directories = [self.path(name) for name in names or ("a",)]
        self.manager = manager = LogManager(self.disk, directories, config, self.scheduler)
        manager.on_directory_failure = lambda path, partitions: self.failures.append((path, partitions))
        manager.on_all_directories_failed = self.halt
        return manager

    def halt(self) -> None:
        self.halts += 1

    def start(
        self,
        *names: str,
        topics: Mapping[str, HostedTopic] | None = None,
        deleted: tuple[bytes, ...] = (),
        properties: Mapping[str, str] | None = None,
    ) -> LogManager:
        manager = self.make(*names, properties=properties)
        manager.open()
        manager.startup(1, CLUSTER, topics or {}, deleted)
        return manager

    def crash(self) -> None:
        """What a kill -9 leaves: files as they are, and no locks."""
        assert self.manager is not None
        self.manager._log_dirs.close()
        self.manager = None

    def checkpoint(self, *names: str) -> dict[tuple[str, int], int]:
        return parse_checkpoint(self.path(*names), self.read(*names))

    def directories(self, name: str = "a") -> list[str]:
        return [entry for entry, is_directory in self.disk.entries(self.path(name)) if is_directory]

    def deleted_files(self) -> list[str]:
        return [name for name in self.disk.listdir(self.path("a", "orders-0")) if name.endswith(".deleted")]

    def break_directory(self, name: str) -> None:
        self.disk.broken.add(self.path(name))


@pytest.fixture(params=["real", "memory"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    if request.param == "real":
        machine = Machine(str(tmp_path), FailingRealDisk())
    else:
        machine = Machine("/data", FailingMemoryDisk())
    yield machine
    if machine.manager is not None:
        machine.manager.shutdown()


def orders(*partitions: int, **overrides: str) -> dict[str, HostedTopic]:
    renamed = {name.replace("_", "."): value for name, value in overrides.items()}
    return {"orders": HostedTopic(ORDERS_ID, partitions or (0,), renamed)}


class TestIdentity:
    def test_new_directories_become_the_brokers(self, machine: Machine) -> None:
        manager = machine.make("a", "b")
        assert manager.open() is None
        manager.startup(1, CLUSTER, {})
        metas = [parse_meta_properties("meta.properties", machine.read(name, "meta.properties")) for name in ("a", "b")]
        assert [(meta.version, meta.cluster_id, meta.node_id) for meta in metas] == [(1, CLUSTER, 1)] * 2
        assert metas[0].directory_id != metas[1].directory_id

    def test_a_known_directory_says_whose_it_is(self, machine: Machine) -> None:
        machine.start().shutdown()
        meta = machine.make("a", "b").open()
        assert meta is not None
        assert (meta.cluster_id, meta.node_id) == (CLUSTER, 1)

    def test_a_directory_of_another_broker_is_refused(self, machine: Machine) -> None:
        machine.start().shutdown()
        manager = machine.make()
        manager.open()
        with pytest.raises(LogDirsError, match=rf"a belongs to broker 1 of cluster {CLUSTER}, and this is broker 2"):
            manager.startup(2, CLUSTER, {})

    def test_directories_of_two_clusters_are_refused(self, machine: Machine) -> None:
        machine.start("a").shutdown()
        machine.write(b"version=1\ncluster.id=other\nnode.id=1\n", "b", "meta.properties")
        with pytest.raises(LogDirsError, match=r"cluster\.id .* must name directories of one broker"):
            machine.make("a", "b").open()

    def test_a_copied_directory_is_refused(self, machine: Machine) -> None:
        machine.start("a").shutdown()
        machine.write(machine.read("a", "meta.properties"), "b", "meta.properties")
        with pytest.raises(LogDirsError, match=r"the same directory\.id"):
            machine.make("a", "b").open()

    def test_a_damaged_meta_properties_stops_the_start_and_keeps_nothing_locked(self, machine: Machine) -> None:
        machine.write(b"version=9\n", "a", "meta.properties")
        with pytest.raises(CorruptFileError, match=r"meta\.properties, line 1"):
            machine.make().open()
        machine.disk.unlink(machine.path("a", "meta.properties"))
        machine.start()

    def test_a_directory_is_used_by_one_broker_at_a_time(self, machine: Machine) -> None:
        first = machine.start()
        with pytest.raises(LogDirLockedError, match=r"\.lock in .*a\. .*log\.dirs of its own"):
            machine.make().open()
        first.shutdown()
        machine.start()

    def test_no_usable_directory_is_an_error_that_names_each(self, machine: Machine) -> None:
        machine.write(b"a file", "a")
        with pytest.raises(LogDirsError, match=r"None of the log directories can be used \(.*a: "):
            machine.make().open()


class TestLogs:
    def test_a_new_log_has_the_topics_id_and_configuration(self, machine: Machine) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID, {"segment.bytes": "200"})
        assert manager.get_log("orders", 0) is log is manager.get_or_create_log("orders", 0, ORDERS_ID)
        assert machine.read("a", "orders-0", "partition.metadata").decode().endswith(uuid.to_text(ORDERS_ID))
        log.append(BATCH)
        log.append(BATCH)
        assert len(log.segments) == 2
        with pytest.raises(errors.InconsistentTopicIdError):
            manager.get_or_create_log("orders", 0, PAYMENTS_ID)

    def test_making_logs_syncs_nothing(self, machine: Machine) -> None:
        """Ten thousand of them are made at once: what is durable at that time is the topic, not its directories."""
        manager = machine.start()
        machine.disk.synced.clear()
        for partition in range(20):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        assert machine.disk.synced == []
        assert len(machine.directories()) == 20

    def test_a_topic_made_anew_has_its_new_configuration(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID, {"segment.bytes": "200"})
        manager.delete_logs([("orders", 0)])
        log = manager.get_or_create_log("orders", 0, PAYMENTS_ID, {})
        log.append(BATCH)
        log.append(BATCH)
        assert len(log.segments) == 1

    def test_new_logs_go_where_the_fewest_are(self, machine: Machine) -> None:
        manager = machine.start("a", "b", "c")
        for partition in range(7):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        assert sorted(len(machine.directories(name)) for name in "abc") == [2, 2, 3]

    def test_records_survive_a_clean_restart(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        for partition in (0, 1):
            manager.get_or_create_log("orders", partition, ORDERS_ID).append(BATCH)
        manager.shutdown(broker_epoch=5)
        assert machine.read("a", ".kafka_cleanshutdown") == b'{"version":0,"brokerEpoch":5}'
        manager = machine.start("a", "b", topics=orders(0, 1))
        assert not machine.exists("a", ".kafka_cleanshutdown"), "a crash from now on is one"
        for partition in (0, 1):
            log = manager.get_log("orders", partition)
            assert log is not None
            assert (log.end_offset, log.recovery_point) == (1, 1)

    def test_records_survive_a_crash(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.crash()
        assert not machine.exists("a", ".kafka_cleanshutdown")
        log = machine.start(topics=orders()).get_log("orders", 0)
        assert log is not None
        assert log.end_offset == 1

    @pytest.mark.parametrize("threads", ["1", "4"])
    def test_many_logs_are_recovered_by_any_number_of_threads(self, machine: Machine, threads: str) -> None:
        manager = machine.start("a", "b")
        for partition in range(20):
            log = manager.get_or_create_log("orders", partition, ORDERS_ID)
            for _ in range(partition):
                log.append(BATCH)
        machine.crash()
        properties = {"num.recovery.threads.per.data.dir": threads}
        manager = machine.start("a", "b", topics=orders(*range(20)), properties=properties)
        ends = {partition: log.end_offset for (_, partition), log in manager.all_logs().items()}
        assert ends == {partition: partition for partition in range(20)}

    def test_a_new_configuration_reaches_open_logs(self, machine: Machine) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        manager.update_topic_configs({"orders": {"segment.bytes": "200"}})
        for _ in range(3):
            log.append(BATCH)
        assert len(log.segments) == 3

    def test_new_configurations_of_several_topics_reach_the_logs_of_each(self, machine: Machine) -> None:
        manager = machine.start()
        small = manager.get_or_create_log("small", 0, b"s" * 16)
        large = manager.get_or_create_log("large", 0, b"l" * 16)
        other = manager.get_or_create_log("other", 0, b"o" * 16, {"segment.bytes": "200"})
        manager.update_topic_configs({"small": {"segment.bytes": "200"}, "large": {}, "absent": {}})
        for log in (small, large, other):
            for _ in range(3):
                log.append(BATCH)
        assert [len(log.segments) for log in (small, large, other)] == [3, 1, 3]

    def test_a_partition_in_two_directories_is_refused(self, machine: Machine) -> None:
        for directory in ("a", "b"):
            machine.start(directory).get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
            machine.crash()
        manager = machine.make("a", "b")
        manager.open()
        with pytest.raises(
            LogDirsError, match=r"Partition orders-0 is in two log directories, .*a and .*b. Move one of them away"
        ):
            manager.startup(1, CLUSTER, orders())

    @pytest.mark.parametrize("used", ["a", "b", None])
    def test_an_empty_log_in_a_second_directory_goes(self, machine: Machine, used: str | None) -> None:
        """A directory that failed while the log was made there, and is whole again."""
        for directory in ("a", "b"):
            log = machine.start(directory).get_or_create_log("orders", 0, ORDERS_ID)
            if directory == used:
                log.append(BATCH)
            machine.crash()
        manager = machine.start("a", "b", topics=orders())
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        assert log.end_offset == (0 if used is None else 1)
        assert manager.offline_directories() == []
        kept = "b" if used == "b" else "a"
        assert [name for name in ("a", "b") if "orders-0" in machine.directories(name)] == [kept]

    def test_a_start_that_failed_leaves_no_mark_of_a_clean_shutdown(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        manager.get_or_create_log("payments", 0, PAYMENTS_ID)
        machine.scheduler.run("high-watermark-checkpoint")
        machine.crash()
        before = machine.read("a", "replication-offset-checkpoint")
        damaged = ("a", "payments-0", "partition.metadata")
        content = machine.read(*damaged)
        machine.write(b"damaged", *damaged)
        topics = {**orders(), "payments": HostedTopic(PAYMENTS_ID, [0])}
        manager = machine.make()
        manager.open()
        with pytest.raises(CorruptFileError):
            manager.startup(1, CLUSTER, topics)
        manager.shutdown()
        assert not machine.exists("a", ".kafka_cleanshutdown")
        assert machine.read("a", "replication-offset-checkpoint") == before
        machine.write(content, *damaged)
        assert len(machine.start(topics=topics).all_logs()) == 2

    def test_a_second_shutdown_writes_nothing(self, machine: Machine) -> None:
        first = machine.start()
        first.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        first.shutdown()
        checkpoint = machine.read("a", "recovery-point-offset-checkpoint")
        machine.start(topics=orders())
        first.shutdown()
        assert not machine.exists("a", ".kafka_cleanshutdown")
        assert machine.read("a", "recovery-point-offset-checkpoint") == checkpoint

    def test_what_a_crash_left_is_on_the_device_before_it_is_served(self, machine: Machine) -> None:
        """With group commit acknowledged records are those on the device, of which the checkpoint may know too few."""
        machine.start(topics=orders()).get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.crash()
        manager = machine.start(topics=orders(), properties={"log.flush.group.commit": "true"})
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        assert (log.recovery_point, log.end_offset) == (1, 1)


class TestFoundDirectories:
    def test_a_topic_that_is_not_in_the_metadata_is_set_aside_and_kept(
        self, machine: Machine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        machine.start().get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.crash()
        content = machine.read("a", "orders-0", "00000000000000000000.log")
        manager = machine.start()
        (stray,) = machine.directories()
        assert re.fullmatch(r"orders-0\.[0-9a-f]{32}-stray", stray)
        assert manager.get_log("orders", 0) is None
        assert stray in capsys.readouterr().err
        manager.shutdown()
        machine.start()
        assert machine.directories() == [stray], "nothing deletes it, at no start"
        assert machine.read("a", stray, "00000000000000000000.log") == content
        assert stray in capsys.readouterr().err

    @pytest.mark.parametrize(
        "topics",
        [{"orders": HostedTopic(PAYMENTS_ID, [0])}, {"orders": HostedTopic(ORDERS_ID, [1])}],
        ids=["another topic of the name", "another partition"],
    )
    def test_what_the_metadata_does_not_know_is_not_opened(
        self, machine: Machine, topics: dict[str, HostedTopic]
    ) -> None:
        machine.start().get_or_create_log("orders", 0, ORDERS_ID)
        machine.crash()
        manager = machine.start(topics=topics)
        assert manager.all_logs() == {}
        assert machine.directories()[0].endswith("-stray")

    def test_a_deletion_that_a_crash_cut_short_is_finished(self, machine: Machine) -> None:
        machine.start().get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.crash()
        machine.start(deleted=(ORDERS_ID,))
        assert re.fullmatch(r"orders-0\.[0-9a-f]{32}-delete", machine.directories()[0])
        assert machine.scheduler.run("kafka-delete-logs") == 1
        assert machine.directories() == []

    def test_directories_without_an_id_belong_to_the_topic_of_their_name(self, machine: Machine) -> None:
        machine.start().get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.crash()
        content = machine.read("a", "orders-0", "partition.metadata")
        machine.disk.unlink(machine.path("a", "orders-0", "partition.metadata"))
        log = machine.start(topics=orders()).get_log("orders", 0)
        assert log is not None
        assert log.end_offset == 1
        assert machine.read("a", "orders-0", "partition.metadata") == content

    @pytest.mark.parametrize("kept", [0, 1, 11, 40])
    @pytest.mark.parametrize("fill", [b"", bytes(46)])
    def test_one_whose_making_was_cut_short_too(self, machine: Machine, kept: int, fill: bytes) -> None:
        """Before its log's first flush nobody syncs the file: a loss of power may leave its beginning."""
        machine.start().get_or_create_log("orders", 0, ORDERS_ID)
        machine.crash()
        content = machine.read("a", "orders-0", "partition.metadata")
        machine.write(content[:kept] + fill, "a", "orders-0", "partition.metadata")
        log = machine.start(topics=orders()).get_log("orders", 0)
        assert log is not None
        assert machine.read("a", "orders-0", "partition.metadata") == content

    def test_a_damaged_partition_metadata_stops_the_start(self, machine: Machine) -> None:
        machine.start().get_or_create_log("orders", 0, ORDERS_ID)
        machine.crash()
        machine.write(b"version: 0\ntopic_id: nonsense", "a", "orders-0", "partition.metadata")
        manager = machine.make()
        manager.open()
        with pytest.raises(CorruptFileError, match=r"orders-0/partition\.metadata, line 2"):
            manager.startup(1, CLUSTER, orders())

    def test_other_directories_are_named_and_left_alone(
        self, machine: Machine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        names = ["lost+found", "notes", "orders-0.0123456789abcdef0123456789abcdef-future"]
        for name in names:
            machine.disk.mkdirs(machine.path("a", name))
        machine.write(b"a file", "a", "__cluster_metadata.sqlite")
        machine.start()
        assert machine.directories() == sorted(names)
        error = capsys.readouterr().err
        assert all(name in error for name in names)
        assert "__cluster_metadata.sqlite" not in error

    def test_a_damaged_checkpoint_is_named_and_rebuilt(
        self, machine: Machine, capsys: pytest.CaptureFixture[str]
    ) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        manager.shutdown()
        machine.write(b"0\n1\norders zero 1\n", "a", "recovery-point-offset-checkpoint")
        log = machine.start(topics=orders()).get_log("orders", 0)
        assert log is not None
        assert log.end_offset == 1
        assert (
            "recovery-point-offset-checkpoint is damaged (line 3: 'zero' is not the partition"
            in capsys.readouterr().err
        )
        machine.scheduler.run("recovery-point-checkpoint")
        assert machine.checkpoint("a", "recovery-point-offset-checkpoint") == {("orders", 0): 1}


class TestDeletion:
    def test_a_deleted_log_is_renamed_at_once_and_removed_later(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID, {"file.delete.delay.ms": "1234"}).append(BATCH)
        manager.delete_logs([("orders", 0)])
        assert manager.get_log("orders", 0) is None
        (name,) = machine.directories()
        assert re.fullmatch(r"orders-0\.[0-9a-f]{32}-delete", name)
        assert machine.scheduler.timing("kafka-delete-logs") == (1234, None)
        machine.scheduler.run("kafka-delete-logs")
        assert machine.directories() == []
        manager.delete_logs([("orders", 0)])

    def test_a_log_made_anew_inherits_nothing(self, machine: Machine) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        for _ in range(3):
            log.append(BATCH)
        log.flush()
        machine.scheduler.run("recovery-point-checkpoint")
        assert machine.checkpoint("a", "recovery-point-offset-checkpoint") == {("orders", 0): 3}
        machine.scheduler.run("high-watermark-checkpoint")
        manager.delete_logs([("orders", 0)])
        log = manager.get_or_create_log("orders", 0, PAYMENTS_ID)
        assert (log.start_offset, log.end_offset, log.recovery_point) == (0, 0, 0)
        for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
            assert machine.checkpoint("a", name) == {}
        machine.scheduler.run("kafka-delete-logs")
        assert machine.directories() == ["orders-0"]
        machine.crash()
        manager = machine.start(topics={"orders": HostedTopic(PAYMENTS_ID, (0,))}, deleted=(ORDERS_ID,))
        log = manager.get_log("orders", 0)
        assert log is not None
        assert (log.start_offset, log.end_offset, manager.checkpointed_high_watermark("orders", 0)) == (0, 0, 0)

    def test_a_start_ignores_the_offsets_of_a_log_that_was_deleted_before_a_crash(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.scheduler.run("high-watermark-checkpoint")
        manager.delete_logs([("orders", 0)])
        machine.crash()
        manager = machine.start(topics={"orders": HostedTopic(PAYMENTS_ID, (0,))}, deleted=(ORDERS_ID,))
        assert machine.checkpoint("a", "replication-offset-checkpoint") == {}
        log = manager.get_or_create_log("orders", 0, PAYMENTS_ID)
        assert (log.end_offset, manager.checkpointed_high_watermark("orders", 0)) == (0, 0)

    def test_deletions_cost_one_sync_whatever_else_there_is(self, machine: Machine) -> None:
        """Each deletion wrote three checkpoints of all logs, and 250 of 4,000 topics took ten seconds."""
        manager = machine.start("a", "b")
        for partition in range(40):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        machine.scheduler.run("high-watermark-checkpoint")
        machine.disk.synced.clear()
        manager.delete_logs([("orders", partition) for partition in range(20)])
        assert sorted(machine.disk.synced) == [machine.path("a"), machine.path("b")]
        machine.scheduler.run("high-watermark-checkpoint")
        written = [machine.checkpoint(name, "replication-offset-checkpoint") for name in ("a", "b")]
        assert sorted(key for offsets in written for key in offsets) == [("orders", index) for index in range(20, 40)]

    def test_logs_of_deleted_names_are_made_after_one_write_of_the_checkpoints(self, machine: Machine) -> None:
        manager = machine.start()
        for partition in range(10):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        manager.checkpoints.write_recovery_points()
        manager.checkpoints.write_high_watermarks()
        manager.delete_logs([("orders", partition) for partition in range(10)])
        machine.disk.synced.clear()
        for partition in range(10):
            manager.get_or_create_log("orders", partition, PAYMENTS_ID)
        assert sorted(path.rpartition("/")[2] for path in machine.disk.synced if path.endswith("checkpoint")) == [
            "recovery-point-offset-checkpoint",
            "replication-offset-checkpoint",
        ]

    def test_a_name_that_no_checkpoint_has_seen_costs_none(self, machine: Machine) -> None:
        """A topic that is created and deleted over and over again does not write the offsets of all others."""
        manager = machine.start()
        manager.checkpoints.write_high_watermarks()
        machine.disk.synced.clear()
        for _ in range(5):
            manager.get_or_create_log("orders", 0, ORDERS_ID)
            manager.delete_logs([("orders", 0)])
        assert machine.disk.synced == [machine.path("a")] * 5

    def test_names_of_deleted_logs_are_remembered_within_a_bound(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_checkpoints, "MAX_DELETED_NAMED", 5)
        manager = machine.start()
        (log_dir,) = manager._log_dirs.online()
        for number in range(20):
            manager.get_or_create_log(f"topic-{number}", 0, ORDERS_ID)
            manager.checkpoints.write_high_watermarks()
            manager.delete_logs([(f"topic-{number}", 0)])
            assert all(len(names) <= 5 for names in log_dir.deleted.values())

    def test_a_checkpoint_that_cannot_be_written_keeps_a_log_of_a_deleted_name_from_the_directory(
        self, machine: Machine
    ) -> None:
        manager = machine.start("a", "b")
        manager.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        machine.scheduler.run("high-watermark-checkpoint")
        manager.delete_logs([("orders", 0)])
        machine.break_directory("a")
        manager.get_or_create_log("orders", 0, PAYMENTS_ID, is_new=True)
        assert machine.exists("b", "orders-0")
        machine.scheduler.run("log-dir-failure")
        assert [path for path, _ in machine.failures] == [machine.path("a")]

    def test_many_directories_are_removed_a_few_at_a_time(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_deletion, "MAX_REMOVED_TOGETHER", 3)
        manager = machine.start()
        for partition in range(7):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        manager.delete_logs([("orders", partition) for partition in range(7)])
        for left in (4, 1, 0):
            machine.scheduler.run("kafka-delete-logs")
            assert len(machine.directories()) == left

    def test_offsets_of_partitions_that_are_gone_leave_the_checkpoints_at_the_start(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID).append(BATCH)
        manager.get_or_create_log("payments", 0, PAYMENTS_ID).append(BATCH)
        manager.shutdown()
        machine.start(topics=orders())
        assert machine.checkpoint("a", "recovery-point-offset-checkpoint") == {("orders", 0): 1}

    def test_a_removal_that_was_pending_is_taken_up_after_a_restart(self, machine: Machine) -> None:
        manager = machine.start()
        manager.get_or_create_log("orders", 0, ORDERS_ID)
        manager.delete_logs([("orders", 0)])
        manager.shutdown()
        machine.start()
        machine.scheduler.run("kafka-delete-logs")
        assert machine.directories() == []

    def test_work_that_comes_too_late_for_a_deleted_log_harms_nobody(
        self, machine: Machine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID, {"flush.ms": "0"})
        other = manager.get_or_create_log("payments", 0, PAYMENTS_ID)
        log.append(BATCH)
        late = manager._logs.values()
        manager.delete_logs([("orders", 0)])
        monkeypatch.setattr(ManagedLogs, "values", lambda self: late)
        for name in ("kafka-log-flusher", "flush-rolled-segments", "kafka-log-retention"):
            machine.scheduler.run(name)
        monkeypatch.undo()
        machine.scheduler.run("log-dir-failure")
        assert machine.failures == []
        other.append(BATCH)


class TestBackgroundWork:
    def test_kafkas_schedule(self, machine: Machine) -> None:
        machine.start()
        assert machine.scheduler.timing("kafka-log-retention") == (30_000, 300_000)
        assert machine.scheduler.timing("kafka-log-flusher") == (30_000, 2**63 - 1)
        assert machine.scheduler.timing("recovery-point-checkpoint") == (30_000, 60_000)
        assert machine.scheduler.timing("start-offset-checkpoint") == (30_000, 60_000)
        assert machine.scheduler.timing("producer-expiration") == (0, 600_000)
        assert machine.scheduler.timing("high-watermark-checkpoint") == (0, 5_000)

    def test_checkpoints_say_what_the_logs_say(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        for partition in range(4):
            log = manager.get_or_create_log("orders", partition, ORDERS_ID)
            for _ in range(partition):
                log.append(BATCH)
            log.flush()
        machine.scheduler.run("recovery-point-checkpoint")
        recovery_points: dict[tuple[str, int], int] = {}
        for name in ("a", "b"):
            found = machine.checkpoint(name, "recovery-point-offset-checkpoint")
            assert len(found) == 2
            recovery_points.update(found)
        assert recovery_points == {("orders", partition): partition for partition in range(4)}

    def test_the_high_watermark_of_each_log_is_written(self, machine: Machine) -> None:
        manager = machine.start()
        for partition in (0, 1):
            manager.get_or_create_log("orders", partition, ORDERS_ID).append(BATCH)
        manager.all_logs()["orders", 0].advance_high_watermark(1)
        machine.scheduler.run("high-watermark-checkpoint")
        assert machine.checkpoint("a", "replication-offset-checkpoint") == {("orders", 0): 1, ("orders", 1): 0}

    def test_a_partition_nobody_leads_keeps_its_checkpointed_high_watermark(self, machine: Machine) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        log.append(BATCH)
        log.advance_high_watermark(1)
        manager.shutdown()
        manager = machine.start(topics=orders())
        assert manager.checkpointed_high_watermark("orders", 0) == 1
        machine.scheduler.run("high-watermark-checkpoint")
        assert machine.checkpoint("a", "replication-offset-checkpoint") == {("orders", 0): 1}

    def test_a_log_start_within_a_segment_is_kept(self, machine: Machine) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        for _ in range(3):
            log.append(BATCH)
        log.advance_high_watermark(3)
        log.increment_start_offset(2)
        machine.scheduler.run("start-offset-checkpoint")
        assert machine.checkpoint("a", "log-start-offset-checkpoint") == {("orders", 0): 2}
        machine.crash()
        found = machine.start(topics=orders()).get_log("orders", 0)
        assert found is not None
        assert found.start_offset == 2

    def test_a_log_start_is_on_disk_when_it_was_asked_for(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        for name in ("orders", "payments"):
            log = manager.get_or_create_log(name, 0, ORDERS_ID if name == "orders" else PAYMENTS_ID)
            for _ in range(4):
                log.append(BATCH)
            log.advance_high_watermark(4)
            log.increment_start_offset(3)
        manager.save_start_offsets([("orders", 0), ("gone", 7)])
        (path,) = [log_dir.path for log_dir, logs in manager.logs_by_directory() if ("orders", 0) in logs]
        written = machine.checkpoint(path.rpartition("/")[2], "log-start-offset-checkpoint")
        assert written == {("orders", 0): 3}
        machine.disk.broken.add(path)
        manager.save_start_offsets([("orders", 0), ("payments", 0)])
        assert (manager.is_offline("orders", 0), manager.is_offline("payments", 0)) == (True, False)

    def test_retention_removes_segments_and_later_their_files(self, machine: Machine) -> None:
        manager = machine.start()
        overrides = {"segment.bytes": "200", "retention.bytes": "200", "file.delete.delay.ms": "0"}
        log = manager.get_or_create_log("orders", 0, ORDERS_ID, overrides)
        for _ in range(4):
            log.append(BATCH)
        log.advance_high_watermark(4)
        machine.scheduler.run("kafka-log-retention")
        assert log.start_offset > 0
        assert machine.deleted_files()
        assert machine.scheduler.run("delete-file") == 1
        assert not machine.deleted_files()

    def test_a_log_is_flushed_when_its_topic_says_so(self, machine: Machine) -> None:
        manager = machine.start()
        due = manager.get_or_create_log("orders", 0, ORDERS_ID, {"flush.ms": "0"})
        never = manager.get_or_create_log("payments", 0, PAYMENTS_ID)
        for log in (due, never):
            log.append(BATCH)
        machine.scheduler.run("kafka-log-flusher")
        assert (due.recovery_point, never.recovery_point) == (1, 0)

    def test_silent_producers_are_forgotten(self, machine: Machine) -> None:
        manager = machine.start(properties={"producer.id.expiration.ms": "1"})
        log = manager.get_or_create_log("orders", 0, ORDERS_ID)
        long_ago = encode_batch([(b"key", b"value")], timestamp=1, producer_id=7, producer_epoch=0, base_sequence=0)
        log.append(long_ago)
        assert [producer["producer_id"] for producer in log.producer_state.active_producers()] == [7]
        machine.scheduler.run("producer-expiration")
        assert log.producer_state.active_producers() == []

    def test_finished_segments_are_brought_to_the_device(self, machine: Machine) -> None:
        manager = machine.start()
        log = manager.get_or_create_log("orders", 0, ORDERS_ID, {"segment.bytes": "200"})
        for _ in range(3):
            log.append(BATCH)
        machine.scheduler.run("flush-rolled-segments")
        assert log.recovery_point == 2


class TestFailures:
    def test_one_bad_directory_goes_offline_and_the_other_goes_on(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        for partition in range(4):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        in_a = [int(name.rpartition("-")[2]) for name in machine.directories("a")]
        lost = manager.get_log("orders", in_a[0])
        assert lost is not None
        machine.break_directory("a")
        machine.scheduler.run("high-watermark-checkpoint")
        assert machine.failures == [(machine.path("a"), [("orders", partition) for partition in in_a])]
        assert machine.halts == 0
        with pytest.raises(errors.KafkaStorageError):
            lost.append(BATCH)
        assert manager.offline_directories() == [machine.path("a")]
        for partition in range(4):
            assert manager.is_offline("orders", partition) is (partition in in_a)
            assert (manager.get_log("orders", partition) is None) is (partition in in_a)
        with pytest.raises(errors.KafkaStorageError):
            manager.get_or_create_log("orders", in_a[0], ORDERS_ID)
        with pytest.raises(errors.KafkaStorageError, match="are offline"):
            manager.get_or_create_log("payments", 0, PAYMENTS_ID)
        manager.get_or_create_log("payments", 0, PAYMENTS_ID, is_new=True)
        machine.scheduler.run("high-watermark-checkpoint")
        assert len(machine.failures) == 1, "told once"

        manager.shutdown()
        assert not machine.exists("a", ".kafka_cleanshutdown")
        assert machine.exists("b", ".kafka_cleanshutdown")

    def test_a_log_that_cannot_be_made_in_one_directory_is_made_in_another(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        machine.break_directory("a")
        manager.get_or_create_log("orders", 0, ORDERS_ID, is_new=True)
        assert machine.directories("b") == ["orders-0"]
        # Whoever asked for the log may hold any lock; the failure is told from elsewhere.
        assert machine.failures == []
        machine.scheduler.run("log-dir-failure")
        assert machine.failures == [(machine.path("a"), [])]

    def test_without_any_directory_the_broker_has_to_stop(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        manager.get_or_create_log("orders", 0, ORDERS_ID)
        machine.disk.broken.update((machine.path("a"), machine.path("b")))
        machine.scheduler.run("high-watermark-checkpoint")
        assert len(machine.failures) == 2
        assert machine.halts == 1
        with pytest.raises(errors.KafkaStorageError):
            manager.get_or_create_log("payments", 0, PAYMENTS_ID, is_new=True)

    def test_a_bad_directory_is_left_out_at_the_start(self, machine: Machine) -> None:
        machine.write(b"a file", "a")
        manager = machine.start("a", "b")
        assert manager.offline_directories() == [machine.path("a")]
        manager.get_or_create_log("orders", 0, ORDERS_ID, is_new=True)

    def test_a_directory_that_fails_while_logs_are_loaded_does_not_stop_the_start(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        for partition in range(2):
            manager.get_or_create_log("orders", partition, ORDERS_ID)
        manager.shutdown()
        kept = [int(name.rpartition("-")[2]) for name in machine.directories("b")]
        manager = machine.make("a", "b")
        manager.open()
        machine.break_directory("a")
        manager.startup(1, CLUSTER, orders(0, 1))
        assert [partition for _, partition in manager.all_logs()] == kept

    def test_a_failed_removal_takes_the_directory_offline(self, machine: Machine) -> None:
        manager = machine.start("a", "b")
        manager.get_or_create_log("orders", 0, ORDERS_ID)
        broken = "a" if machine.directories("a") else "b"
        machine.break_directory(broken)
        manager.delete_logs([("orders", 0)])
        assert [path for path, _ in machine.failures] == [machine.path(broken)]
