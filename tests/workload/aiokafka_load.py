"""A producer of aiokafka, on an event loop of its own, that goes on until it is told to stop."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from tests.invariants.history import History, Outcome
from tests.workload.plan import PATIENCE_S, PAUSE_S, RETRY_MS, ProducerPlan, Recorder


def settings(plan: ProducerPlan, server: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": server,
        "client_id": plan.name,
        "enable_idempotence": plan.idempotent,
        "acks": plan.acks,
        "compression_type": None if plan.codec == "none" else plan.codec,
        "max_batch_size": plan.batch_bytes,
        "linger_ms": 1,
        "request_timeout_ms": int(PATIENCE_S * 1000),
        "retry_backoff_ms": RETRY_MS,
    }


def produce(plan: ProducerPlan, server: str, started: Callable[[], None], stop: threading.Event) -> History:
    return asyncio.run(produce_until(plan, server, started, stop))


async def produce_until(plan: ProducerPlan, server: str, started: Callable[[], None], stop: threading.Event) -> History:
    recorder = Recorder(plan)
    producer = AIOKafkaProducer(**settings(plan, server))
    await producer.start()
    started()
    waiting: set[asyncio.Future[Any]] = set()
    while True:
        is_last = stop.is_set()
        for number, partition, value in recorder.burst():
            try:
                future = await producer.send(plan.topic, value, partition=partition)
            except KafkaError:
                recorder.hear(number, Outcome.UNKNOWN, None)
                continue
            waiting.add(future)
            future.add_done_callback(waiting.discard)
            future.add_done_callback(functools.partial(done, recorder, number))
        if is_last:
            await producer.stop()
            return recorder.finish()
        while len(recorder.outstanding) > plan.burst and waiting and not stop.is_set():
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED, timeout=1.0)
        await asyncio.sleep(PAUSE_S)


def done(recorder: Recorder, number: int, future: asyncio.Future[Any]) -> None:
    if future.cancelled() or future.exception() is not None:
        recorder.hear(number, Outcome.UNKNOWN, None)
        return
    metadata = future.result()
    recorder.hear(number, Outcome.ACKED, None if metadata is None else metadata.offset)
