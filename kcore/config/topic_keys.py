"""The configurations of a topic, and the broker configurations that give their defaults (LogConfig of Kafka 4.3).

Kafka 4 has removed three configurations that topics and clients of 3.9 may still set. They are accepted, and listed
only if they are set.
"""

from __future__ import annotations

from kcore.config.definition import (
    BOOLEAN,
    CLUSTER_WIDE,
    DOUBLE,
    INT,
    LIST,
    LONG,
    LONG_MAX,
    LOW,
    MEDIUM,
    STRING,
    ConfigKey,
    index_by_name,
    unused,
)
from kcore.config.validators import (
    METADATA_VERSION,
    THROTTLED_REPLICAS,
    at_least,
    between,
    level_between,
    one_of,
    subset_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.config.definition import ConfigValue, Validator

CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")
TIMESTAMP_TYPES = ("CreateTime", "LogAppendTime")
HOUR_MS = 3_600_000
MINUTE_MS = 60_000


def topic_key(
    name: str,
    type: int,
    default: ConfigValue,
    validator: Validator | None = None,
    importance: str = MEDIUM,
    is_internal: bool = False,
) -> ConfigKey:
    """A topic configuration, which takes effect on all brokers at once."""
    return ConfigKey(name, type, default, validator, importance, CLUSTER_WIDE, is_internal=is_internal)


def unused_topic_key(
    name: str,
    type: int,
    default: ConfigValue,
    validator: Validator | None = None,
    importance: str = MEDIUM,
    is_internal: bool = False,
) -> ConfigKey:
    """A topic configuration that is stored and listed, and has no effect here."""
    return unused(name, type, default, validator, importance, CLUSTER_WIDE, is_internal)


KEYS = (
    topic_key("cleanup.policy", LIST, ("delete",), subset_of("compact", "delete")),
    topic_key("compression.gzip.level", INT, -1, level_between(1, 9, -1)),
    topic_key("compression.lz4.level", INT, 9, between(1, 17)),
    topic_key("compression.type", STRING, "producer", one_of(*CODECS)),
    topic_key("compression.zstd.level", INT, 3, between(-131_072, 22)),
    unused_topic_key("delete.retention.ms", LONG, 86_400_000, at_least(0)),
    topic_key("file.delete.delay.ms", LONG, 60_000, at_least(0)),
    topic_key("flush.messages", LONG, LONG_MAX, at_least(1)),
    topic_key("flush.ms", LONG, LONG_MAX, at_least(0)),
    unused_topic_key("follower.replication.throttled.replicas", LIST, (), THROTTLED_REPLICAS),
    topic_key("index.interval.bytes", INT, 4096, at_least(0)),
    unused_topic_key("leader.replication.throttled.replicas", LIST, (), THROTTLED_REPLICAS),
    unused_topic_key("local.retention.bytes", LONG, -2, at_least(-2)),
    unused_topic_key("local.retention.ms", LONG, -2, at_least(-2)),
    unused_topic_key("max.compaction.lag.ms", LONG, LONG_MAX, at_least(1)),
    topic_key("max.message.bytes", INT, 1_048_588, at_least(0)),
    unused_topic_key("message.downconversion.enable", BOOLEAN, True, importance=LOW, is_internal=True),
    unused_topic_key("message.format.version", STRING, "3.0-IV1", METADATA_VERSION, is_internal=True),
    topic_key("message.timestamp.after.max.ms", LONG, HOUR_MS, at_least(0)),
    topic_key("message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0)),
    topic_key("message.timestamp.difference.max.ms", LONG, LONG_MAX, at_least(0), is_internal=True),
    topic_key("message.timestamp.type", STRING, "CreateTime", one_of(*TIMESTAMP_TYPES)),
    unused_topic_key("min.cleanable.dirty.ratio", DOUBLE, 0.5, between(0, 1)),
    unused_topic_key("min.compaction.lag.ms", LONG, 0, at_least(0)),
    topic_key("min.insync.replicas", INT, 1, at_least(1)),
    unused_topic_key("preallocate", BOOLEAN, False),
    unused_topic_key("remote.log.copy.disable", BOOLEAN, False),
    unused_topic_key("remote.log.delete.on.disable", BOOLEAN, False),
    unused_topic_key("remote.storage.enable", BOOLEAN, False),
    topic_key("retention.bytes", LONG, -1),
    topic_key("retention.ms", LONG, 604_800_000, at_least(-1)),
    topic_key("segment.bytes", INT, 1_073_741_824, at_least(14)),
    topic_key("segment.index.bytes", INT, 10_485_760, at_least(4)),
    topic_key("segment.jitter.ms", LONG, 0, at_least(0)),
    topic_key("segment.ms", LONG, 604_800_000, at_least(1)),
    topic_key("unclean.leader.election.enable", BOOLEAN, False),
)

TOPIC_KEYS = index_by_name(KEYS)

# The broker configurations with a topic configuration's default, in the order of precedence, with the factor between
# the units (ServerTopicConfigSynonyms).
BROKER_SYNONYMS: dict[str, tuple[tuple[str, int], ...]] = {
    "cleanup.policy": (("log.cleanup.policy", 1),),
    "compression.gzip.level": (("compression.gzip.level", 1),),
    "compression.lz4.level": (("compression.lz4.level", 1),),
    "compression.type": (("compression.type", 1),),
    "compression.zstd.level": (("compression.zstd.level", 1),),
    "delete.retention.ms": (("log.cleaner.delete.retention.ms", 1),),
    "file.delete.delay.ms": (("log.segment.delete.delay.ms", 1),),
    "flush.messages": (("log.flush.interval.messages", 1),),
    "flush.ms": (("log.flush.interval.ms", 1), ("log.flush.scheduler.interval.ms", 1)),
    "index.interval.bytes": (("log.index.interval.bytes", 1),),
    "local.retention.bytes": (("log.local.retention.bytes", 1),),
    "local.retention.ms": (("log.local.retention.ms", 1),),
    "max.compaction.lag.ms": (("log.cleaner.max.compaction.lag.ms", 1),),
    "max.message.bytes": (("message.max.bytes", 1),),
    "message.downconversion.enable": (("log.message.downconversion.enable", 1),),
    "message.format.version": (("log.message.format.version", 1),),
    "message.timestamp.after.max.ms": (("log.message.timestamp.after.max.ms", 1),),
    "message.timestamp.before.max.ms": (("log.message.timestamp.before.max.ms", 1),),
    "message.timestamp.difference.max.ms": (("log.message.timestamp.difference.max.ms", 1),),
    "message.timestamp.type": (("log.message.timestamp.type", 1),),
    "min.cleanable.dirty.ratio": (("log.cleaner.min.cleanable.ratio", 1),),
    "min.compaction.lag.ms": (("log.cleaner.min.compaction.lag.ms", 1),),
    "min.insync.replicas": (("min.insync.replicas", 1),),
    "preallocate": (("log.preallocate", 1),),
    "retention.bytes": (("log.retention.bytes", 1),),
    "retention.ms": (("log.retention.ms", 1), ("log.retention.minutes", MINUTE_MS), ("log.retention.hours", HOUR_MS)),
    "segment.bytes": (("log.segment.bytes", 1),),
    "segment.index.bytes": (("log.index.size.max.bytes", 1),),
    "segment.jitter.ms": (("log.roll.jitter.ms", 1), ("log.roll.jitter.hours", HOUR_MS)),
    "segment.ms": (("log.roll.ms", 1), ("log.roll.hours", HOUR_MS)),
    "unclean.leader.election.enable": (("unclean.leader.election.enable", 1),),
}

# A change of one of these may change topic configurations.
TOPIC_DEFAULT_KEYS = frozenset(name for synonyms in BROKER_SYNONYMS.values() for name, _ in synonyms) | {
    "log.validation.header.only",
    "producer.id.expiration.ms",
}
