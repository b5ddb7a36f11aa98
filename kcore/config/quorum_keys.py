"""KRaft mode (KRaftConfigs, QuorumConfig of Kafka 4.3).

This broker has no Raft quorum. Nearly all of these configurations are accepted and have no effect.
"""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, HIGH, INT, LIST, LONG, LONG_MAX, LOW, ConfigKey, unused
from kcore.config.validators import QUORUM_VOTERS, at_least

KEYS = (
    unused("broker.heartbeat.interval.ms", INT, 2000),
    unused("broker.session.timeout.ms", INT, 9000),
    unused("controller.performance.always.log.threshold.ms", LONG, 2000, at_least(0), is_internal=True),
    unused("controller.performance.sample.period.ms", LONG, 60_000, at_least(100), is_internal=True),
    unused("controller.quorum.append.linger.ms", INT, 25, at_least(0)),
    unused("controller.quorum.auto.join.enable", BOOLEAN, False, importance=LOW),
    ConfigKey("controller.quorum.bootstrap.servers", LIST, (), QUORUM_VOTERS, HIGH),
    unused("controller.quorum.election.backoff.max.ms", INT, 1000, at_least(0), HIGH),
    unused("controller.quorum.election.timeout.ms", INT, 1000, at_least(0), HIGH),
    unused("controller.quorum.fetch.max.bytes", INT, 1_048_576, at_least(1), LOW),
    unused("controller.quorum.fetch.snapshot.max.bytes", INT, 1_048_576, at_least(1), LOW),
    unused("controller.quorum.fetch.timeout.ms", INT, 2000, at_least(0), HIGH),
    unused("controller.quorum.request.timeout.ms", INT, 2000, at_least(0)),
    unused("controller.quorum.retry.backoff.ms", INT, 20, at_least(0), LOW),
    ConfigKey("controller.quorum.voters", LIST, (), QUORUM_VOTERS, HIGH),
    unused("initial.broker.registration.timeout.ms", INT, 60_000),
    unused("internal.metadata.delete.delay.millis", LONG, 60_000, importance=LOW, is_internal=True),
    unused("internal.metadata.log.segment.bytes", INT, None, importance=LOW, is_internal=True),
    unused("internal.metadata.max.batch.size.in.bytes", INT, 8_388_608, importance=LOW, is_internal=True),
    unused("metadata.log.max.record.bytes.between.snapshots", LONG, 20_971_520, at_least(1), HIGH),
    unused("metadata.log.max.snapshot.interval.ms", LONG, 3_600_000, at_least(0), HIGH),
    unused("metadata.log.segment.bytes", INT, 1_073_741_824, at_least(8_388_608), HIGH),
    unused("metadata.log.segment.min.bytes", INT, 8_388_608, at_least(12), HIGH, is_internal=True),
    unused("metadata.log.segment.ms", LONG, 604_800_000, importance=HIGH),
    unused("metadata.max.idle.interval.ms", INT, 500, at_least(0), LOW),
    unused("metadata.max.retention.bytes", LONG, 104_857_600, importance=HIGH),
    unused("metadata.max.retention.ms", LONG, 604_800_000, importance=HIGH),
    unused("server.max.startup.time.ms", LONG, LONG_MAX, at_least(0), is_internal=True),
    unused("unstable.api.versions.enable", BOOLEAN, False, importance=HIGH, is_internal=True),
    unused("unstable.feature.versions.enable", BOOLEAN, False, importance=HIGH, is_internal=True),
)
