"""Our own clients: `send`, with and without callbacks, `send_batch`, `poll`, `poll_columns`, `poll_arrow`."""

from __future__ import annotations

import time
from typing import Any

from kcore.client.consumer.consumer import Consumer
from kcore.client.producer import Producer
from perf.clients.contenders.meter import WARM_UP_RECORDS, Meter, paced
from perf.clients.turn import BATCH_BYTES, FETCH_BYTES, Result, Task, value_of

CALL_BYTES = 4 << 20
MAX_ROWS = 20_000
POLL_RECORDS = 10_000


def produce(task: Task) -> Result:
    settings = {"bootstrap.servers": task.server, "batch.size": BATCH_BYTES, "enable.idempotence": False}
    settings |= {"acks": "all"}
    value = value_of(task.size)
    with Producer(settings) as producer:
        for _ in range(WARM_UP_RECORDS):
            producer.send(task.topic, value, partition=0)
        producer.flush()
        if task.way in ("send", "send_reports"):
            return _send(producer, task, value)
        return _send_batch(producer, task, value)


def _send(producer: Producer, task: Task, value: bytes) -> Result:
    send, topic = producer.send, task.topic
    told: list[Exception | None] = []

    def on_delivery(metadata: object, error: Exception | None) -> None:
        told.append(error)

    with Meter() as meter:
        if task.way == "send":
            for _ in range(task.records):
                send(topic, value, partition=0)
        else:
            for _ in range(task.records):
                send(topic, value, partition=0, on_delivery=on_delivery)
        producer.flush()
    assert task.way == "send" or told == [None] * task.records
    return meter.result(task.records)


def _send_batch(producer: Producer, task: Task, value: bytes) -> Result:
    rows = min(MAX_ROWS, max(1, CALL_BYTES // task.size))
    values: Any = [value] * rows
    if task.way == "send_batch_arrow":
        import pyarrow as pa

        values = pa.array(values, pa.binary())
    calls = max(1, task.records // rows)
    with Meter() as meter:
        futures = [producer.send_batch(task.topic, values, partition=0) for _ in range(calls)]
        producer.flush()
    for future in futures:
        future.result()
    return meter.result(calls * rows)


def _consumer(task: Task, **settings: Any) -> Consumer:
    config = {"bootstrap.servers": task.server, "auto.offset.reset": "earliest", "max.poll.records": POLL_RECORDS}
    consumer = Consumer({**config, "max.partition.fetch.bytes": FETCH_BYTES, **settings})
    consumer.assign([(task.topic, 0)])
    return consumer


def consume(task: Task) -> Result:
    with _consumer(task) as consumer:
        # Connections, metadata and where to begin are not measured, in any client.
        first = len(consumer.poll_columns(30_000.0, max_records=1))
        assert first == 1
        return {"poll": _poll, "poll_columns": _poll_columns, "poll_arrow": _poll_arrow}[task.way](consumer, task)


def _poll(consumer: Consumer, task: Task) -> Result:
    read = size_bytes = 0
    with Meter() as meter:
        while read < task.records - 1:
            records = consumer.poll(1000.0)
            read += len(records)
            for record in records:
                size_bytes += len(record.value)
    assert size_bytes == read * task.size
    return meter.result(read)


def _poll_columns(consumer: Consumer, task: Task) -> Result:
    import numpy  # noqa: F401  # the import is not measured

    read = size_bytes = 0
    with Meter() as meter:
        while read < task.records - 1:
            columns = consumer.poll_columns(1000.0)
            read += len(columns)
            size_bytes += len(columns.value.data)
    assert size_bytes == read * task.size
    return meter.result(read)


def _poll_arrow(consumer: Consumer, task: Task) -> Result:
    import pyarrow as pa

    read = size_bytes = 0
    with Meter() as meter:
        while read < task.records - 1:
            columns = consumer.poll_arrow(1000.0)
            if len(columns):
                batch = pa.record_batch(columns)
                read += batch.num_rows
                size_bytes += columns.nbytes
    assert size_bytes == read * task.size
    return meter.result(read)


def latency(task: Task) -> Result:
    """As they are: latency is what they are tuned for by default."""
    value = value_of(task.size)
    with (
        Producer({"bootstrap.servers": task.server, "acks": "all", "enable.idempotence": False}) as producer,
        _consumer(task, **{"auto.offset.reset": "latest"}) as consumer,
    ):
        consumer.seek_to_end()
        consumer.position((task.topic, 0))

        def exchange() -> tuple[float, float]:
            began_s = time.perf_counter()
            producer.send(task.topic, value, partition=0).result()
            acknowledged_s = time.perf_counter()
            assert len(consumer.poll(30_000.0)) == 1
            return acknowledged_s - began_s, time.perf_counter() - began_s

        return paced(task, exchange)
