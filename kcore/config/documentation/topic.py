"""Descriptions of topic configurations."""

TEXTS = {
    "cleanup.policy": (
        "What happens to old segments. `delete` deletes them by age and size. `compact` keeps the last record of each "
        "key. Both can be combined. Logs are not compacted in this version: with `compact` alone, all records are "
        "kept. The broker logs a warning."
    ),
    "compression.gzip.level": (
        "Compression level of gzip when the broker compresses batches. -1 is the library's default."
    ),
    "compression.lz4.level": "Compression level of lz4 when the broker compresses batches.",
    "compression.type": (
        "Codec of stored batches. `producer` keeps the codec of each producer, `uncompressed` stores batches without "
        "compression."
    ),
    "compression.zstd.level": "Compression level of zstd when the broker compresses batches.",
    "delete.retention.ms": (
        "Time that a compacted topic keeps the tombstone of a deleted key. A consumer that reads from the beginning "
        "sees the deletion if it finishes within this time."
    ),
    "file.delete.delay.ms": "Time between the deletion of a segment from the log and the deletion of its files.",
    "flush.messages": "Number of appended records after which the log is flushed to disk.",
    "flush.ms": "Time after which appended records are flushed to disk.",
    "follower.replication.throttled.replicas": (
        "Replicas whose replication is throttled on the follower, as partition:broker pairs, or `*` for all."
    ),
    "index.interval.bytes": "Bytes of log between two entries of an offset index.",
    "leader.replication.throttled.replicas": (
        "Replicas whose replication is throttled on the leader, as partition:broker pairs, or `*` for all."
    ),
    "local.retention.bytes": (
        "With tiered storage, the maximum size of a partition on the broker. -2 means the value of retention.bytes."
    ),
    "local.retention.ms": (
        "With tiered storage, the time that segments stay on the broker. -2 means the value of retention.ms."
    ),
    "max.compaction.lag.ms": "Maximum time that a record of a compacted topic stays uncompacted.",
    "max.message.bytes": "Maximum size of a record batch, after compression.",
    "message.downconversion.enable": (
        "Accepted for Kafka's tools. The broker always sends batches in the format in which they are stored."
    ),
    "message.format.version": (
        "Accepted for Kafka's tools. Batches are always stored in format 2, as in Kafka since 3.0."
    ),
    "message.timestamp.after.max.ms": (
        "Maximum time that a record's timestamp may be ahead of the broker's clock. Records beyond it are rejected. "
        "Applies to CreateTime only."
    ),
    "message.timestamp.before.max.ms": (
        "Maximum time that a record's timestamp may be behind the broker's clock. Records beyond it are rejected. "
        "Applies to CreateTime only."
    ),
    "message.timestamp.difference.max.ms": (
        "Kafka 3.9's configuration of both timestamp limits. It applies to a limit that is not set."
    ),
    "message.timestamp.type": (
        "Timestamp of stored records: the producer's (CreateTime) or the broker's (LogAppendTime)."
    ),
    "min.cleanable.dirty.ratio": "Minimum share of uncompacted bytes for a compacted log to be cleaned.",
    "min.compaction.lag.ms": "Minimum time that a record of a compacted topic stays uncompacted.",
    "min.insync.replicas": (
        "Minimum number of in-sync replicas that must have a record before a producer with acks=all gets its response."
    ),
    "preallocate": "Whether the file of a new segment is created with its full size.",
    "remote.log.copy.disable": "With tiered storage, whether copying to the remote tier is stopped.",
    "remote.log.delete.on.disable": (
        "With tiered storage, whether remote data is deleted when tiered storage is disabled for the topic."
    ),
    "remote.storage.enable": "Whether segments are also copied to a remote tier. kcli has no remote tier.",
    "retention.bytes": "Maximum size of a partition. The oldest segments beyond it are deleted. -1 means no limit.",
    "retention.ms": "Maximum age of a segment. Older segments are deleted. -1 means no limit.",
    "segment.bytes": "Maximum size of a segment file. A new segment is rolled when it is full.",
    "segment.index.bytes": "Maximum size of a segment's offset index.",
    "segment.jitter.ms": (
        "Maximum random time that is subtracted from segment.ms, so that segments do not all roll at the same time."
    ),
    "segment.ms": "Time after which a new segment is rolled, even if the old one is not full.",
    "unclean.leader.election.enable": (
        "Whether a replica that is not in sync may become leader if no in-sync replica is available. Acknowledged "
        "records can be lost."
    ),
}
