"""Groups of the consumer protocol (KIP-848) under lost and late requests, members and coordinators that die.

A case is a step of a seeded life: something that happened, after which every invariant was looked at.
"""

from __future__ import annotations

from kcore.logger import LOGGERS, WARN, get_logger
from tests.simulator.consumer_groups.group_life import ConsumerGroupLife

PACKAGES = ("kcore/coordinator/group",)
LOG = "kcore.coordinator.group"


def run(seed: int) -> int:
    get_logger(LOG)
    LOGGERS.set_level(LOG, WARN)  # a coordinator's every start would be told of
    return ConsumerGroupLife(seed).run()
