"""Latencies of records, kept by batch: all records of a batch are sent at one time and acknowledged at one time."""

from __future__ import annotations


class Latencies:
    """Milliseconds, each with the number of records that it holds for."""

    def __init__(self) -> None:
        self._samples: list[tuple[float, int]] = []
        self.count = 0
        self.total_ms = 0.0
        self.max_ms = 0.0

    def add(self, latency_ms: float, records: int) -> None:
        self._samples.append((latency_ms, records))
        self.count += records
        self.total_ms += latency_ms * records
        self.max_ms = max(self.max_ms, latency_ms)

    @property
    def average_ms(self) -> float:
        return self.total_ms / self.count if self.count else 0.0

    def percentiles(self, *fractions: float) -> list[float]:
        """The latency that this fraction of the records did not exceed, for each fraction."""
        ordered = sorted(self._samples)
        return [self._at(ordered, fraction * self.count) for fraction in fractions]

    @staticmethod
    def _at(ordered: list[tuple[float, int]], wanted: float) -> float:
        seen = 0
        for latency_ms, records in ordered:
            seen += records
            if seen >= wanted:
                return latency_ms
        return 0.0

    def summary(self) -> dict[str, float]:
        """Average, maximum and percentiles under the keys of the JSON output."""
        p50, p95, p99, p999 = self.percentiles(0.50, 0.95, 0.99, 0.999)
        values = {"avg": self.average_ms, "max": self.max_ms, "p50": p50, "p95": p95, "p99": p99, "p99_9": p999}
        return {name: round(value, 3) for name, value in values.items()}
