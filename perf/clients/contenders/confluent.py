"""confluent-kafka: `produce`, with and without delivery reports, `produce_batch`, `consume`."""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, Producer, TopicPartition

from perf.clients.contenders.meter import WARM_UP_RECORDS, Meter, paced
from perf.clients.turn import BATCH_BYTES, FETCH_BYTES, Result, Task, value_of

CONSUMED_AT_ONCE = 10_000
BATCH_ROWS = 10_000


def produce(task: Task) -> Result:
    settings: dict[str, Any] = {"bootstrap.servers": task.server, "batch.size": BATCH_BYTES, "acks": "all"}
    settings |= {"queue.buffering.max.messages": 2_000_000, "queue.buffering.max.kbytes": 1 << 20}
    producer = Producer(settings)
    value = value_of(task.size)
    for _ in range(WARM_UP_RECORDS):
        producer.produce(task.topic, value, partition=0)
    producer.flush()
    return (_produce_batch if task.way == "produce_batch" else _produce)(producer, task, value)


def _produce(producer: Producer, task: Task, value: bytes) -> Result:
    told: list[Any] = []
    reports = task.way == "produce_reports"
    keywords: dict[str, Any] = {"on_delivery": lambda error, message: told.append(error)} if reports else {}
    with Meter() as meter:
        for _ in range(task.records):
            while True:
                try:
                    producer.produce(task.topic, value, partition=0, **keywords)
                    break
                except BufferError:
                    producer.poll(0.01)
            if reports:
                producer.poll(0)
        producer.flush()
    assert not reports or told == [None] * task.records
    return meter.result(task.records)


def _produce_batch(producer: Producer, task: Task, value: bytes) -> Result:
    calls = max(1, task.records // BATCH_ROWS)
    with Meter() as meter:
        for _ in range(calls):
            rows = [{"value": value} for _ in range(BATCH_ROWS)]
            while rows:
                taken = producer.produce_batch(task.topic, rows, partition=0)
                # What finds no room in the queue is left to be sent again.
                rows = [{"value": value}] * (len(rows) - taken)
                if rows:
                    producer.poll(0.01)
        producer.flush()
    return meter.result(calls * BATCH_ROWS)


# With 100,000 messages ahead librdkafka fetches nothing for a second (fetch.queue.backoff.ms), which a reader that is
# quicker than that spends waiting.
NEVER_FULL = {"queued.min.messages": 10_000_000, "queued.max.messages.kbytes": 1_000_000, "fetch.queue.backoff.ms": 1}


def _consumer(task: Task, offset: int, **settings: Any) -> Consumer:
    config = {"bootstrap.servers": task.server, "group.id": "perf-clients", "enable.auto.commit": False}
    consumer = Consumer({**config, "max.partition.fetch.bytes": FETCH_BYTES, **settings})
    consumer.assign([TopicPartition(task.topic, 0, offset)])
    return consumer


def consume(task: Task) -> Result:
    consumer = _consumer(task, OFFSET_BEGINNING, **NEVER_FULL)
    read = size_bytes = 0
    assert consumer.poll(30.0) is not None
    with Meter() as meter:
        while read < task.records - 1:
            # Asked for more than there are, it waits for the whole timeout.
            messages = consumer.consume(min(CONSUMED_AT_ONCE, task.records - 1 - read), 10.0)
            read += len(messages)
            for message in messages:
                size_bytes += len(message.value() or b"")
    consumer.close()
    assert size_bytes == read * task.size
    return meter.result(read)


def latency(task: Task) -> Result:
    """Tuned for latency: nothing lingers, and what is read is not waited with."""
    value = value_of(task.size)
    producer = Producer({"bootstrap.servers": task.server, "linger.ms": 0, "acks": "all", "socket.nagle.disable": True})
    consumer = _consumer(
        task, OFFSET_END, **{"fetch.min.bytes": 1, "fetch.queue.backoff.ms": 0, "socket.nagle.disable": True}
    )
    consumer.poll(2.0)

    def exchange() -> tuple[float, float]:
        began_s = time.perf_counter()
        producer.produce(task.topic, value, partition=0)
        producer.flush()
        acknowledged_s = time.perf_counter()
        message = consumer.poll(30.0)
        assert message is not None
        assert message.error() is None
        return acknowledged_s - began_s, time.perf_counter() - began_s

    result = paced(task, exchange)
    consumer.close()
    return result
