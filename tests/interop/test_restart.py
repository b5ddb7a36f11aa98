"""Producers and groups that live through the end and the return of their broker, ended cleanly or by kill -9.

Idempotent producers go on in the middle of what they were sending, without a record lost, doubled or out of order;
members go on behind their last commit.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker_process import BrokerProcess
from tests.interop import scenarios
from tests.interop.consumer import TIMEOUT_S
from tests.interop.java_tools import VERSIONS_BY_SIZE, JavaTools
from tests.interop.series import Numbers, ReadBack, Series

RECORDS = 9_000
PARTITIONS = 3
IDEMPOTENT = {
    "confluent-kafka": {"enable.idempotence": True},
    "kafka-python": {"enable_idempotence": True},
    "aiokafka": {"enable_idempotence": True},
}
ENDS = pytest.mark.parametrize(
    "kill", [pytest.param(False, marks=pytest.mark.full_size), True], ids=["clean", "kill -9"]
)


@pytest.fixture
def broker(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[BrokerProcess]:
    directory = request.getfixturevalue("tmp_path") / "data"
    with BrokerProcess(directory, {"num.partitions": str(PARTITIONS), "log.segment.bytes": "1100000"}) as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


def create_topic(server: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(topic)])[topic].result(TIMEOUT_S)


def wait_for_records(server: str, topic: str) -> None:
    consumer = scenarios.consumer_of("confluent-kafka", server, f"waits-for-{topic}")
    consumer.subscribe(topic)
    deadline = time.monotonic() + TIMEOUT_S
    while not consumer.poll(1, 1.0):
        assert time.monotonic() < deadline, f"nothing came into {topic}"
    consumer.close()


@ENDS
def test_idempotent_producers_go_on(broker: BrokerProcess, kill: bool) -> None:
    """Two restarts, each while every producer has just begun to send the next third."""
    server = broker.bootstrap_server
    first_timestamp = int(time.time() * 1000) - RECORDS
    series = {client: Series(client, RECORDS, first_timestamp) for client in IDEMPOTENT}
    milestones = (RECORDS // 3, RECORDS * 2 // 3)
    everyone_is_there = threading.Barrier(len(series) + 1)
    at = dict.fromkeys(milestones, lambda: everyone_is_there.wait(TIMEOUT_S))
    with ThreadPoolExecutor(len(series)) as threads:
        futures = [
            threads.submit(scenarios.produce, client, server, "continued", series[client], settings, at)
            for client, settings in IDEMPOTENT.items()
        ]
        try:
            for _ in milestones:
                everyone_is_there.wait(TIMEOUT_S)
                broker.restart(kill=kill)
        finally:
            everyone_is_there.abort()
        for future in futures:
            future.result(TIMEOUT_S)
    assert scenarios.read_by_offset("confluent-kafka", server, "continued", list(series.values())) == RECORDS * 3


@pytest.mark.needs("java", "mvn")
@pytest.mark.parametrize("version", VERSIONS_BY_SIZE)
def test_kafkas_perf_producer_goes_on(broker: BrokerProcess, version: str) -> None:
    """It is idempotent by default; its throughput is bounded so that it is in the midst of it."""
    server = broker.bootstrap_server
    topic = f"java-{version}"
    create_topic(server, topic)
    with ThreadPoolExecutor(1) as thread:
        produced = thread.submit(JavaTools(version, server).produce_numbers, topic, RECORDS, throughput=3_000)
        for kill in (True, False):
            wait_for_records(server, topic)
            broker.restart(kill=kill)
        produced.result(TIMEOUT_S)
    assert scenarios.read_by_offset("confluent-kafka", server, topic, [Numbers(RECORDS)]) == RECORDS


@ENDS
@pytest.mark.parametrize("client", scenarios.CLIENTS)
def test_a_member_goes_on_behind_its_commit(broker: BrokerProcess, client: str, kill: bool) -> None:
    """The broker does not know the member any more and has it join again; what was committed is not read again."""
    server = broker.bootstrap_server
    series = Series("confluent-kafka", 2_000, int(time.time() * 1000))
    book = ReadBack([series])
    create_topic(server, "committed")
    consumer = scenarios.consumer_of(client, server, "members")
    # As soon as there are records a poll ends; of one that ends in mid-join scenarios.py knows.
    poll_s = scenarios.JOINING_POLL_S if client == "kafka-python" else 1.0

    def read_until(enough: int) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while book.taken < enough:
            assert time.monotonic() < deadline, f"{book.taken} of {enough} records came"
            book.take(consumer.poll(500, poll_s))
        assert book.taken == enough

    with ThreadPoolExecutor(1) as thread:
        half_is_read = threading.Event()
        milestones = {1_000: lambda: half_is_read.wait(TIMEOUT_S)}
        produced = thread.submit(
            scenarios.produce, "confluent-kafka", server, "committed", series, IDEMPOTENT["confluent-kafka"], milestones
        )
        consumer.subscribe("committed")
        try:
            read_until(1_000)
            assert consumer.commit()
            broker.restart(kill=kill)
            deadline = time.monotonic() + TIMEOUT_S
            while not consumer.commit():
                assert time.monotonic() < deadline, "it did not join again"
                assert consumer.poll(500, 0.5) == [], "committed records came again"
        finally:
            half_is_read.set()
        read_until(2_000)
        assert consumer.commit()
        produced.result(TIMEOUT_S)
    book.assert_complete()
    consumer.close()


def test_committed_offsets_never_go_back(broker: BrokerProcess) -> None:
    """Groups commit on and on; whatever was acknowledged before an end is there after it."""
    server = broker.bootstrap_server
    series = Series("confluent-kafka", 100, None)
    scenarios.produce("confluent-kafka", server, "kept", series, {})
    groups = [f"group-{number}" for number in range(20)]
    for offset, kill in enumerate((True, False, True), start=1):
        for group in groups:
            consumer = Consumer({"bootstrap.servers": server, "group.id": group})
            positions = [TopicPartition("kept", partition, offset) for partition in range(PARTITIONS)]
            consumer.commit(offsets=positions, asynchronous=False)
            consumer.close()
        broker.restart(kill=kill)
        for group in groups:
            consumer = Consumer({"bootstrap.servers": server, "group.id": group})
            wanted = [TopicPartition("kept", partition) for partition in range(PARTITIONS)]
            assert [one.offset for one in consumer.committed(wanted, timeout=TIMEOUT_S)] == [offset] * PARTITIONS
            consumer.close()
