"""What clients do besides the plain case: odd sizes, odd names, topics that go away under them, many connections."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.broker_process import BrokerProcess
from tests.interop import scenarios
from tests.interop.consumer import TIMEOUT_S
from tests.interop.series import ReadBack, Series


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("corners") / "data") as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.fixture
def server(broker: BrokerProcess) -> str:
    return broker.bootstrap_server


def create(server: str, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(TIMEOUT_S)


def delete(server: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    admin.delete_topics([topic])[topic].result(TIMEOUT_S)


def send(server: str, topic: str, values: list[bytes | None], **settings: object) -> None:
    producer = Producer({"bootstrap.servers": server, **settings})
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(error)

    for value in values:
        producer.produce(topic, value, on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    if failures:
        raise KafkaException(failures[0])


@contextlib.contextmanager
def reading(server: str, topic: str, offset: int = 0, **settings: object) -> Iterator[Consumer]:
    """A consumer of partition 0."""
    consumer = Consumer({"bootstrap.servers": server, "group.id": "corners", "enable.auto.commit": False, **settings})
    consumer.assign([TopicPartition(topic, 0, offset)])
    yield consumer
    consumer.close()


def take(consumer: Consumer, count: int) -> list[Message]:
    messages: list[Message] = []
    deadline = time.monotonic() + TIMEOUT_S
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} records came"
        message = consumer.poll(1.0)
        if message is not None:
            if message.error() is not None:
                raise KafkaException(message.error())
            messages.append(message)
    return messages


def test_a_large_record_and_one_that_is_too_large(server: str) -> None:
    large = b"x" * 900_000
    send(server, "large", [large, b"small"])
    with reading(server, "large") as consumer:
        assert [message.value() for message in take(consumer, 2)] == [large, b"small"]
    too_large = {"message.max.bytes": 3_000_000}
    with pytest.raises(KafkaException) as refusal:
        send(server, "large", [b"x" * 2_000_000], **too_large)
    assert refusal.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
    send(server, "large", [b"afterwards"])
    with reading(server, "large", 2) as consumer:
        assert take(consumer, 1)[0].value() == b"afterwards"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_empty_and_null(server: str, codec: str) -> None:
    topic = f"empty-{codec}"
    producer = Producer({"bootstrap.servers": server, "compression.type": codec})
    pairs = [(None, None), (b"", b""), (None, b""), (b"", None), (b"key", None), (None, b"value")]
    for key, value in pairs:
        producer.produce(topic, value, key, partition=0)
    assert producer.flush(TIMEOUT_S) == 0
    with reading(server, topic) as consumer:
        assert [(message.key(), message.value()) for message in take(consumer, len(pairs))] == pairs


def test_librdkafka_knows_which_records_of_a_batch_are_bad(server: str) -> None:
    """Its own test 0011: the others fail with an error that says that they are not at fault themselves."""
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic("bad-records", 1, 1, config={"cleanup.policy": "compact"})])["bad-records"].result(
        TIMEOUT_S
    )
    producer = Producer({"bootstrap.servers": server, "batch.num.messages": 20, "linger.ms": TIMEOUT_S * 1000})
    outcomes: dict[bytes, str | None] = {}

    def delivered(error: KafkaError | None, message: Message) -> None:
        outcomes[message.value()] = error.name() if error is not None else None

    numbers = range(20)
    for number in numbers:
        producer.produce("bad-records", b"%d" % number, None if number % 4 == 1 else b"key", on_delivery=delivered)
    assert producer.flush(TIMEOUT_S) == 0
    assert outcomes == {
        b"%d" % number: "INVALID_RECORD" if number % 4 == 1 else "_INVALID_DIFFERENT_RECORD" for number in numbers
    }


def test_a_thousand_headers(server: str) -> None:
    headers = [(f"header-{number % 7}", b"%d" % number) for number in range(1_000)]
    headers += [("null", None), ("", b"nameless"), ("\N{SNOWMAN}", b"\xff\x00")]
    producer = Producer({"bootstrap.servers": server})
    producer.produce("headers", b"value", headers=headers)
    assert producer.flush(TIMEOUT_S) == 0
    with reading(server, "headers") as consumer:
        assert take(consumer, 1)[0].headers() == headers


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(server: str, acks: str) -> None:
    topic = f"acks-{acks}"
    create(server, topic)
    values = [b"%d" % number for number in range(500)]
    send(server, topic, values, acks=acks)
    with reading(server, topic) as consumer:
        assert [message.value() for message in take(consumer, len(values))] == values


def test_fifty_partitions(server: str) -> None:
    create(server, "fifty", 50)
    series = Series("confluent-kafka", 5_000, int(time.time() * 1000))
    scenarios.produce("confluent-kafka", server, "fifty", series, {})
    for client in scenarios.CLIENTS:
        assert scenarios.read_by_offset(client, server, "fifty", [series]) == 5_000


@pytest.mark.parametrize("name", ["sch\N{LATIN SMALL LETTER O WITH DIAERESIS}n", "with space", "a" * 250, "."])
def test_a_topic_name_that_is_none(server: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": server})
    with pytest.raises(KafkaException) as refusal:
        admin.create_topics([NewTopic(name, 1, 1)])[name].result(TIMEOUT_S)
    assert refusal.value.args[0].code() == KafkaError.TOPIC_EXCEPTION
    with pytest.raises(KafkaException) as refusal:
        send(server, name, [b"value"], **{"message.timeout.ms": 3_000})
    assert refusal.value.args[0].code() in (KafkaError.TOPIC_EXCEPTION, KafkaError._UNKNOWN_TOPIC)


def test_a_topic_is_made_when_it_is_written_to(server: str) -> None:
    send(server, "made-by-writing", [b"first"])
    with reading(server, "made-by-writing") as consumer:
        assert take(consumer, 1)[0].value() == b"first"


def test_a_long_poll_is_answered_when_enough_bytes_are_there(server: str) -> None:
    create(server, "long-poll")
    patient = {"fetch.min.bytes": 10_000, "fetch.wait.max.ms": 60_000, "socket.timeout.ms": 120_000}
    with reading(server, "long-poll", **patient) as consumer:
        assert consumer.poll(1.0) is None
        send(server, "long-poll", [b"x" * 1_000])
        assert consumer.poll(1.0) is None, "too few bytes for an answer"
        send(server, "long-poll", [b"y" * 20_000])
        assert [len(message.value() or b"") for message in take(consumer, 2)] == [1_000, 20_000]


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_isolation_levels_without_transactions(server: str, isolation: str) -> None:
    topic = f"isolation-{isolation}"
    values = [b"%d" % number for number in range(100)]
    send(server, topic, values, **{"enable.idempotence": True})
    with reading(server, topic, **{"isolation.level": isolation}) as consumer:
        assert [message.value() for message in take(consumer, 100)] == values


def test_seek_to_the_ends_and_out_of_range(server: str) -> None:
    send(server, "ends", [b"%d" % number for number in range(10)])
    with reading(server, "ends", **{"auto.offset.reset": "earliest"}) as consumer:
        take(consumer, 10)
        consumer.seek(TopicPartition("ends", 0, 0))
        assert take(consumer, 1)[0].offset() == 0
        consumer.seek(TopicPartition("ends", 0, 1_000))
        assert take(consumer, 1)[0].offset() == 0, "reset to the beginning"
    with (
        pytest.raises(KafkaException) as refusal,
        reading(server, "ends", 1_000, **{"auto.offset.reset": "error"}) as consumer,
    ):
        take(consumer, 1)
    assert refusal.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET
    with reading(server, "ends", 1_000, **{"auto.offset.reset": "latest"}) as consumer:
        assert consumer.poll(1.0) is None
        # Nothing tells when it has found the end: what was written before that it does not see.
        for number in range(int(TIMEOUT_S)):
            send(server, "ends", [b"later %d" % number])
            if (message := consumer.poll(1.0)) is not None:
                break
        assert message is not None
        assert (message.error(), message.value()) == (None, b"later %d" % ((message.offset() or 0) - 10))


def test_a_topic_is_deleted_under_a_live_consumer_and_made_anew(server: str) -> None:
    create(server, "reborn")
    send(server, "reborn", [b"old %d" % number for number in range(20)])
    admin = AdminClient({"bootstrap.servers": server})
    fresh = {"topic.metadata.refresh.interval.ms": 200, "auto.offset.reset": "earliest"}
    with reading(server, "reborn", **fresh, **{"allow.auto.create.topics": False}) as consumer:
        take(consumer, 20)
        delete(server, "reborn")
        assert "reborn" not in admin.list_topics(timeout=TIMEOUT_S).topics
        with contextlib.suppress(KafkaException):
            assert take_or_error(consumer) is None
        create(server, "reborn")
        send(server, "reborn", [b"new"])
        with reading(server, "reborn") as another:
            message = take(another, 1)[0]
            assert (message.offset(), message.value()) == (0, b"new")
        consumer.assign([TopicPartition("reborn", 0, 0)])
        assert take(consumer, 1)[0].value() == b"new"


def take_or_error(consumer: Consumer) -> Message | None:
    """The next record within a second; an error is raised."""
    message = consumer.poll(1.0)
    if message is not None and message.error() is not None:
        raise KafkaException(message.error())
    return message


def test_two_hundred_connections(server: str) -> None:
    """They are open and silent, and a client works as ever."""
    host, _, port = server.rpartition(":")
    with contextlib.ExitStack() as stack:
        for _ in range(200):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=TIMEOUT_S))
        series = Series("confluent-kafka", 1_000, int(time.time() * 1000))
        scenarios.produce("confluent-kafka", server, "crowded", series, {})
        assert scenarios.read_by_offset("confluent-kafka", server, "crowded", [series]) == 1_000


def test_a_slow_consumer_gets_everything_and_holds_up_nobody(server: str) -> None:
    """It fetches and then takes nothing for as long as others write and read; then all of it is there."""
    create(server, "slow")
    series = Series("confluent-kafka", 20_000, int(time.time() * 1000))
    scenarios.produce("confluent-kafka", server, "slow", series, {})
    consumer = scenarios.consumer_of("confluent-kafka", server, None, **{"queued.max.messages.kbytes": 64})
    ends = consumer.end_offsets("slow")
    book = ReadBack([series])
    consumer.assign("slow", {0: 0})
    book.take(consumer.poll(1, TIMEOUT_S))
    other = Series("kafka-python", 2_000, int(time.time() * 1000))
    scenarios.produce("kafka-python", server, "quick", other, {})
    assert scenarios.read_by_offset("kafka-python", server, "quick", [other]) == 2_000
    while book.taken < ends[0]:
        records = consumer.poll(100, TIMEOUT_S)
        assert records, f"only {book.taken} records came"
        book.take(records)
    book.assert_complete()
    consumer.close()
