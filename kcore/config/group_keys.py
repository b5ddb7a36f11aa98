"""Groups and the topic of their offsets (GroupCoordinatorConfig, ShareGroupConfig of Kafka 3.9).

The consumer protocol is on, and groups may change between it and the classic one, as in Kafka 4.
"""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, HIGH, INT, INT_MAX, LIST, LONG, SHORT, STRING, ConfigKey, unused
from kcore.config.validators import at_least, between, one_of_any_case, subset_of

KEYS = (
    ConfigKey(
        "group.consumer.assignors",
        LIST,
        (
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        ),
    ),
    ConfigKey("group.consumer.heartbeat.interval.ms", INT, 5000, at_least(1)),
    ConfigKey("group.consumer.max.heartbeat.interval.ms", INT, 15_000, at_least(1)),
    ConfigKey("group.consumer.max.session.timeout.ms", INT, 60_000, at_least(1)),
    ConfigKey("group.consumer.max.size", INT, INT_MAX, at_least(1)),
    ConfigKey(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        one_of_any_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
        is_internal=True,
    ),
    ConfigKey("group.consumer.min.heartbeat.interval.ms", INT, 5000, at_least(1)),
    ConfigKey("group.consumer.min.session.timeout.ms", INT, 45_000, at_least(1)),
    ConfigKey("group.consumer.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("group.coordinator.append.linger.ms", INT, 10, at_least(0)),
    unused("group.coordinator.new.enable", BOOLEAN, False, is_internal=True),
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        LIST,
        ("classic", "consumer"),
        subset_of("consumer", "classic", "share", "unknown"),
    ),
    unused("group.coordinator.threads", INT, 1, at_least(1)),
    ConfigKey("group.initial.rebalance.delay.ms", INT, 3000),
    ConfigKey("group.max.session.timeout.ms", INT, 1_800_000),
    ConfigKey("group.max.size", INT, INT_MAX, at_least(1)),
    ConfigKey("group.min.session.timeout.ms", INT, 6000),
    unused("group.share.delivery.count.limit", INT, 5, between(2, 10)),
    unused("group.share.enable", BOOLEAN, False, is_internal=True),
    unused("group.share.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.share.max.groups", SHORT, 10, between(1, 100)),
    unused("group.share.max.heartbeat.interval.ms", INT, 15_000, at_least(1)),
    unused("group.share.max.record.lock.duration.ms", INT, 60_000, between(30_000, 3_600_000)),
    unused("group.share.max.session.timeout.ms", INT, 60_000, at_least(1)),
    unused("group.share.max.size", SHORT, 200, between(10, 1000)),
    unused("group.share.min.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.share.min.record.lock.duration.ms", INT, 15_000, between(1000, 30_000)),
    unused("group.share.min.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("group.share.partition.max.record.locks", INT, 200, between(100, 10_000)),
    unused("group.share.record.lock.duration.ms", INT, 30_000, between(1000, 60_000)),
    unused("group.share.session.timeout.ms", INT, 45_000, at_least(1)),
    ConfigKey("kcli.group.pattern.max.instructions", INT, 20_000, at_least(1)),
    ConfigKey("kcli.group.pattern.max.nesting", INT, 100, between(1, 150)),
    ConfigKey("kcli.group.pattern.max.steps", INT, 2_000_000, at_least(1)),
    ConfigKey("kcli.group.pattern.min.refresh.interval.ms", INT, 10_000, at_least(0)),
    ConfigKey("offset.metadata.max.bytes", INT, 4096, importance=HIGH),
    unused("offsets.commit.required.acks", SHORT, -1, importance=HIGH),
    unused("offsets.commit.timeout.ms", INT, 5000, at_least(1), HIGH),
    ConfigKey("offsets.load.buffer.size", INT, 5_242_880, at_least(1), HIGH),
    ConfigKey("offsets.retention.check.interval.ms", LONG, 600_000, at_least(1), HIGH),
    ConfigKey("offsets.retention.minutes", INT, 10_080, at_least(1), HIGH),
    ConfigKey("offsets.topic.compression.codec", INT, 0, importance=HIGH),
    ConfigKey("offsets.topic.num.partitions", INT, 50, at_least(1), HIGH),
    ConfigKey("offsets.topic.replication.factor", SHORT, 3, at_least(1), HIGH),
    ConfigKey("offsets.topic.segment.bytes", INT, 104_857_600, at_least(1), HIGH),
)
