"""Consumers of other makes with a thousand partitions, of which few have records, while their fetch sessions go wrong.

kafka-python and Java keep fetch sessions (KIP-227); librdkafka and aiokafka send every partition each time. Whatever
becomes of a session, a consumer gets every record once, and each partition's in order.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka
import kafka
import pytest

from kcore.config.broker import BrokerConfig
from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.broker_process import BrokerProcess
from tests.interop.java_tools import ROOT
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

PARTITIONS = 1000
ACTIVE = range(0, PARTITIONS, 100)
TOPIC = "wide"
TIMEOUT_S = 90
INVALID_FETCH_SESSION_EPOCH = 71
WITH_SESSIONS = ("kafka-python", "java")

Received = tuple[int, bytes]


class KafkaPython:
    def __init__(self, port: int) -> None:
        self.consumer = kafka.KafkaConsumer(
            bootstrap_servers=f"127.0.0.1:{port}", enable_auto_commit=False, auto_offset_reset="earliest"
        )
        self.consumer.assign([kafka.TopicPartition(TOPIC, index) for index in range(PARTITIONS)])

    def read(self, count: int) -> list[Received]:
        received: list[Received] = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(received) < count and time.monotonic() < deadline:
            for records in self.consumer.poll(timeout_ms=500).values():
                received += [(record.partition, record.value) for record in records]
        return received

    def close(self) -> None:
        self.consumer.close()


class Librdkafka:
    def __init__(self, port: int) -> None:
        self.consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "wide", "enable.auto.commit": False}
        )
        self.consumer.assign([confluent_kafka.TopicPartition(TOPIC, index, 0) for index in range(PARTITIONS)])

    def read(self, count: int) -> list[Received]:
        received: list[Received] = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(received) < count and time.monotonic() < deadline:
            message = self.consumer.poll(0.5)
            # What is no record tells of a connection that is being made anew.
            if message is not None and message.error() is None:
                received.append((message.partition(), message.value()))
        return received

    def close(self) -> None:
        self.consumer.close()


class Java:
    """Apache Kafka's console consumer, which prints partitions and values."""

    def __init__(self, port: int) -> None:
        command = [str(ROOT / "bin" / "kafka-run"), "3.9", "ConsoleConsumer", "--topic", TOPIC, "--from-beginning"]
        command += ["--bootstrap-server", f"127.0.0.1:{port}", "--property", "print.partition=true"]
        command += ["--property", "key.separator=|", "--timeout-ms", str(TIMEOUT_S * 1000)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def read(self, count: int) -> list[Received]:
        assert self.process.stdout is not None
        received = []
        for _ in range(count):
            line = self.process.stdout.readline()
            if not line:
                break
            partition, _, value = line.rstrip(b"\n").partition(b"|")
            received.append((int(partition.removeprefix(b"Partition:")), value))
        return received

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


CONSUMERS: dict[str, type[KafkaPython] | type[Librdkafka] | type[Java]] = {
    "kafka-python": KafkaPython,
    "librdkafka": Librdkafka,
    "java": Java,
}
NEEDS_JAVA = pytest.mark.needs("java", "mvn")
EVERY_CLIENT = pytest.mark.parametrize(
    "name", ["kafka-python", "librdkafka", pytest.param("java", marks=[NEEDS_JAVA, pytest.mark.full_size])]
)


def start_broker(directory: Path, **overrides: str) -> Broker:
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(directory)}
    broker = Broker(BrokerConfig({**settings, **{name.replace("_", "."): value for name, value in overrides.items()}}))
    broker.startup()
    return broker


@pytest.fixture(params=["native", "handlers"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    """In this process, so that its sessions can be got at."""
    broker = start_broker(tmp_path, kcli_fast_path_enable=str(request.param == "native").lower())
    yield broker
    broker.shutdown()


def written(stage: str) -> list[Received]:
    """One record for each active partition."""
    return [(index, b"%s-%d" % (stage.encode(), index)) for index in ACTIVE]


def write(client: RawClient, stage: str) -> int:
    """How many records were written."""
    for index, value in written(stage):
        assert produce(client, TOPIC, batch([value]), index=index).error_code == 0
    return len(ACTIVE)


def take_over_sessions(client: RawClient, broker: Broker) -> None:
    """Makes a request in the place of every session's owner, whose own next one is of a wrong epoch then."""
    for session_id in broker.fetch_session_cache.session_ids():
        code, epoch = INVALID_FETCH_SESSION_EPOCH, 0
        while code == INVALID_FETCH_SESSION_EPOCH:
            epoch = epoch % 1000 + 1
            fields = {"session_id": session_id, "session_epoch": epoch, "replica_id": -1, "max_wait_ms": 0}
            code = client.request(apis.FETCH, 12, {**fields, "min_bytes": 0, "topics": []}).error_code


@EVERY_CLIENT
def test_consumers_go_on_when_their_sessions_do_not(broker: Broker, name: str) -> None:
    port = broker.bound_listeners[0].port
    with RawClient(port) as client:
        client.create_topic(TOPIC, PARTITIONS)
        consumer = CONSUMERS[name](port)
        try:
            assert sorted(consumer.read(write(client, "first"))) == written("first")
            assert broker.fetch_session_cache.sessions == (name in WITH_SESSIONS)
            assert broker.fetch_session_cache.partitions == (PARTITIONS if name in WITH_SESSIONS else 0)
            broker.fetch_session_cache.clear()
            assert sorted(consumer.read(write(client, "evicted"))) == written("evicted")
            take_over_sessions(client, broker)
            assert sorted(consumer.read(write(client, "wrong"))) == written("wrong")
            assert sorted(consumer.read(write(client, "last"))) == written("last")
            assert broker.fetch_session_cache.sessions == (name in WITH_SESSIONS)
        finally:
            consumer.close()


@NEEDS_JAVA
def test_who_finds_no_slot_is_served_all_the_same(tmp_path: Path) -> None:
    broker = start_broker(tmp_path, max_incremental_fetch_session_cache_slots="1")
    consumers = []
    try:
        port = broker.bound_listeners[0].port
        with RawClient(port) as client:
            client.create_topic(TOPIC, PARTITIONS)
            for consumer in (KafkaPython, KafkaPython, Java):
                consumers.append(consumer(port))
            for stage in ("first", "second"):
                count = write(client, stage)
                for one in consumers:
                    assert sorted(one.read(count)) == written(stage)
                assert broker.fetch_session_cache.sessions == 1
                # The next session is somebody else's.
                broker.fetch_session_cache.clear()
    finally:
        for one in consumers:
            one.close()
        broker.shutdown()


@EVERY_CLIENT
@pytest.mark.parametrize("kill", [False, True], ids=["clean", "kill -9"])
def test_consumers_outlive_their_broker(tmp_path: Path, name: str, kill: bool) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        with RawClient(broker.port) as client:
            client.create_topic(TOPIC, PARTITIONS)
            count = write(client, "before")
        consumer = CONSUMERS[name](broker.port)
        try:
            assert sorted(consumer.read(count)) == written("before")
            if kill:
                broker.kill()
                broker.start()
            else:
                broker.restart()
            with RawClient(broker.port) as client:
                write(client, "after")
            received = consumer.read(count)
            if name == "java" and not set(received) <= set(written("after")):
                # A member of a group that had committed nothing, and has to join anew, begins at the beginning.
                received += consumer.read(count)
                assert set(received) >= set(written("before"))
                received = [one for one in received if one not in written("before")]
            assert sorted(received) == written("after")
        finally:
            consumer.close()
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()
