"""Streams groups (GroupCoordinatorConfig of Kafka 4.3, KIP-1071).

Streams groups are not supported. These configurations are accepted and have no effect.
"""

from __future__ import annotations

from kcore.config.definition import CLUSTER_WIDE, INT, INT_MAX, unused
from kcore.config.validators import at_least

KEYS = (
    unused("group.streams.assignment.interval.ms", INT, 1000, at_least(0), mode=CLUSTER_WIDE),
    unused("group.streams.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.streams.initial.rebalance.delay.ms", INT, 3000, at_least(0)),
    unused("group.streams.max.assignment.interval.ms", INT, 15_000, at_least(0)),
    unused("group.streams.max.heartbeat.interval.ms", INT, 15_000, at_least(1)),
    unused("group.streams.max.session.timeout.ms", INT, 60_000, at_least(1)),
    unused("group.streams.max.size", INT, INT_MAX, at_least(1)),
    unused("group.streams.max.standby.replicas", INT, 2, at_least(0)),
    unused("group.streams.min.assignment.interval.ms", INT, 0, at_least(0)),
    unused("group.streams.min.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.streams.min.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("group.streams.num.standby.replicas", INT, 0, at_least(0)),
    unused("group.streams.session.timeout.ms", INT, 45_000, at_least(1)),
)
