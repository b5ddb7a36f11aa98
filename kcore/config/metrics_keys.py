"""Metrics, the metrics endpoint, and the windows over which quotas are measured.

Source: MetricConfigs and QuotaConfig of Kafka 4.3. Kafka has no such endpoint: it reports over JMX.
"""

from __future__ import annotations

from kcore.config.definition import BOOLEAN, CLASS, CLUSTER_WIDE, INT, LIST, LONG, LOW, STRING, ConfigKey, unused
from kcore.config.validators import at_least, between

KEYS = (
    unused("alter.log.dirs.replication.quota.window.num", INT, 11, at_least(1), LOW),
    unused("alter.log.dirs.replication.quota.window.size.seconds", INT, 1, at_least(1), LOW),
    unused("auto.include.jmx.reporter", BOOLEAN, True, importance=LOW),
    unused("client.quota.callback.class", CLASS, None, importance=LOW),
    ConfigKey("controller.quota.window.num", INT, 11, at_least(1), LOW),
    ConfigKey("controller.quota.window.size.seconds", INT, 1, at_least(1), LOW),
    unused("kafka.metrics.polling.interval.secs", INT, 10, at_least(1), LOW),
    unused("kafka.metrics.reporters", LIST, (), importance=LOW),
    unused(
        "metric.reporters", LIST, ("org.apache.kafka.common.metrics.JmxReporter",), importance=LOW, mode=CLUSTER_WIDE
    ),
    ConfigKey("metrics.connection.timeout.ms", INT, 10_000, at_least(1), LOW),
    ConfigKey("metrics.host", STRING, "127.0.0.1"),
    ConfigKey("metrics.max.connections", INT, 16, at_least(1), LOW),
    ConfigKey("metrics.max.group.partitions", INT, 5000, at_least(0), LOW),
    ConfigKey("metrics.max.partitions", INT, 1000, at_least(0), LOW),
    ConfigKey("metrics.max.topics", INT, 1000, at_least(0), LOW),
    unused("metrics.num.samples", INT, 2, at_least(1), LOW),
    ConfigKey("metrics.port", INT, -1, between(-1, 65535)),
    unused("metrics.recording.level", STRING, "INFO", importance=LOW),
    unused("metrics.sample.window.ms", LONG, 30_000, at_least(1), LOW),
    ConfigKey("quota.window.num", INT, 11, at_least(1), LOW),
    ConfigKey("quota.window.size.seconds", INT, 1, at_least(1), LOW),
    unused("replication.quota.window.num", INT, 11, at_least(1), LOW),
    unused("replication.quota.window.size.seconds", INT, 1, at_least(1), LOW),
    unused("telemetry.max.bytes", INT, 1_048_576, at_least(1), LOW),
)
