"""Groups whose members change between the classic and the consumer protocol, and use patterns, under the faults of
`consumer_groups`.

A case is a step of a seeded life: something that happened, after which every invariant was looked at.
"""

from __future__ import annotations

from kcore.logger import LOGGERS, WARN, get_logger
from tests.simulator.consumer_groups.mixed_life import MixedGroupLife

PACKAGES = ("kcore/coordinator/group",)
LOG = "kcore.coordinator.group"


def run(seed: int) -> int:
    get_logger(LOG)
    LOGGERS.set_level(LOG, WARN)  # a coordinator's every start would be told of
    return MixedGroupLife(seed).run()
