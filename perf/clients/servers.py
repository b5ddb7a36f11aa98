"""The clusters that clients are measured with, as processes of this run: ours, and Apache Kafka; their topics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kcore.client.admin.results import raise_first
from kcore.client.admin.topics import NewTopic, TopicAdmin
from kcore.client.cluster_client import ClusterClient
from kcore.client.producer import Producer
from perf.clients.turn import BATCH_BYTES, value_of
from perf.processes import LOOPBACK, Broker
from tests.apache_kafka import ApacheKafka

OURS = "kcli"
KAFKA_HEAP = ("-Xmx1G", "-Xms1G")
# What is deleted is to leave the disk, and the page cache, before the run is over.
PROPERTIES = {"log.segment.delete.delay.ms": "1000", "log.retention.hours": "-1"}
ROWS = 10_000


class Server:
    """`name` is "kcli", or Apache Kafka's version."""

    def __init__(self, name: str, address: str, directory: Path) -> None:
        self.name = name
        self.address = address
        self.directory = directory
        self._made = 0

    def new_topic(self) -> str:
        """An empty one of one partition."""
        self._made += 1
        topic = f"perf-clients-{self._made}"
        with ClusterClient(self.address) as client:
            raise_first(TopicAdmin(client).create_topics([NewTopic(topic, 1, 1)]))
        return topic

    def filled_topic(self, size: int, records: int) -> str:
        """One that has so many records, in full batches."""
        topic = self.new_topic()
        settings = {"bootstrap.servers": self.address, "batch.size": BATCH_BYTES, "buffer.memory": 1 << 28}
        values = [value_of(size)] * ROWS
        with Producer(settings) as producer:
            for first in range(0, records, ROWS):
                producer.send_batch(topic, values[: records - first], partition=0)
            producer.flush()
        return topic

    def delete(self, topic: str) -> None:
        with ClusterClient(self.address) as client:
            raise_first(TopicAdmin(client).delete_topics([topic]))


@contextmanager
def started(names: list[str], directory: Path) -> Iterator[list[Server]]:
    """All of them at once, in this order; stopped at the end, whatever happens."""
    stops = []
    servers = []
    try:
        for name in names:
            place = directory / name
            if name == OURS:
                broker = Broker(place, PROPERTIES)
                stops.append(broker.stop)
                servers.append(Server(name, f"{LOOPBACK}:{broker.port}", directory))
            else:
                kafka = ApacheKafka(name, place, PROPERTIES, java_options=KAFKA_HEAP)
                stops.append(kafka.kill)
                kafka.start()
                servers.append(Server(name, kafka.bootstrap_server, directory))
        yield servers
    finally:
        for stop in reversed(stops):
            stop()
