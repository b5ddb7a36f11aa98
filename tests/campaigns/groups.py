"""Groups of the classic protocol under lost, repeated and late requests, members and coordinators that die.

A case is a step of a seeded life: something that happened, after which every invariant was looked at.
"""

from __future__ import annotations

from kcore.logger import ERROR, LOGGERS, get_logger
from tests.simulator.groups.group_life import GroupLife

PACKAGES = ("kcore/coordinator/group",)
LOG = "kcore.coordinator.group"


def run(seed: int) -> int:
    get_logger(LOG)
    LOGGERS.set_level(LOG, ERROR)  # of every start, rebalance and refused append we know
    return GroupLife(seed).run()
