"""Groups of our own consumers' state machines before our coordinator, in storm and calm.

A case is a step of a seeded life: something that happened, after which every invariant was looked at.
"""

from __future__ import annotations

from kcore.logger import ERROR, LOGGERS, get_logger
from tests.simulator.members.member_life import MemberLife

PACKAGES = ("kcore/client/consumer", "kcore/coordinator/group")
LOG = "kcore.coordinator.group"


def run(seed: int) -> int:
    get_logger(LOG)
    LOGGERS.set_level(LOG, ERROR)  # of every start and rebalance we know
    return MemberLife(seed).run()
