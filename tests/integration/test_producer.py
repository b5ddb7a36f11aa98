"""The producer's face before a broker, read back by librdkafka."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kcore import errors
from kcore.client.errors import ClientTimeout, RecordTooLarge, UnknownPartition
from kcore.client.producer.delivery_errors import DeliveryTimeout, ProducerClosed
from kcore.client.producer.partitioner import partition_for_key
from kcore.client.producer.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.broker_process import KEEPING

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(KEEPING) as running:
        yield running


def producer_of(broker: EmbeddedBroker, **keywords: Any) -> Producer:
    return Producer(bootstrap_servers=broker.bootstrap_servers, **keywords)


def read(broker: EmbeddedBroker, topic: str, count: int, partitions: int = 1) -> list[Any]:
    """The first `count` records of a topic, as librdkafka reads them."""
    config = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "none", "enable.auto.commit": False}
    consumer = Consumer(config)
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
        found: list[Any] = []
        while len(found) < count:
            message = consumer.poll(60)
            assert message is not None, f"{len(found)} of {count} records"
            assert message.error() is None
            found.append(message)
        return found
    finally:
        consumer.close()


def test_a_record_arrives_as_it_was_sent(broker: EmbeddedBroker) -> None:
    headers = [("a", b"1"), ("a", None), ("empty", b""), ("ü", b"x" * 600)]
    with producer_of(broker) as producer:
        future = producer.send("whole", b"value", key=b"key", headers=headers, timestamp=1_700_000_000_123)
        metadata = future.result(60)
    [message] = read(broker, "whole", 1)
    assert (message.key(), message.value(), message.headers()) == (b"key", b"value", headers)
    assert message.timestamp()[1] == metadata.timestamp == 1_700_000_000_123
    assert (metadata.topic, metadata.partition, metadata.offset) == ("whole", 0, 0)
    assert (metadata.serialized_key_size, metadata.serialized_value_size) == (3, 5)


def test_nothing_and_empty_are_two_things(broker: EmbeddedBroker) -> None:
    with producer_of(broker) as producer:
        for key, value in ((None, None), (b"", b""), (None, b""), (b"", None)):
            producer.send("nulls", value, key=key)
    assert [(m.key(), m.value()) for m in read(broker, "nulls", 4)] == [
        (None, None),
        (b"", b""),
        (None, b""),
        (b"", None),
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_keeps_every_record_in_order(broker: EmbeddedBroker, codec: str) -> None:
    with producer_of(broker, compression_type=codec) as producer:
        futures = [producer.send(codec, b"%d" % number) for number in range(5_000)]
        producer.flush()
        assert [future.result(0).offset for future in futures] == list(range(5_000))
        assert producer.live_buffers == 0
    assert [int(m.value()) for m in read(broker, codec, 5_000)] == list(range(5_000))


def test_keys_go_where_every_client_puts_them(broker: EmbeddedBroker) -> None:
    broker.create_topic("keyed", partitions=7)
    with producer_of(broker) as producer:
        futures = {b"%d" % n: producer.send("keyed", b"", key=b"%d" % n) for n in range(200)}
        for key, future in futures.items():
            assert future.result(60).partition == partition_for_key(key, 7)


def test_records_without_a_key_fill_all_partitions(broker: EmbeddedBroker) -> None:
    broker.create_topic("spread", partitions=5)
    with producer_of(broker, batch_size=1_000) as producer:
        futures = [producer.send("spread", b"x" * 100) for _ in range(2_000)]
        counts = [0] * 5
        for future in futures:
            counts[future.result(60).partition] += 1
    assert min(counts) > 100


def test_round_robin_and_a_partitioner_of_ones_own(broker: EmbeddedBroker) -> None:
    broker.create_topic("turns", partitions=3)
    with producer_of(broker, partitioner_class="RoundRobinPartitioner") as producer:
        found = [producer.send("turns", b"", key=b"same").result(60).partition for _ in range(6)]
    assert found == [found[0], (found[0] + 1) % 3, (found[0] + 2) % 3] * 2
    with producer_of(broker, partitioner_class=lambda topic, key, count: count - 1) as producer:
        assert producer.send("turns", b"", key=b"any").result(60).partition == 2
        assert producer.send("turns", b"", partition=1).result(60).partition == 1


def test_callbacks_come_in_order_and_before_a_flush_returns(broker: EmbeddedBroker) -> None:
    told: list[tuple[int, Any]] = []
    with producer_of(broker) as producer:
        for number in range(1_000):
            producer.send("told", b"", on_delivery=lambda m, e, number=number: told.append((m.offset, e)))
        producer.flush()
        assert told == [(number, None) for number in range(1_000)]
        seen: list[Any] = []
        future = producer.send("told", b"")
        future.add_done_callback(seen.append)
        future.add_done_callback(seen.append)
        producer.flush()
        assert seen == [future, future]
        future.add_done_callback(seen.append)
        assert len(seen) == 3


def test_a_callback_that_raises_stops_no_other(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    told: list[Any] = []

    def bad(metadata: object, error: object) -> None:
        raise KeyError("mine")

    with producer_of(broker) as producer:
        producer.send("raises", b"", on_delivery=bad)
        producer.send("raises", b"", on_delivery=lambda *outcome: told.append(outcome))
    assert len(told) == 1
    assert [type(each.exc_value) for each in raised] == [KeyError]


def test_a_callback_cannot_wait_for_itself(broker: EmbeddedBroker) -> None:
    caught: list[BaseException] = []

    with producer_of(broker) as producer:

        def flush(metadata: object, error: object) -> None:
            try:
                producer.flush()
            except RuntimeError as refused:
                caught.append(refused)

        producer.send("itself", b"", on_delivery=flush)
    assert len(caught) == 1


def test_serializers_and_interceptors(broker: EmbeddedBroker) -> None:
    acknowledged: list[Any] = []

    class Stamp:
        def on_send(self, record: Any) -> Any:
            return record._replace(headers=[("by", b"stamp")])

        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            acknowledged.append(metadata.offset)

    with producer_of(
        broker,
        key_serializer="string",
        value_serializer=lambda topic, value: repr(value).encode(),
        interceptor_classes=[Stamp],
    ) as producer:
        producer.send("typed", {"a": 1}, key="schlüssel")
        producer.send("typed", None)
    first, second = read(broker, "typed", 2)
    assert (first.key().decode(), first.value(), first.headers()) == ("schlüssel", b"{'a': 1}", [("by", b"stamp")])
    assert second.value() is None
    assert acknowledged == [0, 1]


def test_what_is_wrong_is_said_at_once(broker: EmbeddedBroker) -> None:
    with producer_of(broker, max_request_size=1_000) as producer:
        with pytest.raises(TypeError, match=r"value is a str, not bytes. Encode it, or set value\.serializer"):
            producer.send("wrong", "text")
        with pytest.raises(RecordTooLarge, match=r"max\.request\.size"):
            producer.send("wrong", b"x" * 2_000)
        with pytest.raises(ValueError, match="Invalid partition: -1"):
            producer.send("wrong", b"", partition=-1)
        with pytest.raises(ValueError, match="Invalid timestamp: -5"):
            producer.send("wrong", b"", timestamp=-5)
        with pytest.raises(errors.InvalidTopicError):
            producer.send("no/such name", b"")
    with pytest.raises(ProducerClosed):
        producer.send("wrong", b"")


def test_a_partition_that_does_not_come(broker: EmbeddedBroker) -> None:
    broker.create_topic("narrow", partitions=1)
    with producer_of(broker, max_block_ms=200) as producer:
        while True:
            with contextlib.suppress(ClientTimeout):  # a busy machine may need longer for what there is, too
                assert len(producer.partitions_for("narrow")) == 1
                break
        with pytest.raises(UnknownPartition, match="partition 9 of topic narrow"):
            producer.send("narrow", b"", partition=9)


def test_a_cluster_that_is_not_there() -> None:
    producer = Producer(bootstrap_servers="127.0.0.1:1", max_block_ms=150)
    with pytest.raises(ClientTimeout, match="not present in metadata after 150 ms"):
        producer.send("nowhere", b"")
    producer.close()


def test_a_full_buffer_blocks_until_there_is_room(broker: EmbeddedBroker) -> None:
    broker.create_topic("full", partitions=1)
    with producer_of(broker, buffer_memory=4_000, batch_size=1_000) as producer:
        threads = [
            threading.Thread(target=lambda: [producer.send("full", b"x" * 300) for _ in range(200)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        producer.flush()
        assert producer.live_buffers == 0
    assert len(read(broker, "full", 800)) == 800


def test_many_threads_send_at_once(broker: EmbeddedBroker) -> None:
    broker.create_topic("threads", partitions=3)
    with producer_of(broker) as producer:

        def send(name: int) -> None:
            for number in range(2_000):
                producer.send("threads", b"%d" % number, key=b"%d" % name)

        threads = [threading.Thread(target=send, args=(name,)) for name in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    by_key: dict[bytes, list[int]] = {}
    for message in read(broker, "threads", 12_000, 3):
        by_key.setdefault(message.key(), []).append(int(message.value()))
    assert by_key == {b"%d" % name: list(range(2_000)) for name in range(6)}


def test_acks_of_none_and_of_one(broker: EmbeddedBroker) -> None:
    with producer_of(broker, acks=0) as producer:
        assert producer.send("acks", b"0").result(60).offset == -1
    with producer_of(broker, acks=1) as producer:
        assert producer.send("acks", b"1").result(60).offset == 1


def test_a_broker_that_goes_away_ends_records_in_time() -> None:
    with EmbeddedBroker() as broker:
        producer = producer_of(broker, delivery_timeout_ms=1_500, request_timeout_ms=1_000)
        while producer.send("t", b"").exception(60) is not None:
            continue  # a busy machine may need longer than that
    future = producer.send("t", b"late")
    assert isinstance(future.exception(60), DeliveryTimeout)
    producer.close()


def test_close_without_time_fails_what_is_left() -> None:
    with EmbeddedBroker() as broker:
        producer = producer_of(broker)
        producer.send("t", b"").result(60)
    future = producer.send("t", b"left")
    producer.close(0)
    assert isinstance(future.exception(0), ProducerClosed)
    assert producer.live_buffers == 0


WAITS = """
import sys, threading
from kcore.client.producer.producer import Producer
producer = Producer(bootstrap_servers=sys.argv[1], max_block_ms=600_000)
future = producer.send("interrupted", b"x" * 100)
future.result(30)
producer.send("interrupted", b"", partition=0).result(30)
try:
    print("waiting", flush=True)
    producer.send("interrupted", b"", partition=50)
except KeyboardInterrupt:
    print("interrupted", flush=True)
producer.close(0)
"""


def test_ctrl_c_ends_a_wait(broker: EmbeddedBroker) -> None:
    command = [sys.executable, "-c", WAITS, broker.bootstrap_servers]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "waiting\n"
        waiting.send_signal(signal.SIGINT)
        assert waiting.stdout.readline() == "interrupted\n"
        assert waiting.wait(30) == 0
