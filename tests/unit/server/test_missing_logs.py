"""Partitions whose logs cannot be made for want of room or of descriptors: they come when there are some."""

from __future__ import annotations

import errno
from collections.abc import Iterator

import pytest

from kcore.config.broker import BrokerConfig
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.protocol import apis
from kcore.server.broker import Broker
from kcore.storage.scheduler import ScheduledTask
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, fetch, produce, values_of

WRITES = ("pwritev", "fallocate", "create", "mkdir")
SHORTAGES = [errno.ENOSPC, errno.EDQUOT, errno.EMFILE]


class Machine:
    """A broker of two log directories in memory. The test runs what the scheduler would try again in a while."""

    def __init__(self, fast_path: bool) -> None:
        self.disk = FailingDisk(MemoryDisk())
        self.metadata = MemoryMetadata()
        self.fast_path = fast_path
        self.start()

    def start(self) -> None:
        settings = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": "/a,/b",
            "kcli.fast.path.enable": str(self.fast_path).lower(),
            # Nothing is tried again unless the test says so.
            "replica.high.watermark.checkpoint.interval.ms": "3600000",
        }
        self.broker = Broker(BrokerConfig(settings), self.disk, MemoryMetadataStore(self.metadata))
        self.broker.startup()
        self.client = RawClient(self.broker.bound_listeners[0].port)

    def stop(self) -> None:
        self.client.socket.close()
        self.broker.shutdown()

    def lack(self, error: int, path: str = "*") -> None:
        self.disk.fail(WRITES, error, path=path, times=None)

    def tries_waiting(self) -> list[ScheduledTask]:
        tasks = [task for _, _, task in self.broker.scheduler._queue]
        return [task for task in tasks if task.name == "make-missing-logs" and not task.cancelled]

    def try_again(self) -> None:
        (task,) = self.tries_waiting()
        task.cancel()
        task.run()

    def directories(self, topic: str) -> list[str]:
        return [name for root in ("/a", "/b") for name in self.disk.listdir(root) if name.startswith(f"{topic}-")]


@pytest.fixture(params=[True, False], ids=["native", "handlers"])
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    machine = Machine(request.param)
    yield machine
    machine.stop()


@pytest.mark.parametrize("error", SHORTAGES)
def test_a_topic_made_meanwhile_comes_without_a_restart(machine: Machine, error: int) -> None:
    machine.lack(error)
    machine.client.create_topic("late", 3)
    assert produce(machine.client, "late", batch([b"early"])).error_code != 0
    for _ in range(2):
        machine.try_again()
        assert len(machine.tries_waiting()) == 1
    machine.disk.heal()
    machine.try_again()
    assert machine.tries_waiting() == []
    for partition in range(3):
        assert produce(machine.client, "late", batch([b"now"]), index=partition).error_code == 0
        assert values_of(fetch(machine.client, "late", 0, index=partition).records) == [(0, b"now")]
    assert machine.broker.log_manager.offline_directories() == []
    assert sorted(machine.directories("late")) == ["late-0", "late-1", "late-2"], "none lies in two places"


def test_a_topic_deleted_meanwhile_is_not_made(machine: Machine) -> None:
    machine.lack(errno.ENOSPC)
    machine.client.create_topic("gone", 2)
    (result,) = machine.client.request(apis.DELETE_TOPICS, 5, {"topic_names": ["gone"], "timeout_ms": 30_000}).responses
    assert result.error_code == 0
    machine.disk.heal()
    machine.try_again()
    assert machine.directories("gone") == []
    machine.client.create_topic("gone", 1)
    assert produce(machine.client, "gone", batch([b"another topic"])).error_code == 0
    assert machine.tries_waiting() == []


def test_a_restart_without_room_tries_again_too(machine: Machine) -> None:
    machine.lack(errno.ENOSPC)
    machine.client.create_topic("late", 1)
    machine.disk.heal()
    machine.stop()
    # There is room for all that a start writes, but for none that a log needs.
    machine.lack(errno.ENOSPC, "*/late-0*")
    machine.start()
    assert produce(machine.client, "late", batch([b"early"])).error_code != 0
    machine.disk.heal()
    machine.try_again()
    assert produce(machine.client, "late", batch([b"now"])).error_code == 0


def test_a_directory_that_fails_meanwhile_is_left_out(machine: Machine) -> None:
    machine.lack(errno.ENOSPC)
    machine.client.create_topic("late", 1)
    machine.disk.heal()
    machine.disk.fail(["mkdir"], errno.EIO, path="/a/*", times=None)
    machine.disk.fail(["mkdir"], errno.EIO, path="/b/*")
    machine.try_again()
    # Both refused it, one for good: the partition is no longer what a shortage keeps away.
    assert machine.tries_waiting() == []
    assert produce(machine.client, "late", batch([b"x"])).error_code != 0
