"""The table of metrics against the MBeans of Apache Kafka 3.9, and what both count of the same work.

Every MBean that the table names is there in Kafka, with properties of the names of our labels; and a producer and a
consumer that do the same to both brokers are counted the same.
"""

from __future__ import annotations

import csv
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec  # type: ignore[attr-defined]

from kcore.metrics.definition import HISTOGRAM, Metric
from kcore.metrics.table import METRICS
from tests.apache_kafka import QUICK_START, ROOT, ApacheKafka, reserved_ports
from tests.broker_process import BrokerProcess
from tests.metrics_scrape import Metrics, scrape

pytestmark = [pytest.mark.needs("java", "mvn"), pytest.mark.full_size]

TIMEOUT_S = 60
DOMAINS = ("kafka.server", "kafka.network", "kafka.controller", "kafka.log", "kafka.coordinator.group")
# Labels of ours that say more, or less, than the properties of Kafka's MBean.
OTHER_LABELS = {
    "kafka_server_app_info": "Kafka's MBean is one for each broker id, and has the version as an attribute",
    "kcli_network_bytes_in_total": "a sum over listeners and network threads",
    "kcli_network_bytes_out_total": "a sum over listeners and network threads",
}
RECORDS = 500

# MBean properties, and attributes by name.
MBeans = list[tuple[str, dict[str, str], dict[str, str]]]


def read_mbeans(port: int) -> MBeans:
    """All of Kafka's MBeans, as its own JmxTool prints them."""
    command = [str(ROOT / "bin" / "kafka-run"), "3.9", "JmxTool", "--one-time", "--report-format", "original"]
    command += ["--jmx-url", f"service:jmx:rmi:///jndi/rmi://127.0.0.1:{port}/jmxrmi"]
    for domain in DOMAINS:
        command += ["--object-name", f"{domain}:*"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    names, values = [row for row in csv.reader(done.stdout.splitlines()) if len(row) > 100][:2]
    found: dict[str, dict[str, str]] = {}
    for name, value in zip(names[1:], values[1:], strict=True):
        mbean, _, attribute = name.rpartition(":")
        found.setdefault(mbean, {})[attribute] = value
    return [(mbean.partition(":")[0], properties_of(mbean), attributes) for mbean, attributes in found.items()]


def properties_of(mbean: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in mbean.partition(":")[2].split(","))


def matching(metric: Metric, mbeans: MBeans) -> MBeans:
    """Kafka's MBeans of a metric; one that names an attribute is found by that."""
    assert metric.mbean is not None
    domain, wanted = metric.mbean.partition(":")[0], properties_of(metric.mbean)
    attribute = wanted.pop("attribute", None)
    return [
        found
        for found in mbeans
        if found[0] == domain and wanted.items() <= found[1].items() and (attribute is None or attribute in found[2])
    ]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ApacheKafka, int]]:
    """Apache Kafka with JMX on a port of its own."""
    reservation, (port,) = reserved_ports(1)
    jmx = "-Dcom.sun.management.jmxremote"
    options = [f"{jmx}.port={port}", f"{jmx}.rmi.port={port}", f"{jmx}.authenticate=false", f"{jmx}.ssl=false"]
    options += ["-Djava.rmi.server.hostname=127.0.0.1"]
    directory = tmp_path_factory.mktemp("kafka-jmx") / "data"
    with closing(reservation), ApacheKafka("3.9", directory, java_options=[*QUICK_START, *options]) as broker:
        yield broker, port


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("ours") / "data", {"metrics.port": "0"}) as broker:
        yield broker


def await_leaders(admin: AdminClient, topics: list[NewTopic]) -> None:
    """Apache Kafka's broker leads a partition a moment after it has told of it; what comes before is refused."""
    deadline = time.monotonic() + TIMEOUT_S
    places = {TopicPartition(topic.topic, 0): OffsetSpec.latest() for topic in topics}
    while True:
        try:
            for asked in admin.list_offsets(places).values():
                asked.result(TIMEOUT_S)
            return
        except KafkaException:
            assert time.monotonic() < deadline


def work(server: str) -> None:
    """Records in one batch each, so that the bytes are the same; some that are refused; all of them read back."""
    admin = AdminClient({"bootstrap.servers": server})
    topics = [
        NewTopic("plain", 1, 1),
        NewTopic("small", 1, 1, config={"max.message.bytes": "1000"}),
        NewTopic("compacted", 1, 1, config={"cleanup.policy": "compact"}),
        NewTopic("gzipped", 1, 1, config={"compression.type": "gzip"}),
    ]
    for created in admin.create_topics(topics).values():
        created.result(TIMEOUT_S)
    await_leaders(admin, topics)
    producer = Producer({"bootstrap.servers": server, "linger.ms": 0, "batch.num.messages": 1, "retries": 0})
    for number in range(RECORDS):
        producer.produce("plain", value=b"%04d" % number * 20)
        producer.flush(TIMEOUT_S)
    producer.produce("small", value=bytes(5000))
    producer.produce("compacted", value=b"without a key")
    producer.produce("gzipped", value=b"a" * 1000)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = Consumer({"bootstrap.servers": server, "group.id": "readers", "auto.offset.reset": "earliest"})
    consumer.subscribe(["plain"])
    deadline = time.monotonic() + TIMEOUT_S
    left = RECORDS
    while left > 0 and time.monotonic() < deadline:
        left -= len(consumer.consume(left, 1.0))
    assert left == 0
    consumer.close()


@pytest.fixture(scope="module")
def mbeans(kafka: tuple[ApacheKafka, int]) -> MBeans:
    """Kafka's, after it has worked."""
    broker, port = kafka
    work(broker.bootstrap_server)
    return read_mbeans(port)


@pytest.fixture(scope="module")
def metrics(ours: BrokerProcess) -> Metrics:
    """Ours, after the same."""
    work(ours.bootstrap_server)
    return scrape(ours)


def test_every_mbean_is_kafkas_and_has_our_labels(mbeans: MBeans) -> None:
    for metric in METRICS.values():
        if metric.mbean is None:
            continue
        found = matching(metric, mbeans)
        assert found, f"Apache Kafka has no {metric.mbean}"
        if metric.name not in OTHER_LABELS:
            # Of the whole type: Kafka makes an MBean of a topic, or of an error, when there is something to count.
            own = properties_of(metric.mbean)
            properties = {
                frozenset(found.keys() - {"type", "name"}) for _, found, _ in mbeans if found["type"] == own["type"]
            }
            assert frozenset(metric.labels) in properties, (metric.name, properties)


def test_names_follow_the_rule(mbeans: MBeans) -> None:
    """Domain, type and name in lower case; PerSec becomes _total, of attributes hyphens become underscores."""
    for metric in METRICS.values():
        if metric.mbean is None or metric.name in OTHER_LABELS:
            continue
        properties = properties_of(metric.mbean)
        name = properties.get("name", properties.get("attribute", "").removesuffix("-total"))
        parts = [metric.mbean.partition(":")[0], properties["type"], re.sub("PerSec$", "", name)]
        expected = "_".join(parts).lower().replace(".", "_").replace("-", "_")
        assert metric.name.removesuffix("_total") == expected
        if metric.type == HISTOGRAM:
            assert any("99thPercentile" in attributes for _, _, attributes in matching(metric, mbeans)), metric.name


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("MessagesIn", "plain"),
        ("BytesIn", "plain"),
        ("BytesOut", "plain"),
        ("FailedProduceRequests", "plain"),
        ("TotalProduceRequests", "small"),
        ("FailedProduceRequests", "small"),
        ("BytesRejected", "small"),
        ("MessagesIn", "small"),
        ("TotalProduceRequests", "compacted"),
        ("FailedProduceRequests", "compacted"),
        ("BytesIn", "compacted"),
        ("MessagesIn", "gzipped"),
        ("BytesIn", "gzipped"),
        ("ProduceMessageConversions", "gzipped"),
    ],
)
def test_the_same_work_is_counted_the_same(mbeans: MBeans, metrics: Metrics, name: str, topic: str) -> None:
    wanted = {"type": "BrokerTopicMetrics", "name": f"{name}PerSec", "topic": topic}
    counts = [int(attributes["Count"]) for _, properties, attributes in mbeans if properties == wanted]
    # Kafka makes a topic's meter when it is first used.
    expected = counts[0] if counts else 0
    assert metrics.value(f"kafka_server_brokertopicmetrics_{name.lower()}_total", topic=topic) == expected


def test_the_same_requests_are_counted_the_same(mbeans: MBeans, metrics: Metrics) -> None:
    wanted = {"type": "RequestMetrics", "name": "RequestsPerSec", "request": "Produce"}
    theirs = sum(int(attributes["Count"]) for _, found, attributes in mbeans if wanted.items() <= found.items())
    # A client that was told of a new topic may come to Kafka before it leads, and then comes again.
    early = {"type": "RequestMetrics", "name": "ErrorsPerSec", "request": "Produce"}
    for error in ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"):
        theirs -= sum(int(counted["Count"]) for _, found, counted in mbeans if found == {**early, "error": error})
    assert metrics.total("kafka_network_requestmetrics_requests_total", request="Produce") == theirs
    for error in ("MESSAGE_TOO_LARGE", "INVALID_RECORD"):
        wanted = {"type": "RequestMetrics", "name": "ErrorsPerSec", "request": "Produce", "error": error}
        [count] = [int(attributes["Count"]) for _, found, attributes in mbeans if found == wanted]
        assert metrics.value("kafka_network_requestmetrics_errors_total", request="Produce", error=error) == count
