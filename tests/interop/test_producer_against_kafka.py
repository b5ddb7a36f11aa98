"""The producer against Apache Kafka, its transactions above all, as librdkafka reads what is committed."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from kcore import errors
from kcore.client.metadata.cluster import TopicPartition as OwnPartition
from kcore.client.producer.delivery_errors import RecordAborted
from kcore.client.producer.producer import Producer
from kcore.client.producer.transaction_manager import InvalidTransactionState
from tests.apache_kafka import ApacheKafka

pytestmark = pytest.mark.needs("java", "mvn")


@pytest.fixture
def kafka(apache_kafka_39: ApacheKafka) -> ApacheKafka:
    return apache_kafka_39


def producer_of(kafka: ApacheKafka, **keywords: Any) -> Producer:
    return Producer(bootstrap_servers=kafka.bootstrap_server, **keywords)


def read(kafka: ApacheKafka, topic: str, count: int, isolation: str = "read_committed") -> list[bytes]:
    config = {"bootstrap.servers": kafka.bootstrap_server, "group.id": "none", "isolation.level": isolation}
    consumer = Consumer(config)
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        found: list[bytes] = []
        while len(found) < count:
            message = consumer.poll(20)
            assert message is not None, f"{len(found)} of {count} records"
            assert message.error() is None
            found.append(message.value())
        return found
    finally:
        consumer.close()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_of_every_codec(kafka: ApacheKafka, codec: str) -> None:
    values = [b"%d" % number * 20 for number in range(2_000)]
    with producer_of(kafka, compression_type=codec) as producer:
        futures = [producer.send(f"codec-{codec}", value) for value in values]
        producer.flush()
        assert [future.result(0).offset for future in futures] == list(range(2_000))
        producer.send_batch(f"codec-{codec}", values).result(30)
    assert read(kafka, f"codec-{codec}", 4_000) == values * 2


def test_a_committed_transaction_is_read_and_an_aborted_one_is_not(kafka: ApacheKafka) -> None:
    with producer_of(kafka, transactional_id="plain") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("plain", b"committed 1")
        producer.send("plain", b"committed 2")
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send("plain", b"aborted").result(30)
        left = producer.send("plain", b"perhaps not sent")
        producer.abort_transaction()
        assert left.done()
        producer.begin_transaction()
        producer.send("plain", b"committed 3")
        producer.commit_transaction()
        # Without records there is nothing to tell the coordinator of.
        producer.begin_transaction()
        producer.commit_transaction()
    assert read(kafka, "plain", 3) == [b"committed 1", b"committed 2", b"committed 3"]
    assert b"aborted" in read(kafka, "plain", 4, "read_uncommitted")


def test_a_second_producer_fences_the_first(kafka: ApacheKafka) -> None:
    first = producer_of(kafka, transactional_id="fenced")
    first.init_transactions()
    first.begin_transaction()
    first.send("fenced", b"old").result(30)
    with producer_of(kafka, transactional_id="fenced") as second:
        second.init_transactions()
        second.begin_transaction()
        second.send("fenced", b"new")
        second.commit_transaction()
    with pytest.raises(errors.ProducerFencedError):
        first.commit_transaction()
    with pytest.raises(errors.ProducerFencedError):
        first.begin_transaction()
    first.close(0)
    assert read(kafka, "fenced", 1) == [b"new"]


def test_a_group_s_offsets_are_committed_with_the_records(kafka: ApacheKafka) -> None:
    with producer_of(kafka, transactional_id="offsets") as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("offsets", b"x")
        producer.send_offsets_to_transaction({OwnPartition("offsets", 0): 41}, "progress")
        producer.commit_transaction()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({OwnPartition("offsets", 0): 99}, "progress")
        producer.abort_transaction()
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_server, "group.id": "progress"})
    try:
        [committed] = consumer.committed([TopicPartition("offsets", 0)], timeout=30)
        assert committed.offset == 41
    finally:
        consumer.close()


def test_a_record_that_fails_ends_the_transaction_until_it_is_aborted(kafka: ApacheKafka) -> None:
    with producer_of(kafka, transactional_id="failing", max_request_size=3_000_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("failing", b"good").result(30)
        future = producer.send("failing", b"x" * 2_000_000)
        assert isinstance(future.exception(30), errors.MessageTooLargeError)
        with pytest.raises(errors.MessageTooLargeError):
            producer.commit_transaction()
        with pytest.raises(errors.MessageTooLargeError):
            producer.send("failing", b"too late")
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send("failing", b"after")
        producer.commit_transaction()
    assert read(kafka, "failing", 1) == [b"after"]


def test_the_states_say_what_to_do(kafka: ApacheKafka) -> None:
    with producer_of(kafka) as plain, pytest.raises(InvalidTransactionState, match=r"setting the transactional\.id"):
        plain.begin_transaction()
    with producer_of(kafka, transactional_id="states") as producer:
        with pytest.raises(InvalidTransactionState, match="call init_transactions first"):
            producer.begin_transaction()
        producer.init_transactions()
        with pytest.raises(InvalidTransactionState, match="call begin_transaction first"):
            producer.send("states", b"")
        producer.begin_transaction()
        with pytest.raises(InvalidTransactionState, match="commit_transaction or abort_transaction first"):
            producer.begin_transaction()


def test_closing_aborts_what_is_open(kafka: ApacheKafka) -> None:
    with producer_of(kafka, transactional_id="closing", linger_ms=60_000, delivery_timeout_ms=120_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        future = producer.send("closing", b"never")
    assert isinstance(future.exception(0), RecordAborted)
