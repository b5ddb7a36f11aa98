"""LatencyHistogram: the frequency of latencies, within 0.8 % of their values, in bounded memory.

Log-linear, as HdrHistogram: values up to 255 ns have a bucket each, and each further power of two has 128 equal
buckets. The broker's own histograms (kcore/metrics/histogram) have one bucket per power of two, which is too coarse for
percentiles. `merge` adds histograms of threads, processes and intervals.
"""

from __future__ import annotations

SUB_BUCKET_BITS = 7
LINEAR_BITS = SUB_BUCKET_BITS + 1
NS_PER_MS = 1e6
# The percentiles of summaries, by their JSON keys.
PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p99_9": 0.999, "p99_99": 0.9999}


class LatencyHistogram:
    """Latencies in nanoseconds, each with its number of records. Not synchronized."""

    __slots__ = ("_counts", "count", "max_ns", "min_ns", "total_ns")

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}
        self.count = 0
        self.total_ns = 0
        self.max_ns = 0
        self.min_ns = 0

    def record(self, latency_ns: int, records: int = 1) -> None:
        latency_ns = max(0, latency_ns)
        shift = max(0, latency_ns.bit_length() - LINEAR_BITS)
        bucket = (shift << SUB_BUCKET_BITS) + (latency_ns >> shift)
        self._counts[bucket] = self._counts.get(bucket, 0) + records
        if self.count == 0 or latency_ns < self.min_ns:
            self.min_ns = latency_ns
        self.count += records
        self.total_ns += latency_ns * records
        self.max_ns = max(self.max_ns, latency_ns)

    def merge(self, other: LatencyHistogram) -> None:
        for bucket, records in other._counts.items():
            self._counts[bucket] = self._counts.get(bucket, 0) + records
        if other.count and (self.count == 0 or other.min_ns < self.min_ns):
            self.min_ns = other.min_ns
        self.count += other.count
        self.total_ns += other.total_ns
        self.max_ns = max(self.max_ns, other.max_ns)

    @property
    def average_ms(self) -> float:
        return self.total_ns / self.count / NS_PER_MS if self.count else 0.0

    @property
    def max_ms(self) -> float:
        return self.max_ns / NS_PER_MS

    def percentiles_ms(self, *fractions: float) -> list[float]:
        """The latency that each fraction of the records did not exceed. The fractions must ascend."""
        found: list[float] = []
        seen = 0
        buckets = iter(sorted(self._counts.items()))
        highest_ns = 0
        for fraction in fractions:
            wanted = fraction * self.count
            while seen < wanted:
                bucket, records = next(buckets)
                seen += records
                highest_ns = highest_of(bucket)
            found.append(min(highest_ns, self.max_ns) / NS_PER_MS)
        return found

    def summary(self) -> dict[str, float]:
        """Average, extremes and percentiles in milliseconds, under their JSON keys."""
        values = {"avg": self.average_ms, "min": self.min_ns / NS_PER_MS, "max": self.max_ms}
        values.update(zip(PERCENTILES, self.percentiles_ms(*PERCENTILES.values()), strict=True))
        return {name: round(value, 6) for name, value in values.items()}


def highest_of(bucket: int) -> int:
    """The largest value of a bucket."""
    if bucket < 1 << LINEAR_BITS:
        return bucket
    shift = (bucket >> SUB_BUCKET_BITS) - 1
    return ((bucket - (shift << SUB_BUCKET_BITS) + 1) << shift) - 1
