"""A changed configuration takes effect at once: each is set by a client on a running broker and told by what it does.

The broker is a process of its own whose background work runs every few milliseconds; what it does in its own time is
awaited by asking, and every test has a topic of its own.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from kcore.client.admin import configs as our_configs
from kcore.client.admin.configs import BROKER_RESOURCE, DELETE, SET, ConfigAdmin, ConfigOperation
from kcore.client.admin.results import raise_first
from kcore.client.cluster_client import ClusterClient
from tests.broker_process import BrokerProcess

TIMEOUT_S = 60
BROKER_ID = "1"
HOUR_MS = 3_600_000
CODEC_BITS, GZIP, UNCOMPRESSED = 7, 1, 0
# What a change of the configuration has to undo, so that a test sees its effect: Kafka's defaults wait for minutes.
QUICK = {
    "broker.id": BROKER_ID,
    "log.retention.check.interval.ms": "20",
    "log.initial.task.delay.ms": "20",
    "log.flush.offset.checkpoint.interval.ms": "20",
}


class Cluster:
    """One broker with an admin client and a producer."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.broker = broker
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
        self.producer = Producer({"bootstrap.servers": broker.bootstrap_server, "linger.ms": 0})

    def let_go(self) -> None:
        """Of librdkafka's clients: pytest has this object for longer than the broker lives."""
        del self.admin, self.producer

    def create(self, topic: str, **configs: str) -> None:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        self.admin.create_topics([NewTopic(topic, 1, 1, config=named)])[topic].result(TIMEOUT_S)

    def set(self, topic: str, name: str, value: str | None) -> None:
        self._alter(ConfigResource(ResourceType.TOPIC, topic), name, value)

    def set_for_brokers(self, name: str, value: str | None, broker_id: str = "") -> None:
        """With our own client: librdkafka refuses the empty name that stands for all brokers."""
        operation = ConfigOperation(name, DELETE if value is None else SET, value)
        with ClusterClient(self.broker.bootstrap_server) as client:
            resource = our_configs.ConfigResource(BROKER_RESOURCE, broker_id)
            raise_first(ConfigAdmin(client).alter_configs({resource: [operation]}))

    def _alter(self, resource: ConfigResource, name: str, value: str | None) -> None:
        operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
        resource.add_incremental_config(ConfigEntry(name, value, incremental_operation=operation))
        for future in self.admin.incremental_alter_configs([resource]).values():
            future.result(TIMEOUT_S)

    def produce(
        self, topic: str, value: bytes = b"v", timestamp_ms: int = 0, key: bytes | None = None
    ) -> KafkaError | None:
        """One record, in a batch of its own; what became of it."""
        outcome: list[KafkaError | None] = []
        self.producer.produce(
            topic, value, key, timestamp=timestamp_ms, on_delivery=lambda error, _: outcome.append(error)
        )
        assert self.producer.flush(TIMEOUT_S) == 0
        return outcome[0]

    def last_record(self, topic: str) -> Message:
        """The record before the end of the log."""
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap_server, "group.id": "effects"})
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S)
            consumer.assign([TopicPartition(topic, 0, end - 1)])
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            assert message.error() is None, message.error()
            return message
        finally:
            consumer.close()

    def start_offset(self, topic: str) -> int:
        partition = TopicPartition(topic, 0)
        return int(self.admin.list_offsets({partition: OffsetSpec.earliest()})[partition].result(TIMEOUT_S).offset)

    def files(self, topic: str, suffix: str = ".log") -> list[Path]:
        return sorted((self.broker.data_dir / f"{topic}-0").glob(f"*{suffix}"))

    def batch_codecs(self, topic: str) -> list[int]:
        """The codec of every batch in the last segment: base offset 8, length 4, ..., attributes at byte 21."""
        data = self.files(topic)[-1].read_bytes()
        codecs, position = [], 0
        while position < len(data):
            codecs.append(int.from_bytes(data[position + 21 : position + 23], "big") & CODEC_BITS)
            position += 12 + int.from_bytes(data[position + 8 : position + 12], "big")
        return codecs


@pytest.fixture(scope="module", params=["true", "false"], ids=["native", "handlers"])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("effects") / "data"
    with BrokerProcess(directory, {**QUICK, "kcli.fast.path.enable": request.param}) as broker:
        cluster = Cluster(broker)
        yield cluster
        cluster.let_go()
        assert "Traceback" not in broker.log()


def awaited(condition: Callable[[], bool]) -> bool:
    """Whether something comes true that the broker does in its own time."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def now_ms() -> int:
    return int(time.time() * 1000)


def test_retention_ms_drops_old_segments(cluster: Cluster) -> None:
    cluster.create("retention-ms", segment_bytes="1000")
    for _ in range(3):
        assert cluster.produce("retention-ms", b"x" * 800, now_ms() - HOUR_MS) is None
    assert cluster.start_offset("retention-ms") == 0
    cluster.set("retention-ms", "retention.ms", str(HOUR_MS // 2))
    assert awaited(lambda: cluster.start_offset("retention-ms") == 3)


def test_retention_bytes_drops_what_is_too_much(cluster: Cluster) -> None:
    cluster.create("retention-bytes", segment_bytes="1000")
    for _ in range(4):
        assert cluster.produce("retention-bytes", b"x" * 800) is None
    cluster.set("retention-bytes", "retention.bytes", "1000")
    assert awaited(lambda: cluster.start_offset("retention-bytes") > 0)
    assert cluster.start_offset("retention-bytes") < 4


def test_cleanup_policy_says_whether_retention_applies(cluster: Cluster) -> None:
    cluster.create("policy", segment_bytes="1000", cleanup_policy="compact", retention_ms="1")
    cluster.create("policy-beside", segment_bytes="1000", retention_ms="1")
    for topic in ("policy", "policy-beside"):
        for _ in range(2):
            assert cluster.produce(topic, b"x" * 800, now_ms() - HOUR_MS, b"key") is None
    # A run of the retention task that took the other topic's segments has left this one's alone.
    assert awaited(lambda: cluster.start_offset("policy-beside") == 2)
    assert cluster.start_offset("policy") == 0
    cluster.set("policy", "cleanup.policy", "delete")
    assert awaited(lambda: cluster.start_offset("policy") == 2)


def test_a_compacted_topic_demands_keys(cluster: Cluster) -> None:
    cluster.create("keys")
    assert cluster.produce("keys") is None
    cluster.set("keys", "cleanup.policy", "compact")
    error = cluster.produce("keys")
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD
    assert cluster.produce("keys", key=b"k") is None


def test_segment_bytes_bounds_the_next_segments(cluster: Cluster) -> None:
    cluster.create("segment-bytes")
    for _ in range(4):
        assert cluster.produce("segment-bytes", b"x" * 800) is None
    assert len(cluster.files("segment-bytes")) == 1
    cluster.set("segment-bytes", "segment.bytes", "1000")
    for _ in range(3):
        assert cluster.produce("segment-bytes", b"x" * 800) is None
    assert len(cluster.files("segment-bytes")) == 4


def test_segment_ms_bounds_the_age_of_a_segment(cluster: Cluster) -> None:
    cluster.create("segment-ms")
    start = now_ms()
    assert cluster.produce("segment-ms", timestamp_ms=start) is None
    assert cluster.produce("segment-ms", timestamp_ms=start + 20_000) is None
    assert len(cluster.files("segment-ms")) == 1
    cluster.set("segment-ms", "segment.ms", "10000")
    assert cluster.produce("segment-ms", timestamp_ms=start + 40_000) is None
    assert len(cluster.files("segment-ms")) == 2


def test_max_message_bytes_bounds_a_batch(cluster: Cluster) -> None:
    cluster.create("max-message")
    value = b"x" * 10_000
    assert cluster.produce("max-message", value) is None
    cluster.set("max-message", "max.message.bytes", "9000")
    error = cluster.produce("max-message", value)
    assert error is not None
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    cluster.set("max-message", "max.message.bytes", None)
    assert cluster.produce("max-message", value) is None


def test_compression_type_is_what_is_stored(cluster: Cluster) -> None:
    cluster.create("codec")
    value = b"compressible " * 100
    assert cluster.produce("codec", value) is None
    cluster.set("codec", "compression.type", "gzip")
    assert cluster.produce("codec", value) is None
    cluster.set("codec", "compression.type", "producer")
    assert cluster.produce("codec", value) is None
    assert cluster.batch_codecs("codec") == [UNCOMPRESSED, GZIP, UNCOMPRESSED]
    assert cluster.last_record("codec").value() == value


def test_timestamp_type_says_whose_clock_counts(cluster: Cluster) -> None:
    cluster.create("timestamps")
    an_hour_ago = now_ms() - HOUR_MS
    assert cluster.produce("timestamps", timestamp_ms=an_hour_ago) is None
    assert cluster.last_record("timestamps").timestamp() == (TIMESTAMP_CREATE_TIME, an_hour_ago)
    cluster.set("timestamps", "message.timestamp.type", "LogAppendTime")
    assert cluster.produce("timestamps", timestamp_ms=an_hour_ago) is None
    kind, timestamp_ms = cluster.last_record("timestamps").timestamp()
    assert kind == TIMESTAMP_LOG_APPEND_TIME
    assert timestamp_ms > an_hour_ago + HOUR_MS // 2


def test_a_timestamp_is_an_hour_ahead_at_most_without_any_configuration(cluster: Cluster) -> None:
    cluster.create("an-hour-ahead")
    assert cluster.produce("an-hour-ahead", timestamp_ms=now_ms() + HOUR_MS) is None
    error = cluster.produce("an-hour-ahead", timestamp_ms=now_ms() + 2 * HOUR_MS)
    assert error is not None
    assert error.code() == KafkaError.INVALID_TIMESTAMP


@pytest.mark.parametrize(
    ("name", "shift_ms"),
    [
        ("message.timestamp.before.max.ms", -HOUR_MS),
        ("message.timestamp.after.max.ms", HOUR_MS),
        ("message.timestamp.difference.max.ms", -HOUR_MS),
        ("message.timestamp.difference.max.ms", HOUR_MS),
    ],
)
def test_timestamps_out_of_bounds_are_refused(cluster: Cluster, name: str, shift_ms: int) -> None:
    topic = f"bounds-{name}-{shift_ms}"
    cluster.create(topic)
    timestamp_ms = now_ms() + shift_ms
    assert cluster.produce(topic, timestamp_ms=timestamp_ms) is None
    cluster.set(topic, name, str(HOUR_MS // 2))
    error = cluster.produce(topic, timestamp_ms=timestamp_ms)
    assert error is not None
    assert error.code() == KafkaError.INVALID_TIMESTAMP
    assert cluster.produce(topic, timestamp_ms=now_ms()) is None


def test_min_insync_replicas_holds_back_acknowledgements(cluster: Cluster) -> None:
    cluster.create("in-sync")
    producer = Producer(
        {"bootstrap.servers": cluster.broker.bootstrap_server, "acks": "all", "message.send.max.retries": 0}
    )

    def produce() -> KafkaError | None:
        outcome: list[KafkaError | None] = []
        producer.produce("in-sync", b"v", on_delivery=lambda error, _: outcome.append(error))
        assert producer.flush(TIMEOUT_S) == 0
        return outcome[0]

    assert produce() is None
    cluster.set("in-sync", "min.insync.replicas", "2")
    error = produce()
    assert error is not None
    assert error.code() == KafkaError.NOT_ENOUGH_REPLICAS
    cluster.set("in-sync", "min.insync.replicas", "1")
    assert produce() is None


def test_flush_messages_says_after_how_many_records_the_log_is_on_disk(cluster: Cluster) -> None:
    def recovery_point(topic: str) -> int:
        text = (cluster.broker.data_dir / "recovery-point-offset-checkpoint").read_text()
        found = re.search(rf"^{topic} 0 (\d+)$", text, re.MULTILINE)
        return int(found[1]) if found else -1

    cluster.create("flush")
    assert cluster.produce("flush") is None
    # The checkpoint that first names the topic was written after the record, and knows of no flush.
    assert awaited(lambda: recovery_point("flush") >= 0)
    assert recovery_point("flush") == 0
    cluster.set("flush", "flush.messages", "1")
    assert cluster.produce("flush") is None
    assert awaited(lambda: recovery_point("flush") == 2)


def test_index_interval_bytes_says_how_dense_the_index_is(cluster: Cluster) -> None:
    def entries(segment: int) -> int:
        return cluster.files("index", ".index")[segment].stat().st_size // 8

    cluster.create("index", index_interval_bytes="1000000", segment_bytes="3500")
    for _ in range(4):
        assert cluster.produce("index", b"x" * 800) is None
    cluster.set("index", "index.interval.bytes", "100")
    for _ in range(4):
        assert cluster.produce("index", b"x" * 800) is None
    # One more begins the third segment: only of a finished one everything is in the file.
    assert cluster.produce("index", b"x" * 800) is None
    assert len(cluster.files("index")) == 3
    assert [entries(0), entries(1)] == [0, 3]


def test_file_delete_delay_ms_says_how_long_deleted_files_stay(cluster: Cluster) -> None:
    def deleted(topic: str) -> list[Path]:
        return list(cluster.broker.data_dir.glob(f"{topic}-0.*-delete"))

    cluster.create("delay-long")
    cluster.create("delay-none")
    cluster.set("delay-none", "file.delete.delay.ms", "0")
    for topic in ("delay-long", "delay-none"):
        cluster.admin.delete_topics([topic])[topic].result(TIMEOUT_S)
    assert awaited(lambda: not deleted("delay-none"))
    assert len(deleted("delay-long")) == 1


def test_a_default_of_all_brokers_reaches_topics_without_a_value_of_their_own(cluster: Cluster) -> None:
    value = b"x" * 800
    cluster.create("default")
    cluster.create("default-own", segment_bytes="1000000", max_message_bytes="1000000")
    for topic in ("default", "default-own"):
        assert cluster.produce(topic, value) is None
    cluster.set_for_brokers("log.segment.bytes", "1000")
    cluster.set_for_brokers("message.max.bytes", "700", BROKER_ID)
    try:
        error = cluster.produce("default", value)
        assert error is not None
        assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
        for topic in ("default", "default-own"):
            for _ in range(4):
                assert cluster.produce(topic, value[:500]) is None
        assert len(cluster.files("default")) > 1
        assert len(cluster.files("default-own")) == 1
    finally:
        cluster.set_for_brokers("message.max.bytes", None, BROKER_ID)
        cluster.set_for_brokers("log.segment.bytes", None)
    assert cluster.produce("default", value) is None


def test_retention_of_all_brokers_reaches_topics_without_a_value_of_their_own(cluster: Cluster) -> None:
    cluster.create("retained", segment_bytes="1000")
    cluster.create("retained-own", segment_bytes="1000", retention_ms=str(4 * HOUR_MS))
    for topic in ("retained", "retained-own"):
        for _ in range(2):
            assert cluster.produce(topic, b"x" * 800, now_ms() - HOUR_MS) is None
    cluster.set_for_brokers("log.retention.ms", str(HOUR_MS // 2))
    try:
        assert awaited(lambda: cluster.start_offset("retained") == 2)
        assert cluster.start_offset("retained-own") == 0
    finally:
        cluster.set_for_brokers("log.retention.ms", None)


def test_the_pool_of_handlers_grows_and_shrinks(cluster: Cluster) -> None:
    def threads() -> int:
        return len(list(Path(f"/proc/{cluster.broker.pid}/task").iterdir()))

    before = threads()
    cluster.set_for_brokers("num.io.threads", "16")
    assert threads() == before + 8
    cluster.set_for_brokers("num.io.threads", "8")
    assert awaited(lambda: threads() == before)
    cluster.set_for_brokers("num.io.threads", "4")
    assert awaited(lambda: threads() == before - 4)
    cluster.set_for_brokers("num.io.threads", None)
    assert threads() == before


def test_network_threads_are_added_for_new_connections(cluster: Cluster) -> None:
    def threads() -> int:
        return len(list(Path(f"/proc/{cluster.broker.pid}/task").iterdir()))

    before = threads()
    cluster.set_for_brokers("num.network.threads", "6")
    assert threads() == before + 3
    cluster.create("network")
    assert cluster.produce("network") is None
    cluster.set_for_brokers("num.network.threads", None)
    assert cluster.produce("network") is None


def test_what_was_set_stays_over_a_restart(cluster: Cluster) -> None:
    cluster.create("restart", segment_bytes="1000000")
    cluster.set_for_brokers("message.max.bytes", "700")
    try:
        cluster.broker.restart(kill=True)
        error = cluster.produce("restart", b"x" * 800)
        assert error is not None
        assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    finally:
        cluster.set_for_brokers("message.max.bytes", None)
    assert cluster.produce("restart", b"x" * 800) is None
