"""Share groups (ShareGroupConfig, ShareCoordinatorConfig of Kafka 4.3, KIP-932).

Share groups are not supported. These configurations are accepted and have no effect.
"""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLUSTER_WIDE, HIGH, INT, LIST, LOW, SHORT, STRING, unused
from kcore.config.validators import at_least, between

PERSISTER = "org.apache.kafka.server.share.persister.DefaultStatePersister"

KEYS = (
    unused("group.share.assignment.interval.ms", INT, 1000, at_least(0), mode=CLUSTER_WIDE),
    unused("group.share.assignors", LIST, ("simple",)),
    unused("group.share.delivery.count.limit", INT, 5, between(2, 10)),
    unused("group.share.enable", BOOLEAN, False, is_internal=True),
    unused("group.share.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.share.initialize.retry.interval.ms", INT, 30_000, at_least(1), LOW, is_internal=True),
    unused("group.share.max.assignment.interval.ms", INT, 15_000, at_least(0)),
    unused("group.share.max.delivery.count.limit", INT, 10, between(5, 25)),
    unused("group.share.max.groups", SHORT, 10, between(1, 100)),
    unused("group.share.max.heartbeat.interval.ms", INT, 15_000, at_least(1)),
    unused("group.share.max.partition.max.record.locks", INT, 4000, between(2000, 10_000)),
    unused("group.share.max.record.lock.duration.ms", INT, 60_000, between(30_000, 3_600_000)),
    unused("group.share.max.session.timeout.ms", INT, 60_000, at_least(1)),
    unused("group.share.max.share.sessions", INT, 2000, at_least(1)),
    unused("group.share.max.size", INT, 200, between(1, 1000)),
    unused("group.share.min.assignment.interval.ms", INT, 0, at_least(0)),
    unused("group.share.min.delivery.count.limit", INT, 2, between(2, 5)),
    unused("group.share.min.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.share.min.partition.max.record.locks", INT, 100, between(100, 2000)),
    unused("group.share.min.record.lock.duration.ms", INT, 15_000, between(1000, 30_000)),
    unused("group.share.min.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("group.share.partition.max.record.locks", INT, 2000, between(100, 10_000)),
    unused(
        "group.share.persister.class.name",
        STRING,
        PERSISTER,
        is_internal=True,
    ),
    unused("group.share.record.lock.duration.ms", INT, 30_000, between(1000, 3_600_000)),
    unused("group.share.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("share.coordinator.append.linger.ms", INT, -1, at_least(-1)),
    unused("share.coordinator.cached.buffer.max.bytes", INT, 1_048_588, at_least(524_288), mode=CLUSTER_WIDE),
    unused("share.coordinator.cold.partition.snapshot.interval.ms", INT, 300_000, at_least(1), LOW, is_internal=True),
    unused("share.coordinator.load.buffer.size", INT, 5_242_880, at_least(1), HIGH),
    unused("share.coordinator.snapshot.update.records.per.snapshot", INT, 500, between(0, 500)),
    unused("share.coordinator.state.topic.compression.codec", INT, 0, importance=HIGH),
    unused("share.coordinator.state.topic.min.isr", SHORT, 2, at_least(1), HIGH),
    unused("share.coordinator.state.topic.num.partitions", INT, 50, at_least(1), HIGH),
    unused("share.coordinator.state.topic.prune.interval.ms", INT, 300_000, at_least(1), LOW, is_internal=True),
    unused("share.coordinator.state.topic.replication.factor", SHORT, 3, at_least(1), HIGH),
    unused("share.coordinator.state.topic.segment.bytes", INT, 104_857_600, at_least(1), HIGH),
    unused("share.coordinator.threads", INT, 1, at_least(1)),
    unused("share.coordinator.write.timeout.ms", INT, 5000, at_least(1), HIGH),
    unused("share.fetch.purgatory.purge.interval.requests", INT, 1000),
)
