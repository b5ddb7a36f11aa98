"""A crash at any step of an import: the same command given again finishes or says what to do, and no record is lost.

The log taken over has a gap between two segments, as compaction leaves, and records deleted from its start; the broker
that wrote it was killed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kcore import uuid
from kcore.config.broker import BrokerConfig
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.server.partition_import import ImportRefused, PartitionImport
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_dirs import LogDirsError
from kcore.storage.log_manager import LogManager
from kcore.storage.partition_metadata import FILE_NAME as METADATA_FILE
from kcore.storage.partition_metadata import content_of
from kcore.storage.scheduler import Scheduler
from tests.unit.storage.log_place import batch, read_all

ORDERS_ID = uuid.from_text("0Qftv9yBTAmf2iDPSlIk7g")
SOURCES = ("/kafka/orders-0", "/kafka/orders-1")
# What can be read: records before offset 1 of the first partition were deleted.
EXPECTED = [[1, 2, 10, 11, 12], [0, 1, 2]]
MAX_CHANGES = 200


def segment(base_offset: int) -> bytes:
    """Three records from an offset on; the checksum does not cover a batch's base offset."""
    return struct.pack(">q", base_offset) + batch(3)[8:]


class Machine:
    """A machine on which Apache Kafka was killed, and a broker of ours stands beside it."""

    def __init__(self, seed: int = 1) -> None:
        self.memory = MemoryDisk(volatile_cache=True)
        self.disk = FailingDisk(self.memory, seed)
        self.metadata = MemoryMetadata()
        self.config = BrokerConfig({"log.dirs": "/data"})
        for directory, offsets in zip(SOURCES, ((0, 10), (0,)), strict=True):
            self.disk.mkdirs(directory)
            self.disk.write_file_atomically(f"{directory}/{METADATA_FILE}", content_of(ORDERS_ID))
            for offset in offsets:
                self.disk.write_file_atomically(f"{directory}/{offset:020d}.log", segment(offset))
        self.disk.write_file_atomically("/kafka/log-start-offset-checkpoint", b"0\n1\norders 0 1\n")
        for directory in (*SOURCES, "/kafka"):
            self.disk.fsync_dir(directory)
        self.disk.fsync_dir("/")

    def run_import(self, moves: bool, store: MemoryMetadataStore | None = None) -> None:
        importing = PartitionImport(self.disk, self.config, store or MemoryMetadataStore(self.metadata))
        importing.open()
        try:
            importing.carry_out(importing.plan(SOURCES, moves=moves), {})
        finally:
            importing.close()

    def crash(self, by_power: bool, seed: int) -> None:
        self.disk.crash()
        if by_power:
            self.memory.restore_power(seed)
        self.disk.heal()

    @contextmanager
    def broker(self) -> Iterator[LogManager]:
        """The logs, as a broker's start finds them; it ends by kill -9."""
        state = self.metadata.state
        assert state is not None
        topics = {
            name: HostedTopic(topic.topic_id, range(len(topic.partitions)))
            for name, topic in state.image.topics.items()
        }
        manager = LogManager(self.disk, ["/data"], self.config, Scheduler())
        manager.open()
        manager.startup(1, state.image.cluster_id, topics)
        yield manager
        self.disk.crash()
        manager.shutdown()
        self.disk.heal()

    def read(self) -> list[list[int]]:
        with self.broker() as manager:
            return [[offset for offset, _ in read_all(manager.all_logs()["orders", index])] for index in range(2)]


def crashed_import(change: int, moves: bool, by_power: bool) -> Machine | None:
    """A machine that stopped at the so-manieth change of its disk; None where the import needs fewer."""
    machine = Machine(seed=change)
    machine.disk.crash_at(change)
    try:
        machine.run_import(moves)
    except (OSError, LogDirsError):
        assert machine.disk.has_crashed
    if not machine.disk.has_crashed:
        return None
    machine.crash(by_power, seed=change)
    return machine


def finish(machine: Machine, moves: bool) -> None:
    """Gives the command again, and does what a refusal says."""
    for _ in SOURCES:
        try:
            machine.run_import(moves)
            return
        except ImportRefused as refused:
            told = str(refused)
            assert not moves, told
            in_the_way = told.split()[3]
            assert f"{in_the_way} already exists, but does not belong to a topic" in told
            machine.disk.rename(in_the_way, f"{in_the_way}.away")
    machine.run_import(moves)


@pytest.mark.parametrize("by_power", [False, True], ids=["kill", "power"])
@pytest.mark.parametrize("moves", [False, True], ids=["copy", "move"])
def test_a_crash_at_any_change_of_the_disk(moves: bool, by_power: bool) -> None:
    for change in range(1, MAX_CHANGES):
        machine = crashed_import(change, moves, by_power)
        if machine is None:
            assert change > 10
            return
        if machine.metadata.state is None or not machine.metadata.state.image.topics:
            finish(machine, moves)
        # Of each broker's life nothing is said at its end.
        for _ in range(2):
            assert machine.read() == EXPECTED, f"after a crash at change {change}"
        assert [name for name in machine.disk.listdir("/data") if name.endswith("-import")] == []
    raise AssertionError("the import does not end")


def test_a_broker_killed_before_its_first_checkpoint_keeps_what_follows_a_gap() -> None:
    machine = Machine()
    machine.run_import(moves=False)
    for _ in range(3):
        assert machine.read() == EXPECTED
    assert [name for name in machine.disk.listdir("/data/orders-0") if name.endswith(".corrupt")] == []


def test_a_copy_that_lies_there_is_taken_over_where_it_is() -> None:
    machine = Machine()
    machine.run_import(moves=True)
    machine.metadata.state = None
    # Nothing is known of it any more; its directories are whole, and the checkpoints know them.
    importing = PartitionImport(machine.disk, machine.config, MemoryMetadataStore(machine.metadata))
    importing.open()
    try:
        with pytest.raises(ImportRefused, match=r"/kafka/orders-0 does not exist, but /data/orders-0 does"):
            importing.plan(SOURCES)
        importing.carry_out(importing.plan(["/data/orders-0", "/data/orders-1"]), {})
    finally:
        importing.close()
    assert machine.read() == EXPECTED


def test_what_was_registered_already_is_refused_by_name() -> None:
    machine = Machine()
    machine.run_import(moves=True)
    with pytest.raises(ImportRefused, match=r"partition 0 of topic orders is already in /data/orders-0"):
        machine.run_import(moves=True)
    machine = Machine()
    machine.run_import(moves=False)
    with pytest.raises(ImportRefused, match=r"already exists. If an earlier import created it, omit this directory"):
        machine.run_import(moves=False)
