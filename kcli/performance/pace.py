"""Pace: when each record of a run with a rate is due.

A record that is sent late, because earlier ones took long, has waited since it was due. Latencies from that time are
corrected for coordinated omission. Without a rate, nothing is due and nothing is corrected.
"""

from __future__ import annotations

import time


class Pace:
    """`records_per_s` of zero or less means no rate: as fast as possible."""

    __slots__ = ("_began_s", "records_per_s")

    def __init__(self, records_per_s: float) -> None:
        self.records_per_s = records_per_s
        self._began_s = time.perf_counter()

    def __bool__(self) -> bool:
        return self.records_per_s > 0.0

    def wait_for(self, number: int) -> int | None:
        """Waits until record `number` is due. Returns that time in ns, or None without a rate."""
        if self.records_per_s <= 0.0:
            return None
        due_s = self._began_s + number / self.records_per_s
        left_s = due_s - time.perf_counter()
        if left_s > 0.0:
            time.sleep(left_s)
        return int(due_s * 1e9)
