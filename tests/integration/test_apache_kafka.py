"""The fixtures for Apache Kafka: both versions serve, keep what they were given, and leave no process behind."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from kcore.protocol import apis
from tests.apache_kafka import CLUSTER_ID, NODE_ID, ApacheKafka, ZooKeeperKafka
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

TIMEOUT_S = 60
STARTER = """
import pathlib, sys
from tests.apache_kafka import ApacheKafka
kafka = ApacheKafka("3.9", pathlib.Path(sys.argv[1])).start()
print(kafka.pid, flush=True)
sys.stdin.read()
"""


def read_all(server: str, topic: str) -> list[bytes | None]:
    """The values of partition 0, from its first offset to its last."""
    consumer = Consumer({"bootstrap.servers": server, "group.id": "reader", "enable.partition.eof": True})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        values = []
        while (message := consumer.poll(TIMEOUT_S)) is not None and message.error() is None:
            values.append(message.value())
        assert message is not None, "the end of the partition was not reached"
        return values
    finally:
        consumer.close()


@pytest.mark.parametrize(
    "fixture", ["apache_kafka_28", "apache_kafka_39", "apache_kafka_39_zookeeper", "apache_kafka_4"]
)
def test_serves_clients(fixture: str, request: pytest.FixtureRequest) -> None:
    kafka: ApacheKafka = request.getfixturevalue(fixture)
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_server})
    cluster = admin.describe_cluster().result(TIMEOUT_S)
    assert (cluster.cluster_id == CLUSTER_ID) != isinstance(kafka, ZooKeeperKafka), (
        "KRaft's storage is formatted with it"
    )
    assert [(node.id, node.port) for node in cluster.nodes] == [(NODE_ID, kafka.port)]

    producer = Producer({"bootstrap.servers": kafka.bootstrap_server, "acks": "all"})
    for value in (b"one", b"two"):
        producer.produce("fixture", value)
    assert producer.flush(TIMEOUT_S) == 0
    assert read_all(kafka.bootstrap_server, "fixture") == [b"one", b"two"]


def test_versions_are_the_ones_asked_for(apache_kafka_39: ApacheKafka, apache_kafka_4: ApacheKafka) -> None:
    lowest = []
    for kafka in (apache_kafka_39, apache_kafka_4):
        with RawClient(kafka.port) as client:
            rows = client.request(apis.API_VERSIONS, 2, {}).api_keys
        lowest.append(next(row.min_version for row in rows if row.api_key == apis.CREATE_TOPICS.key))
    # KIP-896: Apache Kafka 4 no longer has the versions of before 2.1.
    assert lowest == [0, 2]


def test_restart_keeps_data_and_port(tmp_path: Path) -> None:
    with ApacheKafka("3.9", tmp_path / "kafka", {"num.partitions": "3"}) as kafka:
        port = kafka.port
        producer = Producer({"bootstrap.servers": kafka.bootstrap_server, "acks": "all"})
        producer.produce("kept", b"value", partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        kafka.restart()
        assert kafka.port == port
        assert read_all(kafka.bootstrap_server, "kept") == [b"value"]
        assert len(list(kafka.directory.glob("kept-*"))) == 3, "the properties were given to it"


def test_ends_with_the_process_that_started_it(tmp_path: Path, checkout: Path) -> None:
    command = [sys.executable, "-c", STARTER, str(tmp_path / "kafka")]
    with subprocess.Popen(command, cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        # Refers to that process and no later one of its number, and becomes readable when it ends.
        descriptor = os.pidfd_open(pid)
        starter.kill()
    try:
        assert wait_readable(descriptor), "Java outlived the process that started it"
    finally:
        os.close(descriptor)


def wait_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(TIMEOUT_S * 1000))


def test_says_why_it_does_not_start(tmp_path: Path) -> None:
    kafka = ApacheKafka("3.9", tmp_path / "kafka", {"num.partitions": "none"})
    with pytest.raises(AssertionError, match=r"Invalid value none for configuration num.partitions"):
        kafka.start()
    assert kafka.process is None


def test_ends_by_sigterm(tmp_path: Path) -> None:
    with ApacheKafka("4", tmp_path / "kafka") as kafka:
        assert kafka.stop() == 128 + signal.SIGTERM
        assert (kafka.directory / ".kafka_cleanshutdown").exists()
