"""Outcome: the result of a measurement, from the windows of its workers.

It is updated while the measurement runs.
"""

from __future__ import annotations

import time

from kcli.performance.tally import Done, Tally, Window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The curve has one point per window, at most one per second. Longer runs keep every second point, then every fourth.
MAX_CURVE_POINTS = 3600


class Outcome:
    """The result of all workers. `steady` excludes the warm-up; without a warm-up it equals `total`."""

    def __init__(self, warm_up_records: int = 0) -> None:
        self.began_at = time.time()
        self.warm_up_records = warm_up_records
        self.total = Tally()
        self.steady = Tally()
        self.rebalance_s = 0.0
        self.cpu_s = 0.0
        self.failures: list[str] = []
        self.curve: list[dict[str, Any]] = []
        self._began_s: float | None = None
        self._steady_began_s: float | None = None
        self._ended_s = 0.0
        self._stride = 1
        self._windows = 0

    def take(self, event: Window | Done) -> None:
        if isinstance(event, Window):
            self._take_window(event)
        else:
            self._take_end(event)

    def _take_window(self, window: Window) -> None:
        self._began_s = window.began_s if self._began_s is None else min(self._began_s, window.began_s)
        self._ended_s = max(self._ended_s, window.ended_s)
        self.rebalance_s += window.rebalance_s
        self.steady.merge(window.steady)
        self.total.merge(window.steady)
        self.total.merge(window.warm_up)
        self._windows += 1
        if self._windows % self._stride == 0:
            self._add_point(window)

    def _add_point(self, window: Window) -> None:
        tally, elapsed_s = window.all, max(window.ended_s - window.began_s, 1e-9)
        p50, p99 = tally.latencies.percentiles_ms(0.5, 0.99)
        assert self._began_s is not None
        point = {"at_s": window.ended_s - self._began_s, "worker": window.worker}
        values = {"records_per_s": tally.records / elapsed_s, "mb_per_s": tally.megabytes / elapsed_s}
        latencies = {"p50_ms": p50, "p99_ms": p99, "max_ms": tally.latencies.max_ms}
        self.curve.append({name: round(value, 6) for name, value in {**point, **values, **latencies}.items()})
        if len(self.curve) > MAX_CURVE_POINTS:
            self._stride *= 2
            del self.curve[::2]

    def _take_end(self, done: Done) -> None:
        self._began_s = done.began_s if self._began_s is None else min(self._began_s, done.began_s)
        self._ended_s = max(self._ended_s, done.ended_s)
        self.cpu_s += done.cpu_s
        self.failures += done.failures
        if done.steady_began_s is not None:
            earlier = self._steady_began_s
            self._steady_began_s = done.steady_began_s if earlier is None else min(earlier, done.steady_began_s)

    @property
    def elapsed_s(self) -> float:
        """From the start of the first worker to the end of the last one."""
        return max(self._ended_s - (self._began_s or 0.0), 1e-9) if self._ended_s else 1e-9

    @property
    def steady_elapsed_s(self) -> float:
        return max(self._ended_s - self._steady_began_s, 1e-9) if self._steady_began_s is not None else self.elapsed_s

    @property
    def has_steady_state(self) -> bool:
        """Whether there was a warm-up and records after it."""
        return self.warm_up_records > 0 and self._steady_began_s is not None

    def summary(self) -> dict[str, Any]:
        """The object of -o json: all records, and with a warm-up also the records after it."""
        cpu_s_per_million = self.cpu_s / self.total.records * 1e6 if self.total.records else 0.0
        summary = {
            **self.total.summary(self.elapsed_s),
            "cpu_s": round(self.cpu_s, 6),
            "cpu_s_per_million_records": round(cpu_s_per_million, 6),
        }
        if self.has_steady_state:
            summary["steady"] = self.steady.summary(self.steady_elapsed_s)
        return summary

    def judged(self) -> dict[str, Any]:
        """The summary to compare: the steady state if there is one."""
        return self.steady.summary(self.steady_elapsed_s) if self.has_steady_state else self.summary()
