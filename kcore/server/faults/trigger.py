"""When a fault strikes: pure state, used by the broker's faults and by the fault proxy.

Every request that the fault matches is one event. The first `skip` events pass. Each later event is struck with
`probability`. The random numbers come from the fault's own generator, so the same seed gives the same series. After
`times` strikes the fault is spent.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from random import Random


class Trigger:
    """Call `strikes()` once per event. Raises ValueError for values out of range."""

    __slots__ = ("_probability", "_random", "_skip", "_times", "hits")

    def __init__(
        self, *, times: int | None = None, skip: int = 0, probability: float = 1.0, seed: int | None = None
    ) -> None:
        if times is not None and times < 1:
            raise ValueError(f"times={times}: must be at least 1, or None for no limit")
        if skip < 0:
            raise ValueError(f"skip={skip}: must not be negative")
        if not 0.0 < probability <= 1.0:
            raise ValueError(f"probability={probability}: must be above 0 and at most 1")
        self._times = times
        self._skip = skip
        self._probability = probability
        self._random: Random | None = None
        self.hits = 0
        if probability < 1.0 or seed is not None:
            from random import Random

            self._random = Random(seed)

    @property
    def is_spent(self) -> bool:
        return self._times is not None and self.hits >= self._times

    def strikes(self) -> bool:
        """Whether this event is struck. Counts the event."""
        if self.is_spent:
            return False
        if self._skip:
            self._skip -= 1
            return False
        if self._probability < 1.0 and self._random is not None and self._random.random() >= self._probability:
            return False
        self.hits += 1
        return True

    def between(self, low: int, high: int) -> int:
        """A random number between `low` and `high`, both included, from the fault's generator."""
        if low >= high:
            return low
        if self._random is None:
            from random import Random

            self._random = Random()
        return self._random.randint(low, high)
