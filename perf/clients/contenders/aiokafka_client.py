"""aiokafka: `send`, `send_batch` and `getmany`."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from perf.clients.contenders.meter import WARM_UP_RECORDS, WARM_UP_ROUNDS, Meter, summary
from perf.clients.turn import BATCH_BYTES, FETCH_BYTES, Result, Task, value_of

LINGER_MS = 5


def produce(task: Task) -> Result:
    return asyncio.run(_produce(task))


async def _produce(task: Task) -> Result:
    producer = AIOKafkaProducer(
        bootstrap_servers=task.server, acks="all", max_batch_size=BATCH_BYTES, linger_ms=LINGER_MS
    )
    await producer.start()
    value = value_of(task.size)
    for _ in range(WARM_UP_RECORDS):
        await producer.send(task.topic, value, partition=0)
    await producer.flush()
    with Meter() as meter:
        if task.way == "send":
            for _ in range(task.records):
                await producer.send(task.topic, value, partition=0)
        else:
            await _send_batches(producer, task, value)
        await producer.flush()
    await producer.stop()
    return meter.result(task.records)


async def _send_batches(producer: Any, task: Task, value: bytes) -> None:
    """The caller builds the batches."""
    batch = producer.create_batch()
    sent = 0
    while sent < task.records:
        if batch.append(key=None, value=value, timestamp=None) is None:
            await producer.send_batch(batch, task.topic, partition=0)
            batch = producer.create_batch()
            continue
        sent += 1
    await producer.send_batch(batch, task.topic, partition=0)


async def _consumer(task: Task, offset_reset: str) -> Any:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=task.server, auto_offset_reset=offset_reset, max_partition_fetch_bytes=FETCH_BYTES
    )
    await consumer.start()
    consumer.assign([TopicPartition(task.topic, 0)])
    return consumer


def consume(task: Task) -> Result:
    return asyncio.run(_consume(task))


async def _consume(task: Task) -> Result:
    consumer = await _consumer(task, "earliest")
    read = size_bytes = 0
    await consumer.getone()
    with Meter() as meter:
        while read < task.records - 1:
            for records in (await consumer.getmany(timeout_ms=1000)).values():
                read += len(records)
                for record in records:
                    size_bytes += len(record.value)
    await consumer.stop()
    assert size_bytes == read * task.size
    return meter.result(read)


def latency(task: Task) -> Result:
    return asyncio.run(_latency(task))


async def _latency(task: Task) -> Result:
    value = value_of(task.size)
    producer = AIOKafkaProducer(bootstrap_servers=task.server, acks="all", linger_ms=0)
    await producer.start()
    consumer = await _consumer(task, "latest")
    await consumer.seek_to_end()
    await consumer.position(TopicPartition(task.topic, 0))

    async def exchange() -> tuple[float, float]:
        began_s = time.perf_counter()
        await producer.send_and_wait(task.topic, value, partition=0)
        acknowledged_s = time.perf_counter()
        await consumer.getone()
        return acknowledged_s - began_s, time.perf_counter() - began_s

    for _ in range(WARM_UP_ROUNDS):
        await exchange()
    times = []
    with Meter() as meter:
        began_s = time.perf_counter()
        for number in range(task.records):
            await asyncio.sleep(max(0.0, began_s + number / task.rate - time.perf_counter()))
            times.append(await exchange())
    await producer.stop()
    await consumer.stop()
    result = meter.result(task.records)
    result.latency_ms = summary("ack", [each[0] for each in times]) | summary("e2e", [each[1] for each in times])
    return result
