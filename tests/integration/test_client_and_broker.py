"""Our client and our broker together, through restarts and kills: nothing acknowledged is lost, nothing comes twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.client.admin import Admin, NewTopic
from kcore.client.cluster import TopicPartition
from kcore.client.consumer import Consumer
from kcore.client.network_client import NetworkClient
from kcore.client.producer import Producer
from tests.broker_process import BrokerProcess

RECORDS = 5_000


def create(broker: BrokerProcess, topic: str, partitions: int) -> None:
    with NetworkClient(broker.bootstrap_server) as client:
        assert Admin(client).create_topics([NewTopic(topic, partitions)]) == {topic: None}


def read_all(broker: BrokerProcess, topic: str, partitions: int, count: int) -> list[bytes]:
    values: list[bytes] = []
    with Consumer(broker.bootstrap_server, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
        while (fetched := consumer.poll(5_000 if len(values) < count else 200)) is not None:
            values += [record.value or b"" for record in fetched.records]
    return values


@pytest.mark.parametrize("kill", [False, True], ids=["stop", "kill -9"])
def test_a_producer_outlives_its_broker(tmp_path: Path, kill: bool) -> None:
    """The broker ends and starts again in the middle; the page cache outlives it, so every record is there once."""
    errors: list[Exception] = []
    with BrokerProcess(tmp_path / "data") as broker:
        create(broker, "t", 3)
        with Producer(broker.bootstrap_server, delivery_timeout_ms=60_000) as producer:
            for number in range(RECORDS):
                if number == RECORDS // 2:
                    broker.restart(kill=kill)
                producer.send(
                    "t",
                    b"%d" % number,
                    key=b"%d" % (number % 10),
                    on_delivery=lambda metadata, error: errors.append(error) if error else None,
                )
        assert not errors
        assert sorted(map(int, read_all(broker, "t", 3, RECORDS))) == list(range(RECORDS))


def test_offsets_for_times_and_ends(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        create(broker, "t", 1)
        partition = TopicPartition("t", 0)
        with Producer(broker.bootstrap_server) as producer:
            for number in range(10):
                producer.send("t", b"x", timestamp_ms=1_700_000_000_000 + number * 1000)
                producer.flush()
        with Consumer(broker.bootstrap_server) as consumer:
            assert consumer.beginning_offsets([partition]) == {partition: 0}
            assert consumer.end_offsets([partition]) == {partition: 10}
            found = consumer.offsets_for_times({partition: 1_700_000_003_500})[partition]
            assert found == (4, 1_700_000_004_000)
            assert consumer.offsets_for_times({partition: 1_800_000_000_000})[partition].offset == -1


def test_a_group_survives_its_broker_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        create(broker, "t", 2)
        with Producer(broker.bootstrap_server) as producer:
            for number in range(100):
                producer.send("t", b"%d" % number, key=b"%d" % number)
        seen: list[int] = []
        with Consumer(broker.bootstrap_server, group_id="g", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["t"])
            while len(seen) < 100:
                fetched = consumer.poll(5_000)
                assert fetched is not None
                seen += [int(record.value or b"") for record in fetched.records]
        broker.restart(kill=True)
        with Producer(broker.bootstrap_server) as producer:
            producer.send("t", b"100", key=b"100")
        with Consumer(broker.bootstrap_server, group_id="g", auto_offset_reset="earliest") as consumer:
            consumer.subscribe(["t"])
            fetched = consumer.poll(10_000)
            assert fetched is not None
            assert [record.value for record in fetched.records] == [b"100"]
        assert sorted(seen) == list(range(100))
