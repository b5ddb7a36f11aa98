"""Disks that fail: EIO, ENOSPC, short writes and reads at seeded operations of random lives, in three flush policies.

A case is a round: random steps under a fault, an end, often a start under another fault, and then a whole disk.
"""

from __future__ import annotations

from tests.simulator.durability import Mode
from tests.simulator.faulty_life import FaultyLife
from tests.simulator.random_life import ROUNDS

PACKAGES = ("kcore/storage", "kcore/platform", "kcore/replication", "kcore/server", "kcore/coordinator", "kcore/record")


def run(seed: int) -> int:
    modes = list(Mode)
    FaultyLife(seed, modes[seed % len(modes)], ROUNDS).run()
    return ROUNDS
