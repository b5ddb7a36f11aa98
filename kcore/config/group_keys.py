"""Consumer groups and `__consumer_offsets` (GroupCoordinatorConfig of Kafka 4.3).

By default the consumer protocol is enabled, and groups may migrate between it and the classic protocol.
"""

from __future__ import annotations

from kcore.config.definition import (
    BOOLEAN,
    CLUSTER_WIDE,
    HIGH,
    INT,
    INT_MAX,
    LIST,
    LONG,
    SHORT,
    STRING,
    ConfigKey,
    unused,
)
from kcore.config.validators import at_least, one_of_any_case, subset_of

KEYS = (
    unused("group.consumer.assignment.interval.ms", INT, 1000, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey(
        "group.consumer.assignors",
        LIST,
        ("uniform", "range"),
    ),
    ConfigKey("group.consumer.heartbeat.interval.ms", INT, 5000, at_least(1)),
    unused("group.consumer.max.assignment.interval.ms", INT, 15_000, at_least(0)),
    ConfigKey("group.consumer.max.heartbeat.interval.ms", INT, 15_000, at_least(1)),
    ConfigKey("group.consumer.max.session.timeout.ms", INT, 60_000, at_least(1)),
    ConfigKey("group.consumer.max.size", INT, INT_MAX, at_least(1)),
    ConfigKey(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        one_of_any_case("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
    ),
    unused("group.consumer.min.assignment.interval.ms", INT, 0, at_least(0)),
    ConfigKey("group.consumer.min.heartbeat.interval.ms", INT, 5000, at_least(1)),
    ConfigKey("group.consumer.min.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("group.consumer.regex.refresh.interval.ms", INT, 600_000, at_least(10_000), is_internal=True),
    ConfigKey("group.consumer.session.timeout.ms", INT, 45_000, at_least(1)),
    unused("group.coordinator.append.linger.ms", INT, -1, at_least(-1)),
    unused("group.coordinator.background.threads", INT, 2, at_least(1), HIGH),
    unused("group.coordinator.cached.buffer.max.bytes", INT, 1_048_588, at_least(524_288), mode=CLUSTER_WIDE),
    unused("group.coordinator.new.enable", BOOLEAN, False, is_internal=True),
    ConfigKey(
        "group.coordinator.rebalance.protocols",
        LIST,
        ("classic", "consumer"),
        subset_of("consumer", "classic", "share", "streams"),
    ),
    unused("group.coordinator.threads", INT, 4, at_least(1), HIGH),
    ConfigKey("group.initial.rebalance.delay.ms", INT, 3000),
    ConfigKey("group.max.session.timeout.ms", INT, 1_800_000),
    ConfigKey("group.max.size", INT, INT_MAX, at_least(1)),
    ConfigKey("group.min.session.timeout.ms", INT, 6000),
    ConfigKey("kcli.group.pattern.max.match.ms", INT, 2_000, at_least(1)),
    ConfigKey("kcli.group.pattern.max.memory.bytes", INT, 8_388_608, at_least(65_536)),
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
