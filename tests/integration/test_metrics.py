"""What a broker counts, against what clients that no one here wrote have really done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,  # type: ignore[attr-defined]
    ConfigEntry,  # type: ignore[attr-defined]
    ConfigResource,
    NewTopic,  # type: ignore[attr-defined]
    ResourceType,  # type: ignore[attr-defined]
)

from kcore.metrics.table import METRICS
from tests.broker_process import BrokerProcess
from tests.metrics_scrape import Metrics, scrape
from tests.raw_client import RawClient

TIMEOUT_S = 60
TOPIC = "kafka_server_brokertopicmetrics"
REQUEST = "kafka_network_requestmetrics"


@pytest.fixture(scope="module", params=["true", "false"], ids=["native", "handlers"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """With the fast path on and forced off."""
    directory = tmp_path_factory.mktemp("metrics") / "data"
    overrides = {"metrics.port": "0", "kcli.fast.path.enable": request.param, "offsets.topic.num.partitions": "2"}
    with BrokerProcess(directory, overrides) as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()
        broker.start()


def produce(broker: BrokerProcess, topic: str, count: int, **settings: object) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_server, **settings})
    for number in range(count):
        producer.produce(topic, value=b"%06d" % number * 10, partition=number % 2)
    assert producer.flush(TIMEOUT_S) == 0


def create_topic(broker: BrokerProcess, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    for created in admin.create_topics([NewTopic(topic, 2, config=config)]).values():
        created.result(TIMEOUT_S)


def consume(broker: BrokerProcess, topic: str, count: int) -> None:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_server, "group.id": f"of-{topic}", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + TIMEOUT_S
    while count > 0 and time.monotonic() < deadline:
        count -= len(consumer.consume(count, 1.0))
    consumer.close()
    assert count == 0


def log_bytes(broker: BrokerProcess, topic: str) -> int:
    return sum(path.stat().st_size for path in Path(broker.data_dir).glob(f"{topic}-*/*.log"))


def scrape_when(broker: BrokerProcess, holds: Callable[[Metrics], bool]) -> Metrics:
    """A request is counted when its answer has been sent, which its client may notice first."""
    deadline = time.monotonic() + TIMEOUT_S
    while not holds(found := scrape(broker)):
        assert time.monotonic() < deadline
    return found


def grown(before: Metrics, after: Metrics, name: str, **labels: str) -> float:
    return after.total(name, **labels) - before.total(name, **labels)


def test_records_and_bytes_in_are_those_of_the_log(broker: BrokerProcess) -> None:
    create_topic(broker, "in")
    before = scrape(broker)
    produce(broker, "in", 1000)
    errors = {"request": "Produce", "error": "NONE"}
    after = scrape_when(
        broker,
        lambda found: (
            0
            < grown(before, found, f"{REQUEST}_errors_total", **errors)
            == grown(before, found, f"{REQUEST}_requests_total", request="Produce")
        ),
    )
    assert after.value(f"{TOPIC}_messagesin_total", topic="in") == 1000
    assert after.value(f"{TOPIC}_bytesin_total", topic="in") == log_bytes(broker, "in")
    assert after.value(f"{TOPIC}_messagesin_total") - before.value(f"{TOPIC}_messagesin_total") == 1000
    requests = grown(before, after, f"{REQUEST}_requests_total", request="Produce")
    assert grown(before, after, f"{REQUEST}_totaltimems_count", request="Produce") == requests
    # The record batches, and around them what names topic and partition.
    assert grown(before, after, f"{REQUEST}_requestbytes_sum", request="Produce") > log_bytes(broker, "in")


def test_bytes_out_are_what_a_consumer_was_sent(broker: BrokerProcess) -> None:
    create_topic(broker, "out")
    produce(broker, "out", 500)
    before = scrape(broker)
    consume(broker, "out", 500)
    left = {"request": "LeaveGroup"}
    after = scrape_when(broker, lambda found: grown(before, found, f"{REQUEST}_requests_total", **left) >= 1)
    assert after.value(f"{TOPIC}_bytesout_total", topic="out") == log_bytes(broker, "out")
    assert after.value(f"{TOPIC}_totalfetchrequests_total", topic="out") > 0
    assert grown(before, after, "kcli_network_responsebytes_sum", request="Fetch") > log_bytes(broker, "out")
    for api in ("JoinGroup", "SyncGroup", "OffsetCommit", "LeaveGroup"):
        assert grown(before, after, f"{REQUEST}_requests_total", request=api) >= 1, api


def test_records_that_are_too_large_are_rejected_bytes(broker: BrokerProcess) -> None:
    create_topic(broker, "small", **{"max.message.bytes": "1000"})
    before = scrape(broker)
    producer = Producer({"bootstrap.servers": broker.bootstrap_server})
    errors: list[str] = []
    producer.produce("small", value=bytes(5000), on_delivery=lambda error, _: errors.append(error.name()))  # type: ignore[union-attr]
    assert producer.flush(TIMEOUT_S) == 0
    refused = {"request": "Produce", "error": "MESSAGE_TOO_LARGE"}
    after = scrape_when(broker, lambda found: grown(before, found, f"{REQUEST}_errors_total", **refused) > 0)
    assert errors == ["MSG_SIZE_TOO_LARGE"]
    assert after.value(f"{TOPIC}_bytesrejected_total", topic="small") > 5000
    assert after.value(f"{TOPIC}_bytesin_total", topic="small") == 0
    assert after.value(f"{TOPIC}_failedproducerequests_total", topic="small") == 0
    assert grown(before, after, f"{REQUEST}_errors_total", **refused) == 1


def test_records_without_keys_in_a_compacted_topic_are_failures(broker: BrokerProcess) -> None:
    create_topic(broker, "compacted", **{"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap_server, "retries": 0})
    producer.produce("compacted", value=b"without a key")
    assert producer.flush(TIMEOUT_S) == 0
    after = scrape(broker)
    assert after.value(f"{TOPIC}_failedproducerequests_total", topic="compacted") == 1
    assert after.value(f"{TOPIC}_totalproducerequests_total", topic="compacted") == 1


def test_a_codec_of_the_topic_converts_records(broker: BrokerProcess) -> None:
    create_topic(broker, "gzipped", **{"compression.type": "gzip"})
    produce(broker, "gzipped", 100, **{"compression.type": "lz4"})
    after = scrape(broker)
    assert after.value(f"{TOPIC}_producemessageconversions_total", topic="gzipped") == 100


def test_a_fetch_that_waits_is_remote_time(broker: BrokerProcess) -> None:
    create_topic(broker, "waits")
    before = scrape(broker)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_server,
            "group.id": "waits",
            "fetch.wait.max.ms": 300,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["waits"])

    def spent(name: str) -> float:
        return grown(before, scrape(broker), f"{REQUEST}_{name}", request="Fetch")

    deadline = time.monotonic() + TIMEOUT_S
    # A wait begins with the request, and remote time once what is done at once is done: later, on a busy machine.
    while spent("remotetimems_sum") < 290 * 2 or spent("localtimems_sum") >= spent("remotetimems_sum"):
        consumer.poll(0.1)
        assert time.monotonic() < deadline
    assert spent("requests_total") >= 2
    consumer.close()


def test_the_parts_of_the_time_are_its_whole(broker: BrokerProcess) -> None:
    """Every API that was asked for so far, by its sums."""
    metrics = scrape(broker)
    apis = {dict(labels)["request"] for (name, labels) in metrics.samples if name == f"{REQUEST}_totaltimems_count"}
    assert {"Produce", "Fetch", "Metadata", "ApiVersions"} <= apis
    parts = ("requestqueuetimems", "localtimems", "remotetimems", "responsequeuetimems", "responsesendtimems")
    for api in apis:
        whole = metrics.value(f"{REQUEST}_totaltimems_sum", request=api)
        summed = sum(metrics.value(f"{REQUEST}_{part}_sum", request=api) for part in parts)
        assert summed == pytest.approx(whole, rel=0.02, abs=0.5), api


def test_flushes_and_what_lies_in_the_logs(broker: BrokerProcess) -> None:
    create_topic(broker, "flushed", **{"flush.messages": "1"})
    flushes = "kafka_log_logflushstats_logflushrateandtimems_count"
    before = scrape(broker)
    produce(broker, "flushed", 10)
    after = scrape(broker)
    assert grown(before, after, flushes) >= 2  # one a partition at least
    for index in ("0", "1"):
        assert after.value("kafka_log_log_logendoffset", topic="flushed", partition=index) == 5
        assert after.value("kafka_log_log_numlogsegments", topic="flushed", partition=index) == 1
    assert after.total("kafka_log_log_size", topic="flushed") == log_bytes(broker, "flushed")


def test_connections_by_listener(broker: BrokerProcess) -> None:
    before = scrape(broker)
    connections = [RawClient(broker.port) for _ in range(5)]
    for connection in connections:
        connection.__enter__()
    name = "kafka_server_socket_server_metrics_connection"
    listener = {"listener": "PLAINTEXT"}
    # A connection is counted by its processor, which may do so after the client has been told that it is open.
    during = scrape_when(broker, lambda found: grown(before, found, f"{name}_creation_total", **listener) >= 5)
    assert during.total(f"{name}_count") >= 5
    for connection in connections:
        connection.__exit__()
    scrape_when(broker, lambda found: grown(before, found, f"{name}_close_total", **listener) >= 5)


def test_a_deleted_topic_takes_its_series_and_leaves_the_sums(broker: BrokerProcess) -> None:
    create_topic(broker, "mortal")
    produce(broker, "mortal", 10)
    before = scrape(broker)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    admin.delete_topics(["mortal"])["mortal"].result(TIMEOUT_S)
    after = scrape(broker)
    assert before.value(f"{TOPIC}_messagesin_total", topic="mortal") == 10
    assert (f"{TOPIC}_messagesin_total", frozenset({("topic", "mortal")})) not in after.samples
    assert after.value(f"{TOPIC}_messagesin_total") >= before.value(f"{TOPIC}_messagesin_total")


def test_gauges_of_the_server(broker: BrokerProcess) -> None:
    metrics = scrape(broker)
    assert metrics.value("kafka_server_kafkaserver_brokerstate") == 3
    assert metrics.value("kafka_controller_kafkacontroller_activecontrollercount") == 1
    topics = AdminClient({"bootstrap.servers": broker.bootstrap_server}).list_topics(timeout=TIMEOUT_S).topics
    assert metrics.value("kafka_controller_kafkacontroller_globaltopiccount") == len(topics)
    partitions = sum(len(topic.partitions) for topic in topics.values())
    for name in ("leadercount", "partitioncount"):
        assert metrics.value(f"kafka_server_replicamanager_{name}") == partitions
    assert metrics.value("kafka_server_replicamanager_underreplicatedpartitions") == 0
    assert 0 < metrics.value("kafka_network_socketserver_networkprocessoravgidlepercent") <= 1
    assert 0 < metrics.value("kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent") <= 1
    assert metrics.value("process_resident_memory_bytes") > 1 << 20
    assert abs(metrics.value("process_start_time_seconds") - time.time()) < 3600


def test_network_threads_may_be_added(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    threads = ConfigEntry("num.network.threads", "5", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.BROKER, str(broker.started["broker_id"]), incremental_configs=[threads])
    admin.incremental_alter_configs([resource])[resource].result(TIMEOUT_S)
    metrics = scrape(broker)
    for name in ("kafka_network_processor_idlepercent", "kafka_server_socket_server_metrics_connection_count"):
        assert len({labels for found, labels in metrics.samples if found == name}) == 5
    assert 0 < metrics.value("kafka_network_socketserver_networkprocessoravgidlepercent") <= 1


def test_every_metric_of_the_table_is_served(broker: BrokerProcess) -> None:
    served = {family.name for family in scrape(broker).families.values()}
    # The parser takes the suffix off the names of counters.
    assert {name.removesuffix("_total") for name in METRICS} <= served


def test_topics_and_partitions_beyond_the_bounds(tmp_path: Path) -> None:
    overrides = {"metrics.port": "0", "metrics.max.topics": "1", "metrics.max.partitions": "3"}
    with BrokerProcess(tmp_path / "data", overrides) as broker:
        for number, topic in enumerate(("first", "second", "third"), 1):
            create_topic(broker, topic)
            produce(broker, topic, 10 * number)
        metrics = scrape(broker)
    series = {labels: value for (name, labels), value in metrics.samples.items() if name == f"{TOPIC}_messagesin_total"}
    # Each topic alone up to the bound, then the rest together, and the sum of all.
    assert series == {
        frozenset(): 60,
        frozenset({("topic", "first")}): 10,
        frozenset({("topic", "(others)")}): 50,
    }
    assert sum(name == "kafka_log_log_size" for name, _ in metrics.samples) == 3


def test_a_broker_without_the_endpoint_opens_no_port(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        sockets = [os.readlink(link) for link in Path(f"/proc/{broker.pid}/fd").iterdir()]
        listening = {line.split()[9] for line in Path("/proc/net/tcp").read_text().splitlines() if " 0A " in line}
        own = [name for name in sockets if name.startswith("socket:[") and name[8:-1] in listening]
        assert len(own) == 1  # its listener for clients
