"""The Fetcher before real brokers: what librdkafka wrote, in all codecs, with transactions, through restarts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcore.client.consumer.fetch_event import EventKind
from kcore.client.consumer.fetch_settings import READ_COMMITTED, FetchSettings
from kcore.client.consumer.fetcher import Fetcher
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from kcore.protocol import apis
from kcore.testing import EmbeddedBroker
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

TIMEOUT_S = 60
TIMEOUT_MS = 30_000.0
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
PARTITIONS = 2
Row = tuple[str, int, int, int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


@pytest.fixture(
    params=["ours", pytest.param("apache_kafka_39", marks=[pytest.mark.needs("java", "mvn"), pytest.mark.full_size])]
)
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "ours":
        with EmbeddedBroker() as broker:
            yield broker.bootstrap_servers
    else:
        yield request.getfixturevalue(request.param).bootstrap_server


def create(server: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    for future in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics]).values():
        future.result(TIMEOUT_S)


def write(server: str, topic: str, count: int, **configs: str) -> None:
    properties = {name.replace("_", "."): value for name, value in configs.items()}
    producer = Producer({"bootstrap.servers": server, "linger.ms": 5, **properties})
    for i in range(count):
        headers = [("n", b"%d" % i), ("null", None), ("n", b"")] if i % 3 == 0 else None
        value = None if i % 7 == 6 else b"value %d " % i * (i % 50)
        producer.produce(topic, value, b"%d" % i if i % 2 else None, i % PARTITIONS, headers=headers)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0


def rows_of_librdkafka(server: str, topics: list[str], isolation: str = "read_uncommitted") -> list[Row]:
    consumer = Consumer(
        {"bootstrap.servers": server, "group.id": "oracle", "enable.partition.eof": True, "isolation.level": isolation}
    )
    partitions = [TopicPartition(topic, index, OFFSET_BEGINNING) for topic in topics for index in range(PARTITIONS)]
    consumer.assign(partitions)
    rows: list[Row] = []
    ends = 0
    while ends < len(partitions):
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error():
            ends += 1
            continue
        place = (message.topic(), message.partition(), message.offset(), message.timestamp()[1])
        rows.append((*place, message.key(), message.value(), message.headers() or []))
    consumer.close()
    return sorted(rows, key=lambda row: row[:3])


class Reading:
    """A fetcher that follows the metadata of one broker."""

    def __init__(self, server: str, settings: FetchSettings) -> None:
        host, _, port = server.rpartition(":")
        self.port = int(port)
        self.network = NetworkClient([], reconnect_backoff_max_ms=50)
        self.node = self.network.set_node(1, host, self.port)
        self.fetcher = Fetcher(self.network, settings)
        self.fetcher.start()
        self.thread = NetworkThread(self.network)
        self.thread.start()

    def assign(self, topics: list[str], offset: int = 0) -> None:
        for topic, topic_id, index, epoch in self.partitions(topics):
            self.fetcher.assign((topic, index), topic_id, offset)
            self.fetcher.set_leader((topic, index), self.node, epoch)

    def partitions(self, topics: list[str]) -> list[tuple[str, bytes, int, int]]:
        with RawClient(self.port) as client:
            metadata = client.request(apis.METADATA, 12, {"topics": [{"name": topic} for topic in topics]})
        return [
            (topic.name, topic.topic_id, row.partition_index, row.leader_epoch)
            for topic in metadata.topics
            for row in topic.partitions
        ]

    def follow_leaders(self) -> None:
        """Acts upon the events as a consumer does."""
        events = self.fetcher.take_events()
        moved = {event.partition for event in events if event.kind is EventKind.LEADER_MOVED}
        for topic, _, index, epoch in self.partitions(sorted({topic for topic, _ in moved})) if moved else ():
            self.fetcher.set_leader((topic, index), self.node, epoch)

    def rows(self, count: int) -> list[Row]:
        rows: list[Row] = []
        while len(rows) < count:
            records = self.fetcher.take_records(500, TIMEOUT_MS)
            assert records, self.fetcher.take_events()
            rows += [(r.topic, r.partition, r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]
        return sorted(rows, key=lambda row: row[:3])


@contextmanager
def reading(server: str, **settings: int) -> Iterator[Reading]:
    found = Reading(server, FetchSettings(**settings))  # type: ignore[arg-type]
    try:
        yield found
    finally:
        found.thread.close()


def test_every_codec_from_many_partitions(server: str) -> None:
    topics = [f"fetcher-{codec}" for codec in CODECS]
    create(server, *topics)
    for topic, codec in zip(topics, CODECS, strict=True):
        write(server, topic, 1000, compression_type=codec)
    expected = rows_of_librdkafka(server, topics)
    assert len(expected) == 1000 * len(topics)
    with reading(server, max_partition_fetch_bytes=20_000) as reader:
        reader.assign(topics)
        assert reader.rows(len(expected)) == expected
        ends = {(row[0], row[1]): row[2] + 1 for row in expected}
        assert {place: offset for place, (offset, _) in reader.fetcher.positions().items()} == ends
        assert {place: marks[1] for place, marks in reader.fetcher.watermarks().items()} == ends
        # The same again, as Arrow's.
        for partition in ends:
            reader.fetcher.seek(partition, 0)
        tables: list[pa.Table] = []
        while sum(table.num_rows for table in tables) < len(expected):
            tables.append(pa.table(reader.fetcher.take_arrow(None, TIMEOUT_MS, include_headers=True)))
            assert tables[-1].num_rows > 0
        table = pa.concat_tables(tables).sort_by(
            [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
        )
        table.validate(full=True)
        assert table["value"].to_pylist() == [row[5] for row in expected]
        assert table["key"].to_pylist() == [row[4] for row in expected]
        assert table["timestamp"].cast(pa.int64()).to_pylist() == [row[3] * 1000 for row in expected]
        assert table["headers"].to_pylist() == [
            [{"key": name, "value": value} for name, value in row[6]] or None for row in expected
        ]
        assert reader.fetcher.take_events() == []


@pytest.mark.needs("java", "mvn")
def test_aborted_transactions_are_left_out_as_librdkafka_leaves_them(request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("apache_kafka_39").bootstrap_server
    create(server, "fetcher-transactions")
    producers = []
    for number in range(2):
        producer = Producer({"bootstrap.servers": server, "transactional.id": f"fetcher-{number}", "linger.ms": 0})
        producer.init_transactions(TIMEOUT_S)
        producers.append(producer)
    for round_ in range(6):
        for number, producer in enumerate(producers):
            producer.begin_transaction()
            for i in range(20):
                producer.produce("fetcher-transactions", b"%d %d %d" % (round_, number, i), None, i % PARTITIONS)
            producer.flush(TIMEOUT_S)
        for number, producer in enumerate(producers):
            if (round_ + number) % 3:
                producer.commit_transaction(TIMEOUT_S)
            else:
                producer.abort_transaction(TIMEOUT_S)
    expected = rows_of_librdkafka(server, ["fetcher-transactions"], "read_committed")
    assert 0 < len(expected) < 240
    for size in (1, 600, 1 << 20):
        with reading(server, isolation_level=READ_COMMITTED, max_partition_fetch_bytes=size) as reader:
            reader.assign(["fetcher-transactions"])
            assert reader.rows(len(expected)) == expected
            assert reader.fetcher.take_records(1, 50) == []


def test_reading_goes_on_after_a_restart(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        create(broker.bootstrap_server, "t")
        write(broker.bootstrap_server, "t", 2000)
        with reading(broker.bootstrap_server, max_partition_fetch_bytes=5_000, retry_backoff_ms=10) as reader:
            reader.assign(["t"])
            rows = []
            while len(rows) < 500:
                rows += reader.fetcher.take_records(100, TIMEOUT_MS)
            broker.restart(kill=True)
            write(broker.bootstrap_server, "t", 1000)
            while len(rows) < 3000:
                rows += reader.fetcher.take_records(100, 100)
                reader.follow_leaders()
            for index in range(PARTITIONS):
                assert [row.offset for row in rows if row.partition == index] == list(range(1500))


def test_a_topic_made_anew_is_noticed_by_its_id(server: str) -> None:
    create(server, "fetcher-anew")
    write(server, "fetcher-anew", 100)
    with reading(server, retry_backoff_ms=10) as reader:
        reader.assign(["fetcher-anew"])
        assert len(reader.rows(100)) == 100
        admin = AdminClient({"bootstrap.servers": server})
        admin.delete_topics(["fetcher-anew"])["fetcher-anew"].result(TIMEOUT_S)
        seen = set()
        while not seen & {EventKind.UNKNOWN_TOPIC, EventKind.LEADER_MOVED}:
            assert reader.fetcher.take_records(1, 20) == []
            seen |= {event.kind for event in reader.fetcher.take_events()}


def test_an_offset_beyond_the_log_is_told(server: str) -> None:
    create(server, "fetcher-range")
    write(server, "fetcher-range", 10)
    with reading(server) as reader:
        reader.assign(["fetcher-range"], offset=500)
        events = []
        while len(events) < PARTITIONS:
            assert reader.fetcher.take_records(1, 20) == []
            events += reader.fetcher.take_events()
        assert {(event.kind, event.offset) for event in events} == {(EventKind.OUT_OF_RANGE, 500)}
        for index in range(PARTITIONS):
            reader.fetcher.seek(("fetcher-range", index), 3)
        assert [row[2] for row in reader.rows(4)] == [3, 4, 3, 4]
