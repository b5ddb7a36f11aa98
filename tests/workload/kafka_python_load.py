"""A producer of kafka-python that goes on until it is told to stop."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

from tests.invariants.history import History, Outcome
from tests.workload.plan import PATIENCE_S, PAUSE_S, RETRY_MAX_MS, RETRY_MS, ProducerPlan, Recorder


def settings(plan: ProducerPlan, server: str) -> dict[str, Any]:
    return {
        "bootstrap_servers": server,
        "client_id": plan.name,
        "enable_idempotence": plan.idempotent,
        "acks": plan.acks,
        "max_in_flight_requests_per_connection": plan.in_flight,
        "compression_type": None if plan.codec == "none" else plan.codec,
        "batch_size": plan.batch_bytes,
        "linger_ms": 1,
        "delivery_timeout_ms": int(PATIENCE_S * 1000),
        "request_timeout_ms": 5_000,
        "max_block_ms": int(PATIENCE_S * 1000),
        "retry_backoff_ms": RETRY_MS,
        "reconnect_backoff_ms": RETRY_MS,
        "reconnect_backoff_max_ms": RETRY_MAX_MS,
    }


def produce(plan: ProducerPlan, server: str, started: Callable[[], None], stop: threading.Event) -> History:
    recorder = Recorder(plan)
    producer = KafkaProducer(**settings(plan, server))
    started()
    while True:
        is_last = stop.is_set()
        for number, partition, value in recorder.burst():
            try:
                future = producer.send(plan.topic, value, partition=partition)
            except KafkaError:
                recorder.hear(number, Outcome.UNKNOWN, None)
                continue
            future.add_callback(functools.partial(acknowledged, recorder, number))
            future.add_errback(functools.partial(failed, recorder, number))
        recorder.await_outcomes(0 if is_last else plan.burst, PATIENCE_S)
        stop.wait(PAUSE_S)
        if is_last:
            producer.close(PATIENCE_S)
            return recorder.finish()


def acknowledged(recorder: Recorder, number: int, metadata: Any) -> None:
    recorder.hear(number, Outcome.ACKED, metadata.offset)


def failed(recorder: Recorder, number: int, error: BaseException) -> None:
    recorder.hear(number, Outcome.UNKNOWN, None)
