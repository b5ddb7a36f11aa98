"""Sends records as fast as possible, or at a given rate, and measures until the last one is acknowledged.

Records are sent a batch per call, which costs the measured process little, or one per call, as in Kafka's
ProducerPerformance. Latency is the time from that call to the acknowledgement. The first records may be reported
separately as warm-up (KIP-1052). With a transaction duration, transactions are committed that often.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from kcli.performance.pace import Pace
from kcli.performance.tally import Recorder
from kcli.performance.workers import watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcli.performance.payloads import KeySource, Payloads
    from kcli.performance.workers import Emit, Share
    from kcore.client.config.client_config import ProducerConfig

BATCH_OVERHEAD_BYTES = 61
RECORD_OVERHEAD_BYTES = 21
# A run with a rate sends at least this often per second, in smaller batches.
BATCHES_PER_SECOND = 100
SEND, SEND_BATCH = "send", "send_batch"
# Only the first errors of a failing run are kept.
MAX_FAILURES_KEPT = 10


class ProducerRun(NamedTuple):
    """The parameters of all workers: `make_payloads(seed, first record)`, `make_keys(seed)`, the client method."""

    make_config: Callable[[int], ProducerConfig]
    topic: str
    make_payloads: Callable[[int, int], Payloads]
    make_keys: Callable[[int], KeySource] | None = None
    call: str = SEND_BATCH
    transaction_duration_ms: int | None = None
    interval_s: float = 5.0


class ProducerPerformance:
    """One worker."""

    def __init__(self, run: ProducerRun, share: Share, emit: Emit) -> None:
        self._run = run
        self._share = share
        self._emit = emit
        self._payloads = run.make_payloads(share.worker, share.first_record)
        self._keys = run.make_keys(share.worker) if run.make_keys is not None else None
        self._failures: list[str] = []

    def work(self) -> None:
        """Sends its share and waits for the acknowledgements. Errors are reported at the end."""
        from kcore.client.producer import Producer

        config = self._run.make_config(self._share.worker)
        self._batch_records = self._records_a_call(config["batch.size"])
        with Producer(config) as producer, watch(self._share, producer):
            self._producer: Any = producer
            producer.partitions_for(self._run.topic)
            if self._run.transaction_duration_ms is not None:
                producer.init_transactions()
            self._recorder = Recorder(self._share.worker, self._run.interval_s, self._emit)
            self._send_all()
            producer.flush()
            self._recorder.finish(self._failures)

    def _records_a_call(self, batch_size: int) -> int:
        per_record = self._payloads.record_size + RECORD_OVERHEAD_BYTES
        records = max(1, (batch_size - BATCH_OVERHEAD_BYTES) // per_record)
        if self._share.throughput > 0:
            records = min(records, max(1, int(self._share.throughput / BATCHES_PER_SECOND)))
        return records

    def _send_all(self) -> None:
        share = self._share
        self._pace = Pace(share.throughput)
        transaction_began_s: float | None = None
        sent = 0
        while sent < share.records and not self._failures:
            if sent == share.warm_up_records:
                self._recorder.begin_steady_state()
            limit = share.warm_up_records if sent < share.warm_up_records else share.records
            count = min(self._batch_records, limit - sent)
            if self._run.transaction_duration_ms is not None and transaction_began_s is None:
                self._producer.begin_transaction()
                transaction_began_s = time.perf_counter()
            self._send(sent, count, is_steady=sent >= share.warm_up_records)
            sent += count
            if transaction_began_s is not None and self._is_long(transaction_began_s):
                self._producer.commit_transaction()
                transaction_began_s = None
            self._recorder.report_if_due()
        if transaction_began_s is not None and not self._failures:
            self._producer.commit_transaction()

    def _is_long(self, began_s: float) -> bool:
        assert self._run.transaction_duration_ms is not None
        return (time.perf_counter() - began_s) * 1000.0 >= self._run.transaction_duration_ms

    def _send(self, first: int, count: int, *, is_steady: bool) -> None:
        values = self._payloads.take(count)
        keys = self._keys(count) if self._keys is not None else None
        if self._run.call == SEND_BATCH:
            due_ns = self._pace.wait_for(first)
            size_bytes = sum(map(len, values)) + (sum(map(len, keys)) if keys is not None else 0)
            callback = self._delivery_callback(count, size_bytes, due_ns, is_steady)
            self._producer.send_batch(self._run.topic, values, keys=keys, on_delivery=callback)
            return
        send, topic = self._producer.send, self._run.topic
        for number, value in enumerate(values):
            due_ns = self._pace.wait_for(first + number)
            key = keys[number] if keys is not None else None
            size_bytes = len(value) + (len(key) if key is not None else 0)
            send(topic, value, key=key, on_delivery=self._delivery_callback(1, size_bytes, due_ns, is_steady))

    def _delivery_callback(
        self, count: int, size_bytes: int, due_ns: int | None, is_steady: bool
    ) -> Callable[[object, Exception | None], None]:
        """The delivery callback for `count` records that are sent now."""
        sent_ns = time.perf_counter_ns()

        def on_delivery(metadata: object, error: Exception | None) -> None:
            if error is not None:
                if len(self._failures) < MAX_FAILURES_KEPT:
                    self._failures.append(str(error))
                return
            now_ns = time.perf_counter_ns()
            corrected_ns = None if due_ns is None else now_ns - min(due_ns, sent_ns)
            self._recorder.add(count, size_bytes, now_ns - sent_ns, corrected_ns, is_steady=is_steady)

        return on_delivery
