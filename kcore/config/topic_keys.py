"""The configurations of a topic, and the broker configurations that give their defaults (Kafka 3.9)."""

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
    at_least,
    between,
    index_by_name,
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


def throttled_replicas(value: ConfigValue) -> str | None:
    """`*`, or a list of `partition:broker` pairs."""
    assert isinstance(value, tuple)
    if value in ((), ("*",)):
        return None
    for item in value:
        partition, colon, broker = item.partition(":")
        if not (colon and partition.isdigit() and broker.isdigit()):
            return (
                "must be the literal '*' or a list of replicas in the following format: "
                "[partitionId]:[brokerId],[partitionId]:[brokerId],..."
            )
    return None


def gzip_level(value: ConfigValue) -> str | None:
    """1 to 9, or -1 for the codec's own default."""
    assert isinstance(value, int)
    return None if value == -1 or 1 <= value <= 9 else "Value must be between 1 and 9 or equal to -1"


def topic_key(
    name: str,
    type: int,
    default: ConfigValue,
    documentation: str,
    validate: Validator | None = None,
    importance: str = MEDIUM,
) -> ConfigKey:
    """A configuration of a topic takes effect on every broker at once."""
    return ConfigKey(name, type, default, documentation, validate, importance, CLUSTER_WIDE)


KEYS = (
    topic_key(
        "cleanup.policy",
        LIST,
        ("delete",),
        "What becomes of old segments: `delete` drops them by age and size, `compact` keeps the last "
        "record of every key; both may be given.",
        subset_of("compact", "delete"),
    ),
    topic_key(
        "compression.gzip.level",
        INT,
        -1,
        "The level used when the broker itself compresses with gzip; -1 leaves it to the codec.",
        gzip_level,
    ),
    topic_key(
        "compression.lz4.level", INT, 9, "The level used when the broker itself compresses with lz4.", between(1, 17)
    ),
    topic_key(
        "compression.type",
        STRING,
        "producer",
        "The codec batches are stored with; `producer` keeps whatever each producer chose, "
        "`uncompressed` stores them plain.",
        one_of(*CODECS),
    ),
    topic_key(
        "compression.zstd.level",
        INT,
        3,
        "The level used when the broker itself compresses with zstd.",
        between(-131072, 22),
    ),
    topic_key(
        "delete.retention.ms",
        LONG,
        86_400_000,
        "For how long a compacted topic keeps the marker of a deleted key, so that a reader from the "
        "beginning still sees the deletion.",
        at_least(0),
    ),
    topic_key(
        "file.delete.delay.ms",
        LONG,
        60_000,
        "How long a segment's files stay on disk after they left the log.",
        at_least(0),
    ),
    topic_key(
        "flush.messages", LONG, LONG_MAX, "After how many appended records the log is forced to disk.", at_least(1)
    ),
    topic_key("flush.ms", LONG, LONG_MAX, "After how much time appended records are forced to disk.", at_least(0)),
    topic_key(
        "follower.replication.throttled.replicas",
        LIST,
        (),
        "The replicas whose copying is throttled on the follower's side, as partition:broker pairs, or `*` for all.",
        throttled_replicas,
    ),
    topic_key(
        "index.interval.bytes",
        INT,
        4096,
        "How many bytes of log lie between two entries of an offset index.",
        at_least(0),
    ),
    topic_key(
        "leader.replication.throttled.replicas",
        LIST,
        (),
        "The replicas whose copying is throttled on the leader's side, as partition:broker pairs, or `*` for all.",
        throttled_replicas,
    ),
    topic_key(
        "local.retention.bytes",
        LONG,
        -2,
        "With tiered storage, the bytes of a partition kept on the broker; -2 stands for retention.bytes.",
        at_least(-2),
    ),
    topic_key(
        "local.retention.ms",
        LONG,
        -2,
        "With tiered storage, for how long segments stay on the broker; -2 stands for retention.ms.",
        at_least(-2),
    ),
    topic_key(
        "max.compaction.lag.ms",
        LONG,
        LONG_MAX,
        "The longest time a record of a compacted topic may stay uncompacted.",
        at_least(1),
    ),
    topic_key(
        "max.message.bytes",
        INT,
        1_048_588,
        "The largest record batch, after compression, that the topic takes.",
        at_least(0),
    ),
    topic_key(
        "message.downconversion.enable",
        BOOLEAN,
        True,
        "Kept for Kafka's tools: batches are always served in the format in which they are stored.",
        None,
        LOW,
    ),
    topic_key(
        "message.format.version",
        STRING,
        "3.0-IV1",
        "Kept for Kafka's tools: batches are always stored in format 2, as since Kafka 3.0.",
    ),
    topic_key(
        "message.timestamp.after.max.ms",
        LONG,
        LONG_MAX,
        "How far a record's timestamp may lie ahead of the broker's clock; a record beyond it is "
        "refused. CreateTime only.",
        at_least(0),
    ),
    topic_key(
        "message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "How far a record's timestamp may lie behind the broker's clock; a record beyond it is refused. "
        "CreateTime only.",
        at_least(0),
    ),
    topic_key(
        "message.timestamp.difference.max.ms",
        LONG,
        LONG_MAX,
        "The older configuration of both timestamp bounds; it counts where the newer ones are not set.",
        at_least(0),
    ),
    topic_key(
        "message.timestamp.type",
        STRING,
        "CreateTime",
        "Whether a record keeps its producer's timestamp (CreateTime) or gets the broker's (LogAppendTime).",
        one_of(*TIMESTAMP_TYPES),
    ),
    topic_key(
        "min.cleanable.dirty.ratio",
        DOUBLE,
        0.5,
        "The share of uncompacted bytes from which on a compacted log is cleaned.",
        between(0, 1),
    ),
    topic_key(
        "min.compaction.lag.ms",
        LONG,
        0,
        "The shortest time a record of a compacted topic stays uncompacted.",
        at_least(0),
    ),
    topic_key(
        "min.insync.replicas",
        INT,
        1,
        "How many replicas must have a record before a producer with acks=all is answered.",
        at_least(1),
    ),
    topic_key("preallocate", BOOLEAN, False, "Whether a new segment's file is given its full size at once."),
    topic_key(
        "remote.log.copy.disable", BOOLEAN, False, "With tiered storage, whether copying to the remote tier is stopped."
    ),
    topic_key(
        "remote.log.delete.on.disable",
        BOOLEAN,
        False,
        "With tiered storage, whether the remote tier's data is dropped when tiering is turned off.",
    ),
    topic_key(
        "remote.storage.enable", BOOLEAN, False, "Whether segments go to a remote tier as well; there is none here."
    ),
    topic_key(
        "retention.bytes",
        LONG,
        -1,
        "How large a partition may grow before its oldest segments are dropped; -1 means without bound.",
    ),
    topic_key(
        "retention.ms",
        LONG,
        604_800_000,
        "How old a segment may grow before it is dropped; -1 means without bound.",
        at_least(-1),
    ),
    topic_key(
        "segment.bytes",
        INT,
        1_073_741_824,
        "How large a segment's file may grow before a new segment is begun.",
        at_least(14),
    ),
    topic_key("segment.index.bytes", INT, 10_485_760, "The largest size of a segment's offset index.", at_least(4)),
    topic_key(
        "segment.jitter.ms",
        LONG,
        0,
        "The largest random time taken off segment.ms, so that segments do not all roll at once.",
        at_least(0),
    ),
    topic_key(
        "segment.ms",
        LONG,
        604_800_000,
        "How long a segment is appended to before a new one is begun, full or not.",
        at_least(1),
    ),
    topic_key(
        "unclean.leader.election.enable",
        BOOLEAN,
        False,
        "Whether a replica that lacks acknowledged records may become leader when no other is left.",
    ),
)

TOPIC_KEYS = index_by_name(KEYS)

# Which broker configurations give a topic configuration's default, strongest first, with the factor between their units
# (ServerTopicConfigSynonyms).
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

# A change of any of these may give a topic another configuration.
TOPIC_DEFAULT_KEYS = frozenset(name for synonyms in BROKER_SYNONYMS.values() for name, _ in synonyms) | {
    "log.validation.header.only",
    "producer.id.expiration.ms",
}
