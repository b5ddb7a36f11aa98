"""Clients that no one here wrote, unmodified, against a broker in a process of its own.

The sizes are those of CI. Every client reads back exactly what it wrote: by offset, by timestamp and as a group, after
a clean restart and after kill -9.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import TransactionalIdAuthorizationFailed
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec
from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError as KafkaErrorOfKafkaPython

from kcore.client.producer import Producer as OurProducer
from kcore.errors import UnsupportedVersionError
from tests.broker_process import BrokerProcess

KAFKA_JARS = Path(__file__).resolve().parents[2] / "bin" / "kafka-jars"
TIMEOUT_S = 60
NO_TRANSACTIONS = "This broker does not support transactions. Use a producer without transactional.id."
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module", params=["true", "false"], ids=["native", "handlers"])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """Default settings, with the fast path on and forced off."""
    directory = tmp_path_factory.mktemp("clients") / "data"
    with BrokerProcess(directory, {"kcli.fast.path.enable": request.param}) as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()
        broker.start()


def produce_with_confluent(server: str, topic: str, values: list[bytes], **settings: object) -> None:
    """Everything acknowledged, or an exception."""
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: object) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({"bootstrap.servers": server, **settings})
    for value in values:
        while True:
            try:
                producer.produce(topic, value=value, key=value[-2:], on_delivery=delivered)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    assert producer.flush(TIMEOUT_S) == 0
    assert failures == []


def consume_with_confluent(consumer: Consumer, count: int) -> list[bytes]:
    """The next `count` values."""
    values: list[bytes] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(values) < count and time.monotonic() < deadline:
        for message in consumer.consume(min(5000, count - len(values)), 1.0):
            if message.error() is not None:
                raise KafkaException(message.error())
            values.append(message.value())
    consumer.close()
    return values


def assigned(server: str, topic: str, offset: int = 0) -> Consumer:
    """A consumer of partition 0 from an offset on."""
    consumer = Consumer({"bootstrap.servers": server, "group.id": "assigned", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, offset)])
    return consumer


def numbered(count: int) -> list[bytes]:
    return [b"record-%d" % number for number in range(count)]


@pytest.mark.parametrize("idempotent", [False, True])
@pytest.mark.parametrize("codec", CODECS)
def test_confluent_reads_what_it_wrote(broker: BrokerProcess, codec: str, idempotent: bool) -> None:
    values = numbered(5000)
    topic = f"confluent-{codec}-{idempotent}"
    produce_with_confluent(
        broker.bootstrap_server, topic, values, **{"compression.type": codec, "enable.idempotence": idempotent}
    )
    assert consume_with_confluent(assigned(broker.bootstrap_server, topic), len(values)) == values


def test_a_hundred_thousand_records(broker: BrokerProcess) -> None:
    values = numbered(100_000)
    produce_with_confluent(broker.bootstrap_server, "many", values)
    assert consume_with_confluent(assigned(broker.bootstrap_server, "many"), len(values)) == values
    assert consume_with_confluent(assigned(broker.bootstrap_server, "many", 99_990), 10) == values[-10:]


def test_records_are_found_by_timestamp(broker: BrokerProcess) -> None:
    server = broker.bootstrap_server
    producer = Producer({"bootstrap.servers": server})
    for number in range(1000):
        producer.produce("timed", value=b"%d" % number, timestamp=1_700_000_000_000 + number * 10)
    assert producer.flush(TIMEOUT_S) == 0
    consumer = assigned(server, "timed")
    (found,) = consumer.offsets_for_times([TopicPartition("timed", 0, 1_700_000_000_000 + 5001)], timeout=TIMEOUT_S)
    assert found.offset == 501
    consumer.assign([found])
    assert consume_with_confluent(consumer, 3) == [b"501", b"502", b"503"]


def member_of(server: str, group: str, topic: str) -> Consumer:
    member = Consumer({"bootstrap.servers": server, "group.id": group, "auto.offset.reset": "earliest"})
    member.subscribe([topic])
    return member


def write_to_new_topic(server: str, topic: str, values: list[bytes]) -> None:
    """To four partitions."""
    admin = AdminClient({"bootstrap.servers": server})
    for future in admin.create_topics([NewTopic(topic, 4, 1)]).values():
        future.result(TIMEOUT_S)
    produce_with_confluent(server, topic, values)


def read_until(members: list[Consumer], is_over: Callable[[list[bytes]], bool]) -> list[bytes]:
    """What all of them read, in turns."""
    read: list[bytes] = []
    deadline = time.monotonic() + TIMEOUT_S
    while not is_over(read):
        assert time.monotonic() < deadline
        for member in members:
            read += [message.value() for message in member.consume(500, 0.2) if message.error() is None]
    return read


def test_a_group_shares_partitions_and_goes_on_where_it_was(broker: BrokerProcess) -> None:
    server = broker.bootstrap_server
    values = numbered(2000)
    write_to_new_topic(server, "grouped", values)
    members = [member_of(server, "sharers", "grouped") for _ in range(2)]

    def all_read_and_shared(read: list[bytes]) -> bool:
        # A member that closes in the middle of a rebalance may not commit what it read last.
        return len(read) >= len(values) and all(member.assignment() for member in members)

    assert sorted(read_until(members, all_read_and_shared)) == sorted(values)
    for member in members:
        member.close()  # which commits what was read
    produce_with_confluent(server, "grouped", [b"afterwards"])
    successor = member_of(server, "sharers", "grouped")
    assert consume_with_confluent(successor, 1) == [b"afterwards"]


def test_members_that_close_in_mid_rebalance_lose_nothing(broker: BrokerProcess) -> None:
    """librdkafka may give up a commit there, against Apache Kafka 3.9 as often as here: read twice, never missed."""
    server = broker.bootstrap_server
    values = numbered(2000)
    write_to_new_topic(server, "closed-early", values)
    members = [member_of(server, "closers", "closed-early") for _ in range(2)]
    read = read_until(members, lambda read: len(read) >= len(values))
    for member in members:
        member.close()
    produce_with_confluent(server, "closed-early", [b"afterwards"])
    successor = member_of(server, "closers", "closed-early")
    again = read_until([successor], lambda read: b"afterwards" in read)
    successor.close()
    assert set(read) | set(again) == {*values, b"afterwards"}
    assert len(again) == len(set(again))


def test_kafka_python(broker: BrokerProcess) -> None:
    values = numbered(3000)
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_server)
    futures = [producer.send("kafka-python", value) for value in values]
    producer.flush(TIMEOUT_S)
    assert [future.get(TIMEOUT_S).offset for future in futures] == list(range(len(values)))
    producer.close()
    consumer = KafkaConsumer(
        "kafka-python",
        bootstrap_servers=broker.bootstrap_server,
        group_id="kafka-python",
        auto_offset_reset="earliest",
        consumer_timeout_ms=TIMEOUT_S * 1000,
    )
    read = [message.value for _, message in zip(range(len(values)), consumer, strict=False)]
    consumer.close()
    assert read == values


def test_aiokafka(broker: BrokerProcess) -> None:
    values = numbered(3000)

    async def run() -> list[bytes]:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_server, enable_idempotence=True) as producer:
            for value in values:
                await producer.send("aiokafka", value)
        async with AIOKafkaConsumer(
            "aiokafka",
            bootstrap_servers=broker.bootstrap_server,
            group_id="aiokafka",
            auto_offset_reset="earliest",
        ) as consumer:
            return [(await consumer.getone()).value for _ in values]

    assert asyncio.run(asyncio.wait_for(run(), TIMEOUT_S)) == values


def test_the_admin_client(broker: BrokerProcess) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    topic = NewTopic("administered", 3, 1, config={"retention.ms": "60000"})
    for future in admin.create_topics([topic]).values():
        future.result(TIMEOUT_S)
    assert len(admin.list_topics("administered", timeout=TIMEOUT_S).topics["administered"].partitions) == 3
    resource = ConfigResource(ConfigResource.Type.TOPIC, "administered")
    configs = admin.describe_configs([resource])[resource].result(TIMEOUT_S)
    assert configs["retention.ms"].value == "60000"
    assert configs["segment.bytes"].is_default
    cluster = admin.describe_cluster().result(TIMEOUT_S)
    assert [node.id for node in cluster.nodes] == [broker.started["broker_id"]]
    assert cluster.cluster_id == broker.started["cluster_id"]
    wanted = {TopicPartition("administered", 0): OffsetSpec.latest()}
    assert admin.list_offsets(wanted)[TopicPartition("administered", 0)].result(TIMEOUT_S).offset == 0
    for future in admin.delete_topics(["administered"]).values():
        future.result(TIMEOUT_S)
    assert "administered" not in admin.list_topics(timeout=TIMEOUT_S).topics
    with pytest.raises(KafkaException) as refusal:
        admin.delete_topics(["administered"])["administered"].result(TIMEOUT_S)
    assert refusal.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_transactions_of_librdkafka_fail_at_once_and_by_name(broker: BrokerProcess) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_server, "transactional.id": "tx"})
    with pytest.raises(KafkaException) as refusal:
        producer.init_transactions(TIMEOUT_S)
    assert refusal.value.args[0].fatal()
    assert refusal.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert refusal.value.args[0].str().endswith(NO_TRANSACTIONS)


def test_transactions_of_kafka_python_fail_at_once_and_by_name(broker: BrokerProcess) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_server, transactional_id="tx")
    try:
        with pytest.raises(KafkaErrorOfKafkaPython, match="UnsupportedVersionError"):
            producer.init_transactions()
    finally:
        producer.close()


def test_transactions_of_aiokafka_fail_at_once(broker: BrokerProcess) -> None:
    async def start() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_server, transactional_id="tx")
        try:
            with pytest.raises(TransactionalIdAuthorizationFailed):
                await producer.start()
        finally:
            await producer.stop()

    asyncio.run(start())


def test_transactions_of_our_client_fail_at_once_and_by_name(broker: BrokerProcess) -> None:
    producer = OurProducer({"bootstrap.servers": broker.bootstrap_server, "transactional.id": "tx"})
    try:
        with pytest.raises(UnsupportedVersionError, match=re.escape(NO_TRANSACTIONS)):
            producer.init_transactions()
    finally:
        producer.close()


@pytest.mark.needs("java", "mvn")
@pytest.mark.parametrize("version", ["3.9", "4"])
def test_transactions_of_java_fail_at_once_and_by_name(broker: BrokerProcess, version: str) -> None:
    jars = subprocess.run([KAFKA_JARS, version], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    source = Path(__file__).with_name("TransactionalProducer.java")
    command = ["java", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-XX:TieredStopAtLevel=1", "-cp", jars, source]
    done = subprocess.run([*command, broker.bootstrap_server], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S)
    assert done.stdout.strip() == (
        "KafkaException Could not find a coordinator with type TRANSACTION with key tx due to unexpected error: "
        + NO_TRANSACTIONS
    )


@pytest.mark.parametrize("kill", [False, True], ids=["clean", "kill -9"])
def test_acknowledged_records_are_there_after_a_restart(broker: BrokerProcess, kill: bool) -> None:
    server = broker.bootstrap_server
    topic = f"restarted-{kill}"
    values = numbered(2000)
    produce_with_confluent(server, topic, values, acks="all")
    broker.restart(kill=kill)
    assert broker.bootstrap_server == server
    produce_with_confluent(server, topic, [b"later"])
    assert consume_with_confluent(assigned(server, topic), len(values) + 1) == [*values, b"later"]
