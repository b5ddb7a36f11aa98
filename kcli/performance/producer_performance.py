"""Sends records as fast as they are taken, or at a given rate, and measures until the last one is acknowledged.

Records are handed over a batch at a time, which costs the measured process little; latencies are from that moment to
the acknowledgement. Payloads are random capital letters as in Kafka's ProducerPerformance, or lines of a file.
"""

from __future__ import annotations

import random
import time

from kcli.performance.latencies import Latencies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from kcore.client.producer import Producer

REPORT_INTERVAL_S = 5.0
POOL_BYTES = 1 << 20
BYTES_PER_MB = 1024.0 * 1024.0
BATCH_OVERHEAD_BYTES = 61
RECORD_OVERHEAD_BYTES = 21
# A throttled run still sends so often a second, in smaller batches.
BATCHES_PER_SECOND = 100
MAX_WAIT_MS = 100.0
RANDOM_SEED = 0
LETTERS = bytes(65 + number * 26 // 256 for number in range(256))


class RandomPayloads:
    """Records of one size, cut at ever new places out of a pool of random letters; the same ones in every run."""

    def __init__(self, record_size: int) -> None:
        self.record_size = record_size
        source = random.Random(RANDOM_SEED)
        self._pool = source.randbytes(POOL_BYTES + record_size).translate(LETTERS)
        self._random = source

    def take(self, count: int) -> list[bytes]:
        size, pool = self.record_size, self._pool
        step = self._random.randrange(1, 1024)
        starts = range(0, count * step, step)
        return [pool[start % POOL_BYTES : start % POOL_BYTES + size] for start in starts]


class FilePayloads:
    """Records chosen at random among the parts of a file."""

    def __init__(self, payloads: Sequence[bytes]) -> None:
        self._payloads = payloads
        self.record_size = max(1, sum(map(len, payloads)) // len(payloads))
        self._random = random.Random(RANDOM_SEED)

    def take(self, count: int) -> list[bytes]:
        return self._random.choices(self._payloads, k=count)


class MonotonicPayloads:
    """The numbers from 0 on, as text."""

    record_size = 8

    def __init__(self) -> None:
        self._next = 0

    def take(self, count: int) -> list[bytes]:
        first, self._next = self._next, self._next + count
        return [b"%d" % number for number in range(first, first + count)]


class ProducerPerformance:
    def __init__(
        self,
        producer: Producer,
        topic: str,
        payloads: RandomPayloads | FilePayloads | MonotonicPayloads,
        *,
        batch_size: int,
        throughput: float,
        report: Callable[[str], None],
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._payloads = payloads
        self._throughput = throughput
        self._report = report
        per_record = payloads.record_size + RECORD_OVERHEAD_BYTES
        self._batch_records = max(1, (batch_size - BATCH_OVERHEAD_BYTES) // per_record)
        if throughput > 0:
            self._batch_records = min(self._batch_records, max(1, int(throughput / BATCHES_PER_SECOND)))
        self.latencies = Latencies()
        self.acknowledged_bytes = 0
        self.failures: list[Exception] = []
        self.elapsed_s = 0.0
        self._window = Latencies()
        self._window_bytes = 0
        self._window_began_s = 0.0

    def run(self, records: int) -> None:
        """Sends so many records and waits for their acknowledgements."""
        self._producer.partitions_for(self._topic)
        began_s = self._window_began_s = time.perf_counter()
        sent = 0
        while sent < records and not self.failures:
            count = min(self._batch_records, records - sent)
            if self._throughput > 0:
                self._wait_until(began_s + sent / self._throughput)
            self._send(self._payloads.take(count))
            sent += count
            self._report_window()
        self._producer.flush()
        self.elapsed_s = time.perf_counter() - began_s

    def _send(self, values: list[bytes]) -> None:
        size_bytes = sum(map(len, values))
        sent_s = time.perf_counter()

        def on_delivery(metadata: object, error: Exception | None) -> None:
            if error is not None:
                self.failures.append(error)
                return
            latency_ms = (time.perf_counter() - sent_s) * 1000.0
            self.latencies.add(latency_ms, len(values))
            self._window.add(latency_ms, len(values))
            self.acknowledged_bytes += size_bytes
            self._window_bytes += size_bytes

        self._producer.send_batch(self._topic, values, on_delivery=on_delivery)

    def _wait_until(self, due_s: float) -> None:
        while (left_ms := (due_s - time.perf_counter()) * 1000.0) > 0.0:
            if self._producer.pending:
                self._producer.poll(min(left_ms, MAX_WAIT_MS))
            else:
                time.sleep(left_ms / 1000.0)

    def _report_window(self) -> None:
        elapsed_s = time.perf_counter() - self._window_began_s
        if elapsed_s < REPORT_INTERVAL_S:
            return
        window = self._window
        self._report(
            f"{window.count} records sent, {window.count / elapsed_s:.1f} records/sec "
            f"({self._window_bytes / BYTES_PER_MB / elapsed_s:.2f} MB/sec), {window.average_ms:.1f} ms avg latency, "
            f"{window.max_ms:.1f} ms max latency."
        )
        self._window, self._window_bytes, self._window_began_s = Latencies(), 0, time.perf_counter()

    @property
    def records_per_s(self) -> float:
        return self.latencies.count / self.elapsed_s

    @property
    def mb_per_s(self) -> float:
        return self.acknowledged_bytes / BYTES_PER_MB / self.elapsed_s

    def summary_line(self) -> str:
        """The last line of Kafka's ProducerPerformance."""
        p50, p95, p99, p999 = self.latencies.percentiles(0.50, 0.95, 0.99, 0.999)
        return (
            f"{self.latencies.count} records sent, {self.records_per_s:.6f} records/sec ({self.mb_per_s:.2f} MB/sec), "
            f"{self.latencies.average_ms:.2f} ms avg latency, {self.latencies.max_ms:.2f} ms max latency, "
            f"{p50:.0f} ms 50th, {p95:.0f} ms 95th, {p99:.0f} ms 99th, {p999:.0f} ms 99.9th."
        )

    def summary(self) -> dict[str, Any]:
        return {
            "records": self.latencies.count,
            "bytes": self.acknowledged_bytes,
            "elapsed_s": round(self.elapsed_s, 6),
            "records_per_s": round(self.records_per_s, 3),
            "mb_per_s": round(self.mb_per_s, 3),
            "latency_ms": self.latencies.summary(),
        }
