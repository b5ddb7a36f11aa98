"""kafka-python: `send` and `poll`."""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition

from perf.clients.contenders.meter import WARM_UP_RECORDS, Meter, paced
from perf.clients.turn import BATCH_BYTES, FETCH_BYTES, Result, Task, value_of

LINGER_MS = 5


def _producer(task: Task, **settings: Any) -> KafkaProducer:
    return KafkaProducer(bootstrap_servers=task.server, acks="all", enable_idempotence=False, **settings)


def produce(task: Task) -> Result:
    producer = _producer(task, batch_size=BATCH_BYTES, linger_ms=LINGER_MS)
    value = value_of(task.size)
    for _ in range(WARM_UP_RECORDS):
        producer.send(task.topic, value, partition=0)
    producer.flush()
    with Meter() as meter:
        for _ in range(task.records):
            producer.send(task.topic, value, partition=0)
        producer.flush()
    producer.close()
    return meter.result(task.records)


def _consumer(task: Task, **settings: Any) -> KafkaConsumer:
    consumer = KafkaConsumer(
        bootstrap_servers=task.server, max_partition_fetch_bytes=FETCH_BYTES, max_poll_records=10_000, **settings
    )
    consumer.assign([TopicPartition(task.topic, 0)])
    return consumer


def consume(task: Task) -> Result:
    consumer = _consumer(task, auto_offset_reset="earliest")
    read = size_bytes = 0
    assert consumer.poll(timeout_ms=30_000, max_records=1)
    with Meter() as meter:
        while read < task.records - 1:
            for records in consumer.poll(timeout_ms=1000).values():
                read += len(records)
                for record in records:
                    size_bytes += len(record.value)
    consumer.close()
    assert size_bytes == read * task.size
    return meter.result(read)


def latency(task: Task) -> Result:
    value = value_of(task.size)
    producer = _producer(task, linger_ms=0)
    consumer = _consumer(task, auto_offset_reset="latest")
    consumer.seek_to_end()
    consumer.position(TopicPartition(task.topic, 0))

    def exchange() -> tuple[float, float]:
        began_s = time.perf_counter()
        producer.send(task.topic, value, partition=0).get(30)
        acknowledged_s = time.perf_counter()
        assert consumer.poll(timeout_ms=30_000)
        return acknowledged_s - began_s, time.perf_counter() - began_s

    result = paced(task, exchange)
    producer.close()
    consumer.close()
    return result
