"""What the group coordinator counts (Kafka's `GroupCoordinatorMetrics`): commits, expired and deleted offsets, loads.

Shards count under locks of their own and share this, so it has one too, under which nothing is taken.
"""

from __future__ import annotations

from threading import Lock


class GroupCounts:
    """Counts since the start; of the times that loading partitions took there is the sum and the longest."""

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
        """Offsets were committed, in transactions too."""
        with self._lock:
            self.offset_commits += count

    def count_deletions(self, count: int) -> None:
        """Offsets were deleted because somebody asked for it."""
        with self._lock:
            self.offset_deletions += count

    def count_expirations(self, count: int) -> None:
        """Offsets have expired."""
        with self._lock:
            self.offset_expirations += count

    def count_rebalance(self) -> None:
        """A generation of a classic group was assigned."""
        with self._lock:
            self.completed_rebalances += 1

    def count_load(self, elapsed_ms: int) -> None:
        """A partition was loaded."""
        with self._lock:
            self.loads += 1
            self.load_time_sum_ms += elapsed_ms
            self.load_time_max_ms = max(self.load_time_max_ms, elapsed_ms)
