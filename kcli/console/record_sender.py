"""Sends records, a whole read in one call where possible, and counts the outcome of each.

Each record is acknowledged, reported on stderr, or counted at the end: `unaccounted` are records without an outcome.
Failures are reported by the producer's background thread as they occur.
"""

from __future__ import annotations

import threading
from functools import partial

from kcli.failures import complain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcli.console.record_batch import RecordBatch
    from kcore.client.producer import Producer
    from kcore.client.producer.batch_future import BatchFuture

# Upper bound for the overhead of a batch with one record. Larger records are sent alone.
OVERHEAD_BYTES = 4_096


class RecordSender:
    def __init__(self, producer: Producer, topic: str, *, partition: int | None, is_sync: bool) -> None:
        self.sent = 0
        self.acknowledged = 0
        self.failed = 0
        self._producer = producer
        self._topic = topic
        self._partition = partition
        self._is_sync = is_sync
        config = producer.config
        self._largest_bytes = min(config["max.request.size"], config["buffer.memory"]) - OVERHEAD_BYTES
        self._lock = threading.Lock()

    @property
    def unaccounted(self) -> int:
        with self._lock:
            return self.sent - self.acknowledged - self.failed

    def send(self, batch: RecordBatch) -> None:
        """Takes the records. Waits for room in the send buffer, and with `is_sync` for each acknowledgement."""
        for reason in batch.passed_over:
            self.sent += 1
            self._settle_one(ValueError(reason), "skipped")
        if not batch.values:
            return
        if self._is_sync or batch.partitions is not None or 2 * batch.largest_bytes > self._largest_bytes:
            self._send_singly(batch)
            return
        self.sent += len(batch.values)
        lines = _lines(batch.first_line, batch.last_line)
        future = self._producer.send_batch(
            self._topic,
            batch.values,
            keys=batch.keys,
            headers=batch.headers,
            partition=self._partition,
            timestamps=batch.timestamps,
        )
        future.add_done_callback(lambda done: self._settle(done, lines))

    def _settle(self, future: BatchFuture, lines: str) -> None:
        failures = future.failures(0)
        failed = sum(failure.record_count for failure in failures)
        with self._lock:
            self.failed += failed
            self.acknowledged += future.record_count - failed
        for failure in failures:
            place, reason = f"{self._topic}-{failure.partition}", str(failure.error)
            reason = reason if reason.startswith(f"{place}: ") else f"{place}: {reason}"
            complain(f"{lines}: {failure.record_count} not delivered: {reason}")

    def _send_singly(self, batch: RecordBatch) -> None:
        has_every_line = len(batch.values) == batch.last_line - batch.first_line + 1
        for row, value in enumerate(batch.values):
            line = batch.first_line + row
            place = _lines(line, line) if has_every_line else _lines(batch.first_line, batch.last_line)
            partition = None if batch.partitions is None else batch.partitions[row]
            self.sent += 1
            try:
                future = self._producer.send(
                    self._topic,
                    value,
                    key=None if batch.keys is None else batch.keys[row],
                    headers=None if batch.headers is None else batch.headers[row],
                    partition=partition if self._partition is None else self._partition,
                    timestamp=None if batch.timestamps is None else batch.timestamps[row],
                    on_delivery=partial(self._deliver, place),
                )
            except _failures() as error:
                self._settle_one(error, place)
                continue
            if self._is_sync:
                future.exception()

    def _deliver(self, place: str, metadata: object, error: Exception | None) -> None:
        self._settle_one(error, place)

    def _settle_one(self, error: Exception | None, place: str) -> None:
        with self._lock:
            if error is None:
                self.acknowledged += 1
            else:
                self.failed += 1
        if error is not None:
            complain(f"{place}: {error}")


def _failures() -> tuple[type[Exception], ...]:
    from kcore.client.errors import ClientError
    from kcore.errors import KafkaError

    return ClientError, KafkaError


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first} to {last}"
