"""What the configurations of a topic are for."""

TEXTS = {
    "cleanup.policy": (
        "What becomes of old segments: `delete` drops them by age and size, `compact` keeps the last record of "
        "every key; both may be given."
    ),
    "compression.gzip.level": "The level used when the broker itself compresses with gzip; -1 leaves it to the codec.",
    "compression.lz4.level": "The level used when the broker itself compresses with lz4.",
    "compression.type": (
        "The codec batches are stored with; `producer` keeps whatever each producer chose, `uncompressed` stores "
        "them plain."
    ),
    "compression.zstd.level": "The level used when the broker itself compresses with zstd.",
    "delete.retention.ms": (
        "For how long a compacted topic keeps the marker of a deleted key, so that a reader from the beginning "
        "still sees the deletion."
    ),
    "file.delete.delay.ms": "How long a segment's files stay on disk after they left the log.",
    "flush.messages": "After how many appended records the log is forced to disk.",
    "flush.ms": "After how much time appended records are forced to disk.",
    "follower.replication.throttled.replicas": (
        "The replicas whose copying is throttled on the follower's side, as partition:broker pairs, or `*` for all."
    ),
    "index.interval.bytes": "How many bytes of log lie between two entries of an offset index.",
    "leader.replication.throttled.replicas": (
        "The replicas whose copying is throttled on the leader's side, as partition:broker pairs, or `*` for all."
    ),
    "local.retention.bytes": (
        "With tiered storage, the bytes of a partition kept on the broker; -2 stands for retention.bytes."
    ),
    "local.retention.ms": "With tiered storage, for how long segments stay on the broker; -2 stands for retention.ms.",
    "max.compaction.lag.ms": "The longest time a record of a compacted topic may stay uncompacted.",
    "max.message.bytes": "The largest record batch, after compression, that the topic takes.",
    "message.downconversion.enable": (
        "Kept for Kafka's tools: batches are always served in the format in which they are stored."
    ),
    "message.format.version": "Kept for Kafka's tools: batches are always stored in format 2, as since Kafka 3.0.",
    "message.timestamp.after.max.ms": (
        "How far a record's timestamp may lie ahead of the broker's clock; a record beyond it is refused. "
        "CreateTime only."
    ),
    "message.timestamp.before.max.ms": (
        "How far a record's timestamp may lie behind the broker's clock; a record beyond it is refused. "
        "CreateTime only."
    ),
    "message.timestamp.difference.max.ms": (
        "Kafka 3.9's configuration of both timestamp bounds. It is used for a bound that is not set."
    ),
    "message.timestamp.type": (
        "Whether a record keeps its producer's timestamp (CreateTime) or gets the broker's (LogAppendTime)."
    ),
    "min.cleanable.dirty.ratio": "The share of uncompacted bytes from which on a compacted log is cleaned.",
    "min.compaction.lag.ms": "The shortest time a record of a compacted topic stays uncompacted.",
    "min.insync.replicas": "How many replicas must have a record before a producer with acks=all is answered.",
    "preallocate": "Whether a new segment's file is given its full size at once.",
    "remote.log.copy.disable": "With tiered storage, whether copying to the remote tier is stopped.",
    "remote.log.delete.on.disable": (
        "With tiered storage, whether the remote tier's data is dropped when tiering is turned off."
    ),
    "remote.storage.enable": "Whether segments go to a remote tier as well; there is none here.",
    "retention.bytes": "How large a partition may grow before its oldest segments are dropped; -1 means without bound.",
    "retention.ms": "How old a segment may grow before it is dropped; -1 means without bound.",
    "segment.bytes": "How large a segment's file may grow before a new segment is begun.",
    "segment.index.bytes": "The largest size of a segment's offset index.",
    "segment.jitter.ms": "The largest random time taken off segment.ms, so that segments do not all roll at once.",
    "segment.ms": "How long a segment is appended to before a new one is begun, full or not.",
    "unclean.leader.election.enable": (
        "Whether a replica that lacks acknowledged records may become leader when no other is left."
    ),
}
