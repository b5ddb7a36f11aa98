"""`log.flush.group.commit`: an acknowledged record survives a loss of power, and one sync serves all who wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kcore.config.broker import BrokerConfig
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.platform.memory_disk import MemoryDisk
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, fetch, produce, values_of

KAFKA_STORAGE_ERROR = 56
NOT_LEADER_OR_FOLLOWER = 6
REQUEST_TIMED_OUT = 7
COORDINATOR_LOAD_IN_PROGRESS = 14
PRODUCERS = 8


class Machine:
    """A broker, the disk that it writes to, and the metadata that is always durable."""

    def __init__(self, fast_path: bool) -> None:
        self.disk = MemoryDisk(volatile_cache=True)
        self.metadata = MemoryMetadata()
        self.fast_path = fast_path
        self.broker: Broker | None = None

    def start(self, **settings: str) -> int:
        """Starts it; the port."""
        properties = {
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": "/data",
            "num.network.threads": "2",
            "num.io.threads": "4",
            "log.flush.group.commit": "true",
            "kcli.fast.path.enable": str(self.fast_path).lower(),
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.broker = Broker(BrokerConfig(properties), self.disk, MemoryMetadataStore(self.metadata))
        self.broker.startup()
        return self.broker.bound_listeners[0].port

    def stop(self) -> None:
        broker, self.broker = self.broker, None
        if broker is not None:
            broker.shutdown()

    def end_offset(self, topic: str) -> int:
        assert self.broker is not None
        log = self.broker.log_manager.get_log(topic, 0)
        assert log is not None
        return log.end_offset

    def await_end_offset(self, topic: str, offset: int) -> None:
        """Appending gives no event; it is looked at until it has come."""
        while self.end_offset(topic) < offset:
            threading.Event().wait(0.001)

    def await_deletion(self, topic: str) -> None:
        """The answer to a deletion may wait for a sync; the log has left before it."""
        assert self.broker is not None
        while self.broker.log_manager.get_log(topic, 0) is not None:
            threading.Event().wait(0.001)


@pytest.fixture
def machine(fast_path: bool) -> Iterator[Machine]:
    machine = Machine(fast_path)
    yield machine
    machine.disk.release_syncs()
    machine.stop()


def send_one(port: int, number: int, acks: int, answers: dict[int, int]) -> None:
    with RawClient(port) as client:
        answers[number] = produce(client, "orders", batch([b"%d" % number]), acks=acks).error_code


@pytest.mark.parametrize("acks", [1, -1])
def test_one_sync_serves_all_who_wait(machine: Machine, acks: int) -> None:
    port = machine.start()
    with RawClient(port) as client:
        client.create_topic("orders")
        assert produce(client, "orders", batch([b"first"]), acks=acks).error_code == 0
        machine.disk.hold_syncs()
        answers: dict[int, int] = {}
        threads = [threading.Thread(target=send_one, args=(port, number, acks, answers)) for number in range(PRODUCERS)]
        for thread in threads:
            thread.start()
        machine.await_end_offset("orders", 1 + PRODUCERS)
        machine.disk.wait_for_held_sync()
        assert answers == {}, "nobody is answered before the sync"
        assert len(values_of(fetch(client, "orders", 0).records)) == 1, "nor shown to consumers"
        before = machine.disk.file_syncs
        machine.disk.release_syncs()
        for thread in threads:
            thread.join()
        assert answers == dict.fromkeys(range(PRODUCERS), 0)
        # The one that was held, which may have come before some of them, and the one for the rest.
        assert machine.disk.file_syncs - before <= 2
        assert len(values_of(fetch(client, "orders", 0).records)) == 1 + PRODUCERS


def test_without_it_nobody_waits_for_the_disk(machine: Machine) -> None:
    port = machine.start(log_flush_group_commit="false")
    machine.disk.hold_syncs()
    with RawClient(port) as client:
        client.create_topic("orders")
        assert produce(client, "orders", batch([b"value"]), acks=-1).error_code == 0
        assert len(values_of(fetch(client, "orders", 0).records)) == 1


def test_a_committed_offset_is_on_the_device_too(machine: Machine) -> None:
    port = machine.start(offsets_topic_num_partitions="1")
    with RawClient(port) as client:
        client.create_topic("orders")
        client.request(apis.FIND_COORDINATOR, 2, {"key": "g", "key_type": 0})
        partition = {"partition_index": 0, "committed_offset": 7}
        commit = {"group_id": "g", "topics": [{"name": "orders", "partitions": [partition]}]}
        answer = client.request(apis.OFFSET_COMMIT, 7, commit)
        assert answer.topics[0].partitions[0].error_code == 0
    machine.disk.cut_power()
    machine.stop()
    machine.disk.restore_power()
    port = machine.start(offsets_topic_num_partitions="1")
    with RawClient(port) as client:
        client.request(apis.FIND_COORDINATOR, 2, {"key": "g", "key_type": 0})
        asked = {"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0]}]}
        while (answer := client.request(apis.OFFSET_FETCH, 5, asked)).error_code == COORDINATOR_LOAD_IN_PROGRESS:
            pass
        assert answer.topics[0].partitions[0].committed_offset == 7


def test_an_answer_that_takes_too_long_says_so(machine: Machine) -> None:
    port = machine.start()
    with RawClient(port) as client:
        client.create_topic("orders")
        machine.disk.hold_syncs()
        answer = produce(client, "orders", batch([b"value"]), timeout_ms=20)
        assert answer.error_code == REQUEST_TIMED_OUT


@pytest.mark.parametrize("acks", [1, -1])
def test_a_topic_that_goes_does_not_time_out_the_others_of_a_request(machine: Machine, acks: int) -> None:
    port = machine.start()
    with RawClient(port) as client, RawClient(port) as operator:
        client.create_topic("orders")
        client.create_topic("passing")
        machine.disk.hold_syncs()
        # The committer has "orders" in its hands, so that nothing of "passing" is being flushed when it goes.
        first = threading.Thread(target=send_one, args=(port, 0, acks, {}))
        first.start()
        machine.disk.wait_for_held_sync()
        rows = [{"index": 0, "records": batch([b"value"])}]
        topics = [{"name": name, "partition_data": rows} for name in ("passing", "orders")]
        client.send(apis.PRODUCE, 9, {"acks": acks, "timeout_ms": 30_000, "topic_data": topics})
        machine.await_end_offset("orders", 2)
        operator.send(apis.DELETE_TOPICS, 5, {"topic_names": ["passing"], "timeout_ms": 5000})
        machine.await_deletion("passing")
        machine.disk.release_syncs()
        answer = client.receive(apis.PRODUCE, 9)
        first.join()
        told = {topic.name: topic.partition_responses[0].error_code for topic in answer.responses}
        assert told["orders"] == 0
        # It was brought onto the device when it was closed, which is as good.
        assert told["passing"] in (0, NOT_LEADER_OR_FOLLOWER)


@pytest.mark.parametrize("acks", [1, -1])
def test_a_failed_sync_is_an_error_to_everyone_and_never_an_ack(machine: Machine, acks: int) -> None:
    port = machine.start()
    with RawClient(port) as client:
        client.create_topic("orders")
        assert produce(client, "orders", batch([b"first"])).error_code == 0
        machine.disk.hold_syncs()
        answers: dict[int, int] = {}
        threads = [threading.Thread(target=send_one, args=(port, number, acks, answers)) for number in range(3)]
        for thread in threads:
            thread.start()
        machine.await_end_offset("orders", 4)
        machine.disk.cut_power()
        for thread in threads:
            thread.join()
        assert set(answers.values()) == {KAFKA_STORAGE_ERROR}
        assert produce(client, "orders", batch([b"later"]), acks=acks).error_code == KAFKA_STORAGE_ERROR
        assert machine.broker is not None
        machine.broker.log_manager.checkpoints.write_high_watermarks()
        assert machine.broker.log_manager.offline_directories() == ["/data"]


class Producer(threading.Thread):
    """Sends one record after the other to one partition until it is refused; `acked` are those that were answered."""

    def __init__(self, port: int, name: str, partition: int, acks: int, enough: threading.Semaphore) -> None:
        super().__init__()
        self.port = port
        self.prefix = name.encode()
        self.partition = partition
        self.acks = acks
        self.acked: list[tuple[int, bytes]] = []
        self.enough = enough

    def run(self) -> None:
        with RawClient(self.port) as client:
            for number in range(100_000):
                value = b"%s-%d" % (self.prefix, number)
                answer = produce(client, "orders", batch([value]), acks=self.acks, index=self.partition)
                if answer.error_code != 0:
                    return
                self.acked.append((answer.base_offset, value))
                self.enough.release()


@pytest.mark.parametrize("acks", [1, -1])
def test_what_was_acknowledged_is_there_after_a_loss_of_power(machine: Machine, acks: int) -> None:
    port = machine.start()
    with RawClient(port) as client:
        client.create_topic("orders", 2, segment_bytes="2000")
    enough = threading.Semaphore(0)
    producers = [Producer(port, f"producer{number}", number % 2, acks, enough) for number in range(6)]
    for producer in producers:
        producer.start()
    for _ in range(300):
        enough.acquire()
    machine.disk.cut_power()
    for producer in producers:
        producer.join()
    machine.stop()
    machine.disk.restore_power()

    port = machine.start()
    with RawClient(port) as client:
        for partition in (0, 1):
            log = machine.broker.log_manager.get_log("orders", partition) if machine.broker is not None else None
            assert log is not None
            read: dict[int, bytes] = {}
            while len(read) < log.end_offset:  # shown once it is on the device
                part = fetch(client, "orders", len(read), index=partition, max_wait_ms=500)
                read.update(values_of(part.records))
            acked = [record for producer in producers if producer.partition == partition for record in producer.acked]
            assert acked
            assert [record for record in acked if read.get(record[0]) != record[1]] == []


def test_what_a_crash_left_unflushed_is_shown_once_it_is_on_the_device(machine: Machine) -> None:
    port = machine.start(log_flush_group_commit="false")
    with RawClient(port) as client:
        client.create_topic("orders")
        assert produce(client, "orders", batch([b"value"])).error_code == 0
    assert machine.broker is not None
    log = machine.broker.log_manager.get_log("orders", 0)
    assert log is not None
    assert log.recovery_point == 0
    machine.stop()
    # As if the process had been killed before anything was flushed.
    machine.disk.unlink("/data/.kafka_cleanshutdown")
    machine.disk.unlink("/data/recovery-point-offset-checkpoint")
    port = machine.start()
    with RawClient(port) as client:
        while not (found := values_of(fetch(client, "orders", 0, max_wait_ms=500, min_bytes=1).records)):
            pass
        assert found == [(0, b"value")]
        assert machine.broker is not None
        log = machine.broker.log_manager.get_log("orders", 0)
        assert log is not None
        assert log.recovery_point == 1
