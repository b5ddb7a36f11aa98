"""A producer of confluent-kafka (librdkafka) that goes on until it is told to stop."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable

from confluent_kafka import Message, Producer

from tests.invariants.history import History, Outcome
from tests.workload.plan import PATIENCE_S, PAUSE_S, RETRY_MAX_MS, RETRY_MS, ProducerPlan, Recorder

# librdkafka tells of every lost connection, which is what this is about.
SILENT = logging.getLogger("tests.workload.confluent")
SILENT.addHandler(logging.NullHandler())
SILENT.propagate = False
SILENT.setLevel(logging.CRITICAL)


def settings(plan: ProducerPlan, server: str) -> dict[str, object]:
    return {
        "bootstrap.servers": server,
        "client.id": plan.name,
        "enable.idempotence": plan.idempotent,
        "acks": plan.acks,
        "max.in.flight.requests.per.connection": plan.in_flight,
        "compression.type": plan.codec,
        "batch.size": plan.batch_bytes,
        "linger.ms": 1,
        "message.timeout.ms": int(PATIENCE_S * 1000),
        "socket.timeout.ms": 5_000,
        "retry.backoff.ms": RETRY_MS,
        "retry.backoff.max.ms": RETRY_MAX_MS,
        "reconnect.backoff.ms": RETRY_MS,
        "reconnect.backoff.max.ms": RETRY_MAX_MS,
    }


def produce(plan: ProducerPlan, server: str, started: Callable[[], None], stop: threading.Event) -> History:
    recorder = Recorder(plan)
    producer = Producer(settings(plan, server), logger=SILENT)
    producer.list_topics(plan.topic, timeout=PATIENCE_S)
    started()
    while True:
        is_last = stop.is_set()
        for number, partition, value in recorder.burst():
            heard = functools.partial(delivered, recorder, number)
            producer.produce(plan.topic, value, partition=partition, on_delivery=heard)
            producer.poll(0)
        while len(recorder.outstanding) > plan.burst and not stop.is_set():
            producer.poll(0.1)
        stop.wait(PAUSE_S)
        if is_last:
            producer.flush(PATIENCE_S)
            return recorder.finish()


def delivered(recorder: Recorder, number: int, error: object, message: Message) -> None:
    outcome = Outcome.ACKED if error is None else Outcome.UNKNOWN
    recorder.hear(number, outcome, message.offset() if error is None else None)
