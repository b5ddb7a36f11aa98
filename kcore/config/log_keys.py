"""How logs are kept: segments, indexes, retention, flushing, timestamps, cleaning (ServerLogConfigs of Kafka 3.9).

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
    MEDIUM,
    STRING,
    ConfigKey,
    at_least,
    between,
    one_of,
    subset_of,
)
from kcore.config.topic_keys import CODECS, TIMESTAMP_TYPES, gzip_level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.definition import ConfigValue, Validator


def retention_time(value: ConfigValue) -> str | None:
    """A positive time, or -1 for ever; 0 would delete everything at once."""
    assert value is None or isinstance(value, int)
    return "must be unlimited (-1) or, equal or greater than 1" if value == 0 else None


def log_key(
    name: str,
    type: int,
    default: ConfigValue,
    documentation: str,
    validate: Validator | None = None,
    importance: str = MEDIUM,
) -> ConfigKey:
    """A configuration that all brokers take over at once."""
    return ConfigKey(name, type, default, documentation, validate, importance, CLUSTER_WIDE)


KEYS = (
    log_key("log.segment.bytes", INT, 1_073_741_824, "The default of segment.bytes.", at_least(14), HIGH),
    log_key("log.roll.ms", LONG, None, "The default of segment.ms.", at_least(1), HIGH),
    ConfigKey(
        "log.roll.hours",
        INT,
        168,
        "The default of segment.ms in hours, where log.roll.ms is not set.",
        at_least(1),
        HIGH,
    ),
    log_key("log.roll.jitter.ms", LONG, None, "The default of segment.jitter.ms.", at_least(0), HIGH),
    ConfigKey(
        "log.roll.jitter.hours",
        INT,
        0,
        "The default of segment.jitter.ms in hours, where log.roll.jitter.ms is not set.",
        at_least(0),
        HIGH,
    ),
    log_key(
        "log.retention.ms", LONG, None, "The default of retention.ms; -1 keeps segments for ever.", retention_time, HIGH
    ),
    ConfigKey(
        "log.retention.minutes",
        INT,
        None,
        "The default of retention.ms in minutes, where log.retention.ms is not set.",
        retention_time,
        HIGH,
    ),
    ConfigKey(
        "log.retention.hours",
        INT,
        168,
        "The default of retention.ms in hours, where neither milliseconds nor minutes are set.",
        retention_time,
        HIGH,
    ),
    log_key("log.retention.bytes", LONG, -1, "The default of retention.bytes.", None, HIGH),
    ConfigKey(
        "log.retention.check.interval.ms",
        LONG,
        300_000,
        "How often logs are searched for segments to delete.",
        at_least(1),
    ),
    ConfigKey(
        "log.initial.task.delay.ms",
        LONG,
        30_000,
        "How long after the start such background work begins.",
        at_least(0),
        LOW,
    ),
    log_key("log.cleanup.policy", LIST, ("delete",), "The default of cleanup.policy.", subset_of("compact", "delete")),
    log_key("log.segment.delete.delay.ms", LONG, 60_000, "The default of file.delete.delay.ms.", at_least(0), HIGH),
    log_key("log.index.size.max.bytes", INT, 10_485_760, "The default of segment.index.bytes.", at_least(4)),
    log_key("log.index.interval.bytes", INT, 4096, "The default of index.interval.bytes.", at_least(0)),
    log_key("log.flush.interval.messages", LONG, LONG_MAX, "The default of flush.messages.", at_least(1), HIGH),
    log_key("log.flush.interval.ms", LONG, None, "The default of flush.ms.", None, HIGH),
    ConfigKey(
        "log.flush.scheduler.interval.ms",
        LONG,
        LONG_MAX,
        "How often logs are searched for records that are due for a flush.",
        None,
        HIGH,
    ),
    ConfigKey(
        "log.flush.offset.checkpoint.interval.ms",
        INT,
        60_000,
        "How often recovery points are written to disk.",
        at_least(0),
        HIGH,
    ),
    ConfigKey(
        "log.flush.start.offset.checkpoint.interval.ms",
        INT,
        60_000,
        "How often log start offsets are written to disk.",
        at_least(0),
        HIGH,
    ),
    log_key("log.preallocate", BOOLEAN, False, "The default of preallocate."),
    ConfigKey(
        "num.recovery.threads.per.data.dir",
        INT,
        1,
        "The threads that open and recover the logs of one directory.",
        at_least(1),
        HIGH,
        CLUSTER_WIDE,
    ),
    log_key("message.max.bytes", INT, 1_048_588, "The default of max.message.bytes.", at_least(0), HIGH),
    log_key(
        "log.message.timestamp.type",
        STRING,
        "CreateTime",
        "The default of message.timestamp.type.",
        one_of(*TIMESTAMP_TYPES),
    ),
    log_key(
        "log.message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "The default of message.timestamp.before.max.ms.",
        at_least(0),
    ),
    log_key(
        "log.message.timestamp.after.max.ms",
        LONG,
        LONG_MAX,
        "The default of message.timestamp.after.max.ms.",
        at_least(0),
    ),
    log_key(
        "log.message.timestamp.difference.max.ms",
        LONG,
        LONG_MAX,
        "The default of message.timestamp.difference.max.ms.",
        at_least(0),
    ),
    ConfigKey("log.message.format.version", STRING, "3.0-IV1", "The default of message.format.version."),
    log_key(
        "log.message.downconversion.enable", BOOLEAN, True, "The default of message.downconversion.enable.", None, LOW
    ),
    log_key(
        "compression.type",
        STRING,
        "producer",
        "The default of the topic configuration of the same name.",
        one_of(*CODECS),
        HIGH,
    ),
    log_key("compression.gzip.level", INT, -1, "The default of the topic configuration of the same name.", gzip_level),
    log_key(
        "compression.lz4.level", INT, 9, "The default of the topic configuration of the same name.", between(1, 17)
    ),
    log_key(
        "compression.zstd.level",
        INT,
        3,
        "The default of the topic configuration of the same name.",
        between(-131072, 22),
    ),
    ConfigKey(
        "log.validation.header.only",
        BOOLEAN,
        False,
        "Whether batches are appended on the word of their headers and checksums, without a look at the "
        "records in them.",
        None,
        LOW,
    ),
    log_key("log.cleaner.delete.retention.ms", LONG, 86_400_000, "The default of delete.retention.ms.", at_least(0)),
    log_key("log.cleaner.min.compaction.lag.ms", LONG, 0, "The default of min.compaction.lag.ms.", at_least(0)),
    log_key("log.cleaner.max.compaction.lag.ms", LONG, LONG_MAX, "The default of max.compaction.lag.ms.", at_least(1)),
    log_key("log.cleaner.min.cleanable.ratio", DOUBLE, 0.5, "The default of min.cleanable.dirty.ratio.", between(0, 1)),
    ConfigKey("log.cleaner.enable", BOOLEAN, True, "Whether compacted topics are cleaned.", None, MEDIUM),
    log_key("log.local.retention.bytes", LONG, -2, "The default of local.retention.bytes.", at_least(-2)),
    log_key("log.local.retention.ms", LONG, -2, "The default of local.retention.ms.", at_least(-2)),
)
