"""The counters of a running measurement: records, bytes and latencies, by interval and by phase.

A worker counts in a Recorder, on any of its threads. At each interval the Recorder emits a Window and starts again from
zero. Times are from `time.perf_counter`, which all processes share.
"""

from __future__ import annotations

import threading
import time

from kcli.performance.latency_histogram import LatencyHistogram

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

BYTES_PER_MB = 1024.0 * 1024.0


class Tally:
    """`latencies` are measured; `corrected` ones count from the time when a record was due (see `Pace`)."""

    __slots__ = ("corrected", "latencies", "records", "size_bytes")

    def __init__(self) -> None:
        self.records = 0
        self.size_bytes = 0
        self.latencies = LatencyHistogram()
        self.corrected = LatencyHistogram()

    def add(self, records: int, size_bytes: int, latency_ns: int, corrected_ns: int | None = None) -> None:
        self.records += records
        self.size_bytes += size_bytes
        self.latencies.record(latency_ns, records)
        if corrected_ns is not None:
            self.corrected.record(corrected_ns, records)

    def merge(self, other: Tally) -> None:
        self.records += other.records
        self.size_bytes += other.size_bytes
        self.latencies.merge(other.latencies)
        self.corrected.merge(other.corrected)

    @property
    def megabytes(self) -> float:
        return self.size_bytes / BYTES_PER_MB

    def summary(self, elapsed_s: float) -> dict[str, Any]:
        """The summary under its JSON keys."""
        elapsed_s = max(elapsed_s, 1e-9)
        summary: dict[str, Any] = {
            "records": self.records,
            "bytes": self.size_bytes,
            "elapsed_s": round(elapsed_s, 6),
            "records_per_s": round(self.records / elapsed_s, 3),
            "mb_per_s": round(self.megabytes / elapsed_s, 3),
            "latency_ms": self.latencies.summary(),
        }
        if self.corrected.count:
            summary["corrected_latency_ms"] = self.corrected.summary()
        return summary


class Window:
    """The counters of one worker between two times; `rebalance_s` is the time without partitions in between."""

    __slots__ = ("began_s", "ended_s", "rebalance_s", "steady", "warm_up", "worker")

    def __init__(self, worker: int, began_s: float, ended_s: float, warm_up: Tally, steady: Tally) -> None:
        self.worker = worker
        self.began_s = began_s
        self.ended_s = ended_s
        self.warm_up = warm_up
        self.steady = steady
        self.rebalance_s = 0.0

    @property
    def all(self) -> Tally:
        both = Tally()
        both.merge(self.warm_up)
        both.merge(self.steady)
        return both


class Done:
    """The end of one worker."""

    __slots__ = ("began_s", "cpu_s", "ended_s", "failures", "steady_began_s", "worker")

    def __init__(self, worker: int, began_s: float) -> None:
        self.worker = worker
        self.began_s = began_s
        self.steady_began_s: float | None = None
        self.ended_s = began_s
        self.cpu_s = 0.0
        self.failures: list[str] = []


class Recorder:
    """The open window of a worker, closed every `interval_s`."""

    def __init__(self, worker: int, interval_s: float, emit: Callable[[Window | Done], None]) -> None:
        self._lock = threading.Lock()
        self._worker = worker
        self._interval_s = interval_s
        self._emit = emit
        self._tallies = (Tally(), Tally())
        self._began_s = time.perf_counter()
        self._cpu_s = time.process_time()
        self._rebalance_s = 0.0
        self.done = Done(worker, self._began_s)

    def begin_steady_state(self) -> None:
        """The warm-up ends now."""
        self.done.steady_began_s = time.perf_counter()

    def add(
        self, records: int, size_bytes: int, latency_ns: int, corrected_ns: int | None = None, *, is_steady: bool = True
    ) -> None:
        """Thread-safe."""
        with self._lock:
            self._tallies[is_steady].add(records, size_bytes, latency_ns, corrected_ns)

    def add_rebalance(self, elapsed_s: float) -> None:
        self._rebalance_s += elapsed_s

    def report_if_due(self) -> None:
        if time.perf_counter() - self._began_s >= self._interval_s:
            self._report()

    def _report(self) -> None:
        now_s = time.perf_counter()
        with self._lock:
            (warm_up, steady), self._tallies = self._tallies, (Tally(), Tally())
        window = Window(self._worker, self._began_s, now_s, warm_up, steady)
        window.rebalance_s, self._rebalance_s = self._rebalance_s, 0.0
        self._began_s = now_s
        self._emit(window)

    def finish(self, failures: list[str]) -> None:
        """Emits the last window and the end."""
        self._report()
        self.done.ended_s = time.perf_counter()
        self.done.cpu_s = time.process_time() - self._cpu_s
        self.done.failures = failures
        self._emit(self.done)
