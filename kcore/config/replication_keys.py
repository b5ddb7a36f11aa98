"""Replicas, leader election and controlled shutdown (ReplicationConfigs of Kafka 4.3)."""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLUSTER_WIDE, HIGH, INT, LONG, STRING, ConfigKey, unused
from kcore.config.validators import at_least

KEYS = (
    unused("auto.leader.rebalance.enable", BOOLEAN, True, importance=HIGH),
    unused("controlled.shutdown.enable", BOOLEAN, True),
    unused("controlled.shutdown.max.retries", INT, 3),
    unused("controlled.shutdown.retry.backoff.ms", LONG, 5000),
    unused("controller.socket.timeout.ms", INT, 30_000),
    ConfigKey("default.replication.factor", INT, 1),
    unused("eligible.leader.replicas.enable", BOOLEAN, False, importance=HIGH),
    unused("leader.imbalance.check.interval.seconds", LONG, 300, at_least(1), HIGH),
    unused("leader.imbalance.per.broker.percentage", INT, 10, importance=HIGH),
    ConfigKey("min.insync.replicas", INT, 1, at_least(1), HIGH, CLUSTER_WIDE),
    unused("num.replica.alter.log.dirs.threads", INT, None, importance=HIGH),
    unused("num.replica.fetchers", INT, 1, at_least(1), HIGH, mode=CLUSTER_WIDE),
    unused("replica.fetch.backoff.ms", INT, 1000, at_least(0)),
    unused("replica.fetch.max.bytes", INT, 1_048_576, at_least(0)),
    unused("replica.fetch.min.bytes", INT, 1, importance=HIGH),
    unused("replica.fetch.response.max.bytes", INT, 10_485_760, at_least(0)),
    unused("replica.fetch.wait.max.ms", INT, 500, importance=HIGH),
    ConfigKey("replica.high.watermark.checkpoint.interval.ms", LONG, 5000, importance=HIGH),
    unused("replica.lag.time.max.ms", LONG, 30_000, importance=HIGH),
    unused("replica.selector.class", STRING, None),
    unused("replica.socket.receive.buffer.bytes", INT, 65_536, importance=HIGH),
    unused("replica.socket.timeout.ms", INT, 30_000, importance=HIGH),
    ConfigKey("unclean.leader.election.enable", BOOLEAN, False, importance=HIGH, mode=CLUSTER_WIDE),
    unused("unclean.leader.election.interval.ms", LONG, 300_000, at_least(1), is_internal=True),
)
