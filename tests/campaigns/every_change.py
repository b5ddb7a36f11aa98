"""A scripted life, stopped at every change of its disk in turn, by a loss of power or a kill, in each flush policy.

A seed is a place in that order, which goes round: some 2,700 stops, and from then on the same stops with other
survivors.
"""

from __future__ import annotations

from functools import cache
from itertools import product

from tests.simulator.durability import Mode
from tests.simulator.scripted_life import ScriptedLife

PACKAGES = ("kcore/storage", "kcore/platform", "kcore/replication", "kcore/server", "kcore/coordinator", "kcore/record")
# With group commit how many changes there are depends on which flushes meet.
LAST_CHANGE = 450


@cache
def stops() -> list[tuple[int, Mode, bool]]:
    return [(change, mode, by_power) for change, mode, by_power in product(range(1, LAST_CHANGE), Mode, (True, False))]


def run(seed: int) -> None:
    change, mode, by_power = stops()[seed % len(stops())]
    ScriptedLife(seed, mode, change, by_power=by_power).run()
