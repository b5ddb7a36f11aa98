"""Records of one partition come out in the order in which they went in, whatever stands between."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kcore.client.producer.producer import Producer
from tests.scenarios.scene import Scene, by_partition, numbers_of

RECORDS = 3_000
# What of the producer's configuration makes batches, requests and retries go another way.
IN_TURN = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1, "batch_size": 300}
WAYS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "a batch a record": {"batch_size": 0},
    "lingering": {"linger_ms": 30, "batch_size": 4_000},
    "one request at a time": {"max_in_flight_requests_per_connection": 1, "batch_size": 300},
    # With more in flight a batch that is sent again may be overtaken, as Kafka's documentation says.
    "not idempotent": IN_TURN,
    "acks of the leader": {**IN_TURN, "acks": 1},
    "little memory": {"buffer_memory": 3_000, "batch_size": 500},
    "compressed": {"compression_type": "lz4", "batch_size": 500},
    "small requests": {"max_request_size": 1_500, "batch_size": 700},
}


@pytest.mark.parametrize("way", WAYS)
def test_one_sender(scene: Scene, way: str) -> None:
    topic = scene.topic(2)
    with scene.producer(**WAYS[way]) as producer:
        for number in range(RECORDS):
            producer.send(topic, b"%d" % number, partition=number % 2)
    found = by_partition(scene.read_all(topic, 2))
    assert found == {0: list(range(0, RECORDS, 2)), 1: list(range(1, RECORDS, 2))}


@pytest.mark.everywhere
def test_many_threads_keep_the_order_of_each_key(scene: Scene) -> None:
    topic = scene.topic(3)
    with scene.producer() as producer:

        def send(name: int) -> None:
            for number in range(500):
                producer.send(topic, b"%d" % number, key=b"%d" % name)

        threads = [threading.Thread(target=send, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    by_key: dict[Any, list[int]] = {}
    for record in scene.read_all(topic, 3):
        by_key.setdefault(record.key, []).append(int(record.value))
    assert by_key == {b"%d" % name: list(range(500)) for name in range(8)}


def test_single_records_and_batches_mixed(scene: Scene) -> None:
    topic = scene.topic()
    number = 0
    with scene.producer(batch_size=1_000) as producer:
        for size in (1, 500, 1, 3, 2_000, 1):
            values = [b"%d" % value for value in range(number, number + size)]
            if size == 1:
                producer.send(topic, values[0], partition=0)
            else:
                producer.send_batch(topic, values, partition=0)
            number += size
    assert scene.numbers(topic) == list(range(number))


def test_offsets_that_are_told_are_where_the_records_are(scene: Scene) -> None:
    topic = scene.topic(3)
    with scene.producer(batch_size=200) as producer:
        sent = [producer.send(topic, b"%d" % number, key=b"%d" % (number % 17)) for number in range(800)]
        producer.flush()
        told = {(future.result(0).partition, future.result(0).offset): n for n, future in enumerate(sent)}
    assert told == {(record.partition, record.offset): int(record.value) for record in scene.read_all(topic, 3)}


def test_without_acks_records_arrive_once_the_topic_is_known(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer() as producer:
        producer.send(topic, b"0").result(30)
    with scene.producer(enable_idempotence=False, acks=0, batch_size=300) as producer:
        sent = [producer.send(topic, b"%d" % number) for number in range(1, 500)]
        producer.flush()
        assert {future.result(0).offset for future in sent} == {-1}
    Scene.until(lambda: len(scene.numbers(topic)) == 500, "all records")
    assert scene.numbers(topic) == list(range(500))


def test_batches_tell_where_they_went(scene: Scene) -> None:
    topic = scene.topic(3)
    with scene.producer(batch_size=500) as producer:
        delivered = producer.send_batch(topic, [b"%d" % number for number in range(900)]).result(60)
    assert sum(each.record_count for each in delivered) == 900
    found = scene.read_all(topic, 3)
    spans = {(each.partition, each.first_offset + n) for each in delivered for n in range(each.record_count)}
    assert spans == {(record.partition, record.offset) for record in found}
    assert sorted(numbers_of(found)) == list(range(900))


def test_callbacks_come_in_the_order_of_the_log(scene: Scene) -> None:
    topic = scene.topic()
    told: list[int] = []
    with scene.producer(batch_size=100) as producer:
        for _ in range(500):
            producer.send(topic, b"0", on_delivery=lambda metadata, error: told.append(metadata.offset))
    assert told == list(range(500))


def test_two_producers_of_one_partition(scene: Scene) -> None:
    topic = scene.topic()
    producers = [scene.producer(batch_size=300) for _ in range(2)]
    for number in range(1_000):
        producers[number % 2].send(topic, b"%d" % number)
    for producer in producers:
        producer.flush()
    found = scene.numbers(topic)
    assert sorted(found) == list(range(1_000))
    assert [n for n in found if n % 2 == 0] == list(range(0, 1_000, 2))
    assert [n for n in found if n % 2 == 1] == list(range(1, 1_000, 2))


def test_a_flush_has_everything_before_it_written(scene: Scene) -> None:
    topic = scene.topic()
    producer: Producer = scene.producer(linger_ms=60_000, delivery_timeout_ms=120_000)
    sent = [producer.send(topic, b"%d" % number) for number in range(50)]
    assert not sent[-1].done()
    producer.flush()
    assert all(future.done() for future in sent)
    assert scene.numbers(topic) == list(range(50))


def test_close_sends_what_lingers(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer(linger_ms=60_000, delivery_timeout_ms=120_000) as producer:
        sent = [producer.send(topic, b"%d" % number) for number in range(50)]
    assert [future.result(0).offset for future in sent] == list(range(50))


def test_what_lingers_leaves_as_one_batch(scene: Scene) -> None:
    topic = scene.topic()
    with scene.producer(linger_ms=500) as producer:
        sent = [producer.send(topic, b"%d" % number) for number in range(100)]
        times = {future.result(60).timestamp for future in sent}
        [delivered] = producer.send_batch(topic, [b"x"] * 100).result(60)
    assert len(times) >= 1
    assert (delivered.first_offset, delivered.record_count) == (100, 100)


def test_a_full_batch_does_not_wait_for_the_others(scene: Scene) -> None:
    topic = scene.topic(2)
    with scene.producer(linger_ms=60_000, delivery_timeout_ms=120_000, batch_size=1_000) as producer:
        full = [producer.send(topic, bytes(600), partition=0) for _ in range(2)]
        lonely = producer.send(topic, b"", partition=1)
        assert full[0].result(30).offset == 0
        producer.flush()
        assert lonely.result(0).offset == 0
