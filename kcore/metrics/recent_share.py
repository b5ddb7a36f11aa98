"""The share of their time that threads spent in a certain way lately, from counters of nanoseconds that only grow.

Kafka shows a moving average of a minute. Here the counters are compared with what they were at an earlier question, at
best about a minute ago, at worst when the broker began: two who ask at different times do not disturb each other.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

WINDOW_NS = 60_000_000_000
# Questions that come faster than this are answered from the same samples.
SPACING_NS = 1_000_000_000


class RecentShare:
    """`read` answers the nanoseconds of each thread so far."""

    __slots__ = ("_clock_ns", "_read", "_samples")

    def __init__(self, read: Callable[[], Sequence[int]], clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._read = read
        self._clock_ns = clock_ns
        self._samples: list[tuple[int, Sequence[int]]] = [(clock_ns(), read())]

    def rates(self) -> list[float]:
        """For each counter, how many nanoseconds a nanosecond; 0 for all before any time has passed."""
        now_ns, values = self._clock_ns(), self._read()
        samples = self._samples
        # The newest one that is a minute old stays, as what is younger is compared with it.
        while len(samples) > 1 and samples[1][0] <= now_ns - WINDOW_NS:
            samples.pop(0)
        then_ns, before = samples[0]
        if now_ns - samples[-1][0] >= SPACING_NS:
            samples.append((now_ns, values))
        elapsed_ns = now_ns - then_ns
        if elapsed_ns <= 0:
            return [0.0] * len(values)
        # Threads that have come since then began with nothing.
        before = [*before, *[0] * (len(values) - len(before))]
        return [(b - a) / elapsed_ns for a, b in zip(before, values, strict=True)]
