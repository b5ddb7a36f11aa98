"""GroupCounts: metrics of the group coordinator (Kafka's `GroupCoordinatorMetrics`).

Concurrency: shared by all shards. It has a lock of its own, and takes no other lock under it.
"""

from __future__ import annotations

from threading import Lock


class GroupCounts:
    """Counts since the start. For the durations of loads: their sum and the maximum."""

    __slots__ = (
        "_lock",
        "completed_rebalances",
        "load_time_max_ms",
        "load_time_sum_ms",
        "loads",
        "offset_commits",
        "offset_deletions",
        "offset_expirations",
    )

    def __init__(self) -> None:
        self._lock = Lock()
        self.completed_rebalances = 0
        self.offset_commits = 0
        self.offset_deletions = 0
        self.offset_expirations = 0
        self.loads = 0
        self.load_time_sum_ms = 0
        self.load_time_max_ms = 0

    def count_commits(self, count: int) -> None:
        """Counts committed offsets, also of transactions."""
        with self._lock:
            self.offset_commits += count

    def count_deletions(self, count: int) -> None:
        """Counts offsets that requests deleted."""
        with self._lock:
            self.offset_deletions += count

    def count_expirations(self, count: int) -> None:
        """Counts expired offsets."""
        with self._lock:
            self.offset_expirations += count

    def count_rebalance(self) -> None:
        """Counts a completed rebalance of a classic group."""
        with self._lock:
            self.completed_rebalances += 1

    def count_load(self, elapsed_ms: int) -> None:
        """Counts the load of a partition."""
        with self._lock:
            self.loads += 1
            self.load_time_sum_ms += elapsed_ms
            self.load_time_max_ms = max(self.load_time_max_ms, elapsed_ms)
