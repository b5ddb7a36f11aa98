"""Reads records as fast as they come, and measures until so many have come, or none came for too long.

The latencies are those of polls that brought records: how long the reader waited for them.
"""

from __future__ import annotations

import time

from kcli.performance.latencies import Latencies

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kcore.client.consumer import Consumer

BYTES_PER_MB = 1024.0 * 1024.0
MAX_WAIT_MS = 100.0
SUMMARY_HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
DETAILS_HEADER = (
    "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


def format_time(seconds: float, pattern: str) -> str:
    """A wall clock time in the pattern letters of Java's SimpleDateFormat."""
    local = time.localtime(seconds)
    milliseconds = int(seconds * 1000) % 1000
    parts = {
        "yyyy": f"{local.tm_year:04d}",
        "MM": f"{local.tm_mon:02d}",
        "dd": f"{local.tm_mday:02d}",
        "HH": f"{local.tm_hour:02d}",
        "mm": f"{local.tm_min:02d}",
        "SSS": f"{milliseconds:03d}",
        "ss": f"{local.tm_sec:02d}",
    }
    for letters, value in parts.items():
        pattern = pattern.replace(letters, value)
    return pattern


class ConsumerPerformance:
    def __init__(
        self,
        consumer: Consumer,
        *,
        date_format: str,
        report: Callable[[str], None] | None,
        reporting_interval_ms: int,
    ) -> None:
        self._consumer = consumer
        self._date_format = date_format
        self._report = report
        self._reporting_interval_s = reporting_interval_ms / 1000.0
        self.latencies = Latencies()
        self.consumed_bytes = 0
        self.elapsed_s = 0.0
        self.rebalance_s = 0.0
        self._began_at = 0.0
        self._window = (0.0, 0, 0)

    @property
    def records(self) -> int:
        return self.latencies.count

    def run(self, records: int, timeout_ms: int) -> bool:
        """Reads at least so many records; False when none came for `timeout_ms` before that."""
        self._began_at = time.time()
        began_s = last_s = time.perf_counter()
        self._window = (began_s, 0, 0)
        while self.records < records:
            polled_s = time.perf_counter()
            fetched = self._consumer.poll(min(MAX_WAIT_MS, timeout_ms))
            now_s = time.perf_counter()
            if fetched is None:
                if (now_s - last_s) * 1000.0 > timeout_ms:
                    break
                continue
            last_s = now_s
            self.latencies.add((now_s - polled_s) * 1000.0, len(fetched.records))
            for record in fetched.records:
                self.consumed_bytes += len(record.value or b"") + len(record.key or b"")
            self._report_window(now_s)
        self.elapsed_s = time.perf_counter() - began_s
        self.rebalance_s = self._consumer.rebalance_time_ms / 1000.0
        return self.records >= records

    def _report_window(self, now_s: float) -> None:
        began_s, bytes_before, records_before = self._window
        elapsed_s = now_s - began_s
        if self._report is None or elapsed_s < self._reporting_interval_s:
            return
        megabytes = (self.consumed_bytes - bytes_before) / BYTES_PER_MB
        records = self.records - records_before
        at = format_time(time.time(), self._date_format)
        self._report(
            f"{at}, 0, {self.consumed_bytes / BYTES_PER_MB:.4f}, {megabytes / elapsed_s:.4f}, {self.records}, "
            f"{records / elapsed_s:.4f}, 0, {elapsed_s * 1000:.0f}, {megabytes / elapsed_s:.4f}, "
            f"{records / elapsed_s:.4f}"
        )
        self._window = (now_s, self.consumed_bytes, self.records)

    def summary_line(self) -> str:
        """The line of Kafka's ConsumerPerformance."""
        megabytes = self.consumed_bytes / BYTES_PER_MB
        fetch_s = max(self.elapsed_s - self.rebalance_s, 1e-9)
        start = format_time(self._began_at, self._date_format)
        end = format_time(self._began_at + self.elapsed_s, self._date_format)
        return (
            f"{start}, {end}, {megabytes:.4f}, {megabytes / self.elapsed_s:.4f}, {self.records}, "
            f"{self.records / self.elapsed_s:.4f}, {self.rebalance_s * 1000:.0f}, {fetch_s * 1000:.0f}, "
            f"{megabytes / fetch_s:.4f}, {self.records / fetch_s:.4f}"
        )

    def summary(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "bytes": self.consumed_bytes,
            "elapsed_s": round(self.elapsed_s, 6),
            "records_per_s": round(self.records / self.elapsed_s, 3),
            "mb_per_s": round(self.consumed_bytes / BYTES_PER_MB / self.elapsed_s, 3),
            "latency_ms": self.latencies.summary(),
        }
