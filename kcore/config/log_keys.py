"""How logs are kept: segments, indexes, retention, flushing, timestamps, cleaning (ServerLogConfigs, CleanerConfig of
Kafka 4.3).

Most of these are the defaults of topic configurations; `topic_keys.BROKER_SYNONYMS` says which.
"""

from __future__ import annotations

from kcore.config.definition import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    HIGH,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    STRING,
    ConfigKey,
    unused,
)
from kcore.config.topic_keys import CODECS, HOUR_MS, TIMESTAMP_TYPES
from kcore.config.validators import METADATA_VERSION, at_least, between, level_between, one_of, subset_of

KEYS = (
    ConfigKey("compression.gzip.level", INT, -1, level_between(1, 9, -1), mode=CLUSTER_WIDE),
    ConfigKey("compression.lz4.level", INT, 9, between(1, 17), mode=CLUSTER_WIDE),
    ConfigKey("compression.type", STRING, "producer", one_of(*CODECS), HIGH, CLUSTER_WIDE),
    ConfigKey("compression.zstd.level", INT, 3, between(-131_072, 22), mode=CLUSTER_WIDE),
    unused("log.cleaner.backoff.ms", LONG, 15_000, at_least(0), mode=CLUSTER_WIDE),
    unused("log.cleaner.dedupe.buffer.size", LONG, 134_217_728, mode=CLUSTER_WIDE),
    unused("log.cleaner.delete.retention.ms", LONG, 86_400_000, at_least(0), mode=CLUSTER_WIDE),
    unused("log.cleaner.enable", BOOLEAN, True),
    unused("log.cleaner.io.buffer.load.factor", DOUBLE, 0.9, mode=CLUSTER_WIDE),
    unused("log.cleaner.io.buffer.size", INT, 524_288, at_least(0), mode=CLUSTER_WIDE),
    unused("log.cleaner.io.max.bytes.per.second", DOUBLE, 1.7976931348623157e308, mode=CLUSTER_WIDE),
    unused("log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX, at_least(1), mode=CLUSTER_WIDE),
    unused("log.cleaner.min.cleanable.ratio", DOUBLE, 0.5, between(0, 1), mode=CLUSTER_WIDE),
    unused("log.cleaner.min.compaction.lag.ms", LONG, 0, at_least(0), mode=CLUSTER_WIDE),
    unused("log.cleaner.threads", INT, 1, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("log.cleanup.policy", LIST, ("delete",), subset_of("compact", "delete"), mode=CLUSTER_WIDE),
    unused("log.dir.failure.timeout.ms", LONG, 30_000, at_least(1), LOW),
    ConfigKey("log.flush.group.commit", BOOLEAN, False, importance=HIGH),
    ConfigKey("log.flush.interval.messages", LONG, LONG_MAX, at_least(1), HIGH, CLUSTER_WIDE),
    ConfigKey("log.flush.interval.ms", LONG, None, importance=HIGH, mode=CLUSTER_WIDE),
    ConfigKey("log.flush.offset.checkpoint.interval.ms", INT, 60_000, at_least(0), HIGH),
    ConfigKey("log.flush.scheduler.interval.ms", LONG, LONG_MAX, importance=HIGH),
    ConfigKey("log.flush.start.offset.checkpoint.interval.ms", INT, 60_000, at_least(0), HIGH),
    ConfigKey("log.index.interval.bytes", INT, 4096, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("log.index.size.max.bytes", INT, 10_485_760, at_least(4), mode=CLUSTER_WIDE),
    ConfigKey("log.initial.task.delay.ms", LONG, 30_000, at_least(0), LOW, is_internal=True),
    unused("log.local.retention.bytes", LONG, -2, at_least(-2), mode=CLUSTER_WIDE),
    unused("log.local.retention.ms", LONG, -2, at_least(-2), mode=CLUSTER_WIDE),
    unused("log.message.downconversion.enable", BOOLEAN, True, importance=LOW, mode=CLUSTER_WIDE),
    unused("log.message.format.version", STRING, "3.0-IV1", METADATA_VERSION),
    ConfigKey("log.message.timestamp.after.max.ms", LONG, HOUR_MS, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("log.message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("log.message.timestamp.difference.max.ms", LONG, LONG_MAX, at_least(0), mode=CLUSTER_WIDE),
    ConfigKey("log.message.timestamp.type", STRING, "CreateTime", one_of(*TIMESTAMP_TYPES), mode=CLUSTER_WIDE),
    unused("log.preallocate", BOOLEAN, False, mode=CLUSTER_WIDE),
    ConfigKey("log.retention.bytes", LONG, -1, importance=HIGH, mode=CLUSTER_WIDE),
    ConfigKey("log.retention.check.interval.ms", LONG, 300_000, at_least(1)),
    ConfigKey("log.retention.hours", INT, 168, importance=HIGH),
    ConfigKey("log.retention.minutes", INT, None, importance=HIGH),
    ConfigKey("log.retention.ms", LONG, None, importance=HIGH, mode=CLUSTER_WIDE),
    ConfigKey("log.roll.hours", INT, 168, at_least(1), HIGH),
    ConfigKey("log.roll.jitter.hours", INT, 0, at_least(0), HIGH),
    ConfigKey("log.roll.jitter.ms", LONG, None, importance=HIGH, mode=CLUSTER_WIDE),
    ConfigKey("log.roll.ms", LONG, None, importance=HIGH, mode=CLUSTER_WIDE),
    ConfigKey("log.segment.bytes", INT, 1_073_741_824, at_least(14), HIGH, CLUSTER_WIDE),
    ConfigKey("log.segment.delete.delay.ms", LONG, 60_000, at_least(0), HIGH, CLUSTER_WIDE),
    ConfigKey("log.validation.header.only", BOOLEAN, False, importance=LOW),
    ConfigKey("message.max.bytes", INT, 1_048_588, at_least(0), HIGH, CLUSTER_WIDE),
    ConfigKey("num.recovery.threads.per.data.dir", INT, 2, at_least(1), HIGH, CLUSTER_WIDE),
)
