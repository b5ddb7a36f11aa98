"""Our consumer and our broker: a group goes on where it was, though the broker was killed and all had left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kcore.client.admin.results import failures
from kcore.client.admin.topics import NewTopic, TopicAdmin
from kcore.client.cluster_client import ClusterClient
from kcore.client.consumer import Consumer
from kcore.client.producer import Producer
from tests.broker_process import BrokerProcess


def create(broker: BrokerProcess, topic: str, partitions: int) -> None:
    with ClusterClient(broker.bootstrap_server) as client:
        assert failures(TopicAdmin(client).create_topics([NewTopic(topic, partitions)])) == {}


def test_a_group_survives_its_broker_and_goes_on_where_it_was(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        create(broker, "t", 2)
        with Producer(bootstrap_servers=broker.bootstrap_server) as producer:
            for number in range(100):
                producer.send("t", b"%d" % number, key=b"%d" % number)
        seen: list[int] = []
        of_group: dict[str, Any] = {
            "bootstrap_servers": broker.bootstrap_server,
            "group_id": "g",
            "auto_offset_reset": "earliest",
        }
        with Consumer(**of_group) as consumer:
            consumer.subscribe(["t"])
            while len(seen) < 100:
                records = consumer.poll(60_000)
                assert records
                seen += [int(record.value) for record in records]
        broker.restart(kill=True)
        with Producer(bootstrap_servers=broker.bootstrap_server) as producer:
            producer.send("t", b"100", key=b"100")
        with Consumer(**of_group) as consumer:
            consumer.subscribe(["t"])
            assert [record.value for record in consumer.poll(60_000)] == [b"100"]
        assert sorted(seen) == list(range(100))
