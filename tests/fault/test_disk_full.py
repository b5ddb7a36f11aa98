"""A disk that is really full, under real clients: refused and told, nothing acknowledged lost, and it passes.

The broker goes on serving readers, takes records again once there is room, and every restart on the way finds all that
was acknowledged; so does kill -9. The metadata store lies on the full disk too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as ConfluentPartition
from confluent_kafka.admin import AdminClient, NewTopic

from kcore.protocol import apis
from kcore.testing.errors import BrokerNotStarted
from tests.broker_process import BrokerProcess
from tests.fault.full_file_system import FullableFileSystem
from tests.fault.partition_clients import SENDERS
from tests.invariants.history import TopicPartition
from tests.raw_client import RawClient

TOPIC = "orders"
PLACE = TopicPartition(TOPIC, 0)
SET, BROKER_LOGGER = 0, 8
TIMEOUT_S = 60.0
# How long clients try: what must get through, on a loaded machine, and what the full disk refuses.
PATIENT_MS = 25_000
REFUSED_AFTER_MS = 1_500
VALUE_BYTES = 2_000
PROPERTIES = {
    "log.segment.bytes": "1000000",
    "replica.high.watermark.checkpoint.interval.ms": "50",
    "log.flush.offset.checkpoint.interval.ms": "50",
    "log.initial.task.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
}


def send(client: str, servers: str, values: list[bytes], tries_ms: int = PATIENT_MS) -> dict[int, bytes]:
    """The values that were acknowledged, by their offsets; the others were refused, as often as they were tried."""
    told = SENDERS[client](servers, PLACE, values, tries_ms, retries=True)
    return {one.offset: one.value for one in told if one.offset is not None}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[FullableFileSystem]:
    with FullableFileSystem(tmp_path / "small", size_mib=16) as file_system:
        yield file_system


def values(prefix: str, count: int) -> list[bytes]:
    return [f"{prefix} {number} ".encode().ljust(VALUE_BYTES, b".") for number in range(count)]


def read_all(servers: str) -> dict[int, bytes]:
    """Every record of the topic's one partition."""
    consumer = Consumer(
        {"bootstrap.servers": servers, "group.id": "all", "check.crcs": True, "enable.auto.commit": False}
    )
    try:
        _, end = consumer.get_watermark_offsets(ConfluentPartition(*PLACE), timeout=TIMEOUT_S)
        consumer.assign([ConfluentPartition(*PLACE, OFFSET_BEGINNING)])
        found: dict[int, bytes] = {}
        deadline = time.monotonic() + TIMEOUT_S
        while len(found) < end:
            assert time.monotonic() < deadline, f"{len(found)} of {end} records"
            for message in consumer.consume(1_000, 0.05):
                assert not message.error(), message.error()
                found[message.offset()] = message.value()
        return found
    finally:
        consumer.close()


def assert_kept(servers: str, acked: dict[int, bytes]) -> None:
    """Invariants 1 and 2: what was acknowledged is there, under its offset. More may be: an error is no promise."""
    found = read_all(servers)
    assert {offset: found.get(offset) for offset in acked} == acked


def create_topic(servers: str, name: str = TOPIC) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)


@pytest.mark.parametrize("fast_path", ["true", "false"])
@pytest.mark.parametrize(
    "client", [pytest.param(name, marks=[] if name == "confluent" else [pytest.mark.full_size]) for name in SENDERS]
)
def test_a_full_disk_refuses_and_takes_records_again(small: FullableFileSystem, client: str, fast_path: str) -> None:
    with BrokerProcess(small.path / "data", {**PROPERTIES, "kcli.fast.path.enable": fast_path}) as broker:
        servers = broker.bootstrap_server
        create_topic(servers)
        acked = send(client, servers, values("before", 200))
        assert len(acked) == 200
        small.fill()
        refused = send(client, servers, values("full", 20), REFUSED_AFTER_MS)
        assert len(refused) < 20, "there was no room for so much"
        acked |= refused
        broker.wait_for_log("The disk of log directory")
        assert_kept(servers, acked)
        small.make_room()
        again = send(client, servers, values("after", 200))
        assert len(again) == 200, "without a restart"
        acked |= again
        assert_kept(servers, acked)
        assert "offline" not in broker.log()
        assert broker.stop() == 0
        assert (small.path / "data" / ".kafka_cleanshutdown").exists()
        broker.start()
        assert_kept(broker.bootstrap_server, acked)


def refusal_to_start(broker: BrokerProcess) -> str | None:
    try:
        broker.start()
    except BrokerNotStarted as error:
        return str(error)
    return None


@pytest.mark.parametrize("end", ["kill", "stop"])
@pytest.mark.parametrize("flush", ["9223372036854775807", "1"])
def test_a_restart_on_a_full_disk_loses_nothing(small: FullableFileSystem, end: str, flush: str) -> None:
    properties = {**PROPERTIES, "log.flush.interval.messages": flush}
    with BrokerProcess(small.path / "data", properties) as broker:
        create_topic(broker.bootstrap_server)
        acked = send("confluent", broker.bootstrap_server, values("before", 300))
        small.fill()
        acked |= send("confluent", broker.bootstrap_server, values("full", 20), REFUSED_AFTER_MS)
        broker.kill() if end == "kill" else broker.stop()
        # There may be no room to say that a broker serves here; then it says so, and changes nothing.
        refusal = refusal_to_start(broker)
        if refusal is None:
            assert_kept(broker.bootstrap_server, acked)
            broker.kill()
        else:
            assert any(words in refusal for words in ("no room", "No space left", "is full"))
            assert "Traceback" not in refusal
        small.make_room()
        broker.start()
        assert_kept(broker.bootstrap_server, acked)
        again = send("confluent", broker.bootstrap_server, values("after", 100))
        assert len(again) == 100
        assert not set(again) & set(acked), "no offset is given out twice"
        assert_kept(broker.bootstrap_server, acked | again)


def create_topics(servers: str, made: list[str]) -> None:
    """Until one is refused."""
    for number in range(300):
        create_topic(servers, f"topic-{number}")
        made.append(f"topic-{number}")


def test_the_metadata_store_on_a_full_disk_refuses_and_goes_on(small: FullableFileSystem) -> None:
    with BrokerProcess(small.path / "data", PROPERTIES) as broker:
        servers = broker.bootstrap_server
        create_topic(servers)
        small.fill()
        made: list[str] = []
        with pytest.raises(KafkaException) as refused:
            create_topics(servers, made)
        assert refused.value.args[0].code() == KafkaError.KAFKA_STORAGE_ERROR
        small.make_room()
        create_topic(servers, "after")
        for kill in (True, False):
            topics = AdminClient({"bootstrap.servers": broker.bootstrap_server}).list_topics(timeout=TIMEOUT_S).topics
            assert set(topics) >= {TOPIC, "after", *made}
            assert "damaged" not in broker.log()
            broker.restart(kill=kill)
        assert len(send("confluent", broker.bootstrap_server, values("after", 10))) == 10


def test_other_log_directories_go_on(small: FullableFileSystem, tmp_path: Path) -> None:
    directories = f"{tmp_path / 'roomy'},{small.path / 'data'}"
    with BrokerProcess(tmp_path / "unused", {**PROPERTIES, "log.dirs": directories}) as broker:
        servers = broker.bootstrap_server
        admin = AdminClient({"bootstrap.servers": servers})
        admin.create_topics([NewTopic("both", 2, 1)])["both"].result(TIMEOUT_S)
        (full,) = (path.name for path in (small.path / "data").glob("both-*"))
        refusing = int(full.rpartition("-")[2])
        small.fill()
        outcomes: dict[int, list[bool]] = {0: [], 1: []}
        patience_ms = {refusing: REFUSED_AFTER_MS, 1 - refusing: PATIENT_MS}
        producers = [
            Producer({"bootstrap.servers": servers, "delivery.timeout.ms": patience_ms[partition], "linger.ms": 0})
            for partition in outcomes
        ]
        for value in values("full", 20):
            for partition, told in outcomes.items():
                producers[partition].produce(
                    "both",
                    value,
                    partition=partition,
                    on_delivery=lambda error, _, told=told: told.append(error is None),
                )
        assert [producer.flush(TIMEOUT_S) for producer in producers] == [0, 0]
        assert all(outcomes[1 - refusing])
        assert not all(outcomes[refusing])
        # New topics are made where there is room.
        for number in range(3):
            create_topic(servers, f"new-{number}")
        assert len(list((tmp_path / "roomy").glob("new-*"))) == 3


def test_a_topic_made_while_every_directory_is_full_comes_with_the_room(
    small: FullableFileSystem, tmp_path: Path
) -> None:
    # The metadata has room, the logs have none.
    properties = {**PROPERTIES, "metadata.log.dir": str(tmp_path / "metadata")}
    with BrokerProcess(small.path / "data", properties) as broker:
        servers = broker.bootstrap_server
        small.fill()
        create_topic(servers)
        assert send("confluent", servers, values("full", 2), REFUSED_AFTER_MS) == {}
        broker.wait_for_log(f"{TOPIC}-0 is offline until its log can be created")
        small.make_room()
        acked = send("confluent", servers, values("after", 100))
        assert len(acked) == 100, "without a restart"
        for kill in (True, False):
            assert_kept(broker.bootstrap_server, acked)
            broker.restart(kill=kill)
        assert_kept(broker.bootstrap_server, acked)


def log_removals(broker: BrokerProcess) -> None:
    """The directories of deleted partitions are named at DEBUG only."""
    change = {"name": "kcore.storage.log_manager", "config_operation": SET, "value": "DEBUG"}
    resource = {"resource_type": BROKER_LOGGER, "resource_name": str(broker.broker_id), "configs": [change]}
    with RawClient(int(broker.bootstrap_server.rpartition(":")[2])) as client:
        answer = client.request(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
    assert answer.responses[0].error_code == 0, answer


def test_deleting_a_topic_makes_room(small: FullableFileSystem) -> None:
    """What fills the disk can be deleted by the tools that everybody has."""
    properties = {**PROPERTIES, "log.segment.delete.delay.ms": "0"}
    with BrokerProcess(small.path / "data", properties) as broker:
        servers = broker.bootstrap_server
        create_topic(servers)
        create_topic(servers, "large")
        log_removals(broker)
        producer = Producer({"bootstrap.servers": servers})
        for value in values("large", 2_000):
            producer.produce("large", value, partition=0)
        assert producer.flush(TIMEOUT_S) == 0
        small.fill()
        # The log of the deletion itself needs a page or two.
        with (small.path / "ballast").open("rb+") as ballast:
            ballast.truncate(max(0, (small.path / "ballast").stat().st_size - (64 << 10)))
        assert len(send("confluent", servers, values("full", 200), REFUSED_AFTER_MS)) < 200
        admin = AdminClient({"bootstrap.servers": servers})
        admin.delete_topics(["large"])["large"].result(TIMEOUT_S)
        broker.wait_for_log("Deleted log directory")
        assert len(send("confluent", servers, values("after", 100))) == 100
