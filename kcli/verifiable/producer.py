"""Sends the numbers from 0 on, and reports the delivery of each."""

from __future__ import annotations

import time
from typing import NamedTuple

from kcli.verifiable.events import EventWriter, Terminated, java_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.client.producer import Producer
    from kcore.client.producer.record_future import RecordMetadata

    OnDelivery = Callable[[RecordMetadata | None, Exception | None], None]


class NumbersToSend(NamedTuple):
    """Negative `max_messages`: no limit. `create_time_ms` is the first record's timestamp; later ones grow."""

    topic: str
    max_messages: int = -1
    throughput: int = -1
    value_prefix: int | None = None
    repeating_keys: int | None = None
    create_time_ms: int | None = None


class VerifiableProducer:
    def __init__(self, producer: Producer, numbers: NumbersToSend, events: EventWriter) -> None:
        self._producer = producer
        self._numbers = numbers
        self._events = events
        self._acked = 0
        self._sent = 0
        self._create_time_ms = numbers.create_time_ms

    def run(self) -> int:
        """Sends everything, or until a signal, and returns the exit code. Waits for records in flight."""
        began_s = time.time()
        exit_code = 0
        self._events.write("startup_complete")
        try:
            self._send_all(began_s)
        except Terminated as end:
            exit_code = end.exit_code
        self._producer.close()
        self._events.write("shutdown_complete")
        elapsed_s = max(time.time() - began_s, 1e-9)
        self._events.write(
            "tool_data",
            sent=self._sent,
            acked=self._acked,
            target_throughput=self._numbers.throughput,
            avg_throughput=self._acked / elapsed_s,
        )
        return exit_code

    def _send_all(self, began_s: float) -> None:
        numbers = self._numbers
        number = 0
        while numbers.max_messages < 0 or number < numbers.max_messages:
            self._send(number, began_s)
            number += 1
            if numbers.throughput >= 0:
                self._wait(number, began_s)

    def _wait(self, sent: int, began_s: float) -> None:
        """Keeps to the rate. A rate of 0 sends a single record and then waits."""
        while self._numbers.throughput == 0:
            time.sleep(3600.0)
        left_s = began_s + sent / self._numbers.throughput - time.time()
        if left_s > 0.0:
            time.sleep(left_s)

    def _send(self, number: int, began_s: float) -> None:
        numbers = self._numbers
        key = str(number % numbers.repeating_keys) if numbers.repeating_keys is not None else None
        value = str(number) if numbers.value_prefix is None else f"{numbers.value_prefix}.{number}"
        timestamp = self._create_time_ms
        if self._create_time_ms is not None:
            self._create_time_ms += int((time.time() - began_s) * 1000)
        self._sent += 1
        on_delivery = self._delivery_callback(key, value)
        try:
            self._producer.send(
                numbers.topic,
                value.encode(),
                key=None if key is None else key.encode(),
                timestamp=timestamp,
                on_delivery=on_delivery,
            )
        except Exception as error:  # reported like a failed delivery
            on_delivery(None, error)

    def _delivery_callback(self, key: str | None, value: str) -> OnDelivery:
        def on_delivery(metadata: RecordMetadata | None, error: Exception | None) -> None:
            if metadata is None:
                assert error is not None
                self._events.write(
                    "producer_send_error",
                    topic=self._numbers.topic,
                    key=key,
                    value=value,
                    exception=java_class(error),
                    message=str(error),
                )
                return
            self._acked += 1
            self._events.write(
                "producer_send_success",
                key=key,
                value=value,
                offset=metadata.offset,
                topic=metadata.topic,
                partition=metadata.partition,
            )

        return on_delivery
