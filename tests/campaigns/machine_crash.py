"""Machines that crash: lives on a disk in memory that loses what was not synced, in three flush policies in turn.

A case is a round: random steps, a crash at a random change of the disk (or a kill, or a clean stop), recovery, and the
invariants.
"""

from __future__ import annotations

from tests.simulator.durability import Mode
from tests.simulator.random_life import ROUNDS, RandomLife

PACKAGES = ("kcore/storage", "kcore/platform", "kcore/replication", "kcore/server", "kcore/coordinator", "kcore/record")


def run(seed: int) -> int:
    modes = list(Mode)
    RandomLife(seed, modes[seed % len(modes)], ROUNDS).run()
    return ROUNDS
