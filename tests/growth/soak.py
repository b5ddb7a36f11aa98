"""Creates and forgets items of one kind, and judges by counts of the broker's allocations whether its memory is flat.

The growth for each item is the median of the slopes between all pairs of counts (Theil-Sen): a single table that
doubles, or an arena that is returned late, does not decide it. Each measure has a bound for each item and an allowance
for the run, because caches and fragmentation do not grow with the number of items. Objects of Python and bytes of
malloc are exact, so a short run finds a leak of one object for each item; resident memory needs a long run.
"""

from __future__ import annotations

import itertools
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcore.testing.embedded_broker import home_in_memory
from tests.growth.churns import KINDS, Churn
from tests.growth.measured_broker import Count, MeasuredBroker

TURN = 500
COUNTS = 10
SHOWN_TYPES = 5


@dataclass(frozen=True)
class Bound:
    for_each_item: float
    for_the_run: float

    def holds(self, growth: float, items: int) -> bool:
        return growth * items <= self.for_each_item * items + self.for_the_run


BOUNDS = {
    "python_blocks": Bound(0.02, 300),
    "native_bytes": Bound(16, 128 << 10),
    "resident_bytes": Bound(100, 2 << 20),
}


@dataclass(frozen=True)
class Growth:
    """What each item left behind, by measure; `objects` are the types of which there are more at the end."""

    kind: str
    items: int
    measures: Mapping[str, float]
    objects: Mapping[str, int]

    def excesses(self) -> list[str]:
        """The measures that grow by more than their bound."""
        return [name for name, bound in BOUNDS.items() if not bound.holds(self.measures[name], self.items)]

    def check(self) -> None:
        excesses = self.excesses()
        if excesses:
            figures = ", ".join(f"{name} {value:.2f}" for name, value in self.measures.items())
            raise AssertionError(
                f"{self.items} {self.kind} left memory behind ({', '.join(excesses)}); for each: {figures}; "
                f"more objects than before: {dict(self.objects)}"
            )


def soak(kind: str, items: int, settings: Mapping[str, str] | None = None) -> Growth:
    """Creates and forgets `items` after the warm-up. `settings` are for the broker."""
    with tempfile.TemporaryDirectory(prefix="kcli-growth-", dir=home_in_memory()) as directory:
        return soak_in(Path(directory), kind, items, settings or {})


def soak_in(directory: Path, kind: str, items: int, settings: Mapping[str, str]) -> Growth:
    churn_class = KINDS[kind]
    with MeasuredBroker(directory, {**churn_class.overrides, **settings}) as broker:
        churn = churn_class(broker.port)
        churn.prepare()
        advance(churn, 0, churn_class.warm_up)
        counts = [(0, broker.count())]
        for part in range(1, COUNTS + 1):
            done, goal = counts[-1][0], items * part // COUNTS
            advance(churn, churn_class.warm_up + done, goal - done)
            counts.append((goal, broker.count()))
        churn.close()
    return growth_of(kind, counts)


def advance(churn: Churn, start: int, items: int) -> None:
    for first in range(start, start + items, TURN):
        churn.turn(first, min(TURN, start + items - first))


def growth_of(kind: str, counts: Sequence[tuple[int, Count]]) -> Growth:
    """`counts` with the number of items before each."""
    measures = {name: slope([(items, float(getattr(count, name))) for items, count in counts]) for name in BOUNDS}
    first, last = counts[0][1].objects, counts[-1][1].objects
    more = {name: number - first.get(name, 0) for name, number in last.items() if number > first.get(name, 0)}
    most = sorted(more, key=lambda name: -more[name])[:SHOWN_TYPES]
    return Growth(kind, counts[-1][0], measures, {name: more[name] for name in most})


def slope(points: Sequence[tuple[int, float]]) -> float:
    """The median of the slopes between all pairs of points."""
    return statistics.median((b[1] - a[1]) / (b[0] - a[0]) for a, b in itertools.combinations(points, 2))
