"""The recent share of time that threads spent in a state, from counters of nanoseconds.

Kafka reports a moving average of a minute. Here a counter is compared with an earlier sample, which is about a minute
old, or as old as the broker if that is younger. Several scrapers do not affect each other.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WINDOW_NS = 60_000_000_000
# The minimum distance between samples that are kept.
SPACING_NS = 1_000_000_000


class RecentShare:
    """`read` returns the counter of each thread in nanoseconds."""

    __slots__ = ("_clock_ns", "_read", "_samples")

    def __init__(self, read: Callable[[], Sequence[int]], clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._read = read
        self._clock_ns = clock_ns
        self._samples: list[tuple[int, Sequence[int]]] = [(clock_ns(), read())]

    def rates(self) -> list[float]:
        """The rate of each counter, in nanoseconds per nanosecond. 0 if no time has passed yet."""
        now_ns, values = self._clock_ns(), self._read()
        samples = self._samples
        # Keep the newest sample that is at least a minute old: the present values are compared with it.
        while len(samples) > 1 and samples[1][0] <= now_ns - WINDOW_NS:
            samples.pop(0)
        then_ns, before = samples[0]
        if now_ns - samples[-1][0] >= SPACING_NS:
            samples.append((now_ns, values))
        elapsed_ns = now_ns - then_ns
        if elapsed_ns <= 0:
            return [0.0] * len(values)
        # Threads that were started since then began with 0.
        before = [*before, *[0] * (len(values) - len(before))]
        return [(b - a) / elapsed_ns for a, b in zip(before, values, strict=True)]
