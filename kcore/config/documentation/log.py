"""Descriptions of the configurations in `log_keys.py`."""

TEXTS = {
    "compression.gzip.level": "Default of the topic configuration of the same name.",
    "compression.lz4.level": "Default of the topic configuration of the same name.",
    "compression.type": "Default of the topic configuration of the same name.",
    "compression.zstd.level": "Default of the topic configuration of the same name.",
    "log.cleaner.backoff.ms": "Pause of the cleaner when no log needs cleaning.",
    "log.cleaner.dedupe.buffer.size": "Memory for the offsets of keys, for all cleaner threads together.",
    "log.cleaner.delete.retention.ms": "Default of delete.retention.ms.",
    "log.cleaner.enable": "Whether the cleaner compacts logs with cleanup.policy=compact.",
    "log.cleaner.io.buffer.load.factor": "Maximum fill ratio of the table of key offsets.",
    "log.cleaner.io.buffer.size": "Memory for reading and writing, for all cleaner threads together.",
    "log.cleaner.io.max.bytes.per.second": "Maximum rate of bytes that the cleaner reads and writes.",
    "log.cleaner.max.compaction.lag.ms": "Default of max.compaction.lag.ms.",
    "log.cleaner.min.cleanable.ratio": "Default of min.cleanable.dirty.ratio.",
    "log.cleaner.min.compaction.lag.ms": "Default of min.compaction.lag.ms.",
    "log.cleaner.threads": "Number of threads that compact logs.",
    "log.cleanup.policy": "Default of cleanup.policy.",
    "log.dir.failure.timeout.ms": (
        "Maximum time for a KRaft broker to report a failed log directory to the controller. After it, the broker "
        "stops."
    ),
    "log.flush.group.commit": (
        "Whether a producer with acks=1 or acks=all gets its response only after its records are flushed to the "
        "device. One fdatasync serves all producers that wait at that moment, so throughput grows with their number. "
        "With log.flush.interval.messages=1 each append has its own fdatasync. Consumers see records after the flush. "
        "Not in Apache Kafka."
    ),
    "log.flush.interval.messages": "Default of flush.messages.",
    "log.flush.interval.ms": "Default of flush.ms.",
    "log.flush.offset.checkpoint.interval.ms": "Interval at which recovery points are written to disk.",
    "log.flush.scheduler.interval.ms": "Interval at which logs are checked for records that are due for a flush.",
    "log.flush.start.offset.checkpoint.interval.ms": "Interval at which log start offsets are written to disk.",
    "log.index.interval.bytes": "Default of index.interval.bytes.",
    "log.index.size.max.bytes": "Default of segment.index.bytes.",
    "log.initial.task.delay.ms": "Time between the start of the broker and its first background work on logs.",
    "log.local.retention.bytes": "Default of local.retention.bytes.",
    "log.local.retention.ms": "Default of local.retention.ms.",
    "log.message.downconversion.enable": "Default of message.downconversion.enable.",
    "log.message.format.version": "Default of message.format.version.",
    "log.message.timestamp.after.max.ms": "Default of message.timestamp.after.max.ms.",
    "log.message.timestamp.before.max.ms": "Default of message.timestamp.before.max.ms.",
    "log.message.timestamp.difference.max.ms": "Default of message.timestamp.difference.max.ms.",
    "log.message.timestamp.type": "Default of message.timestamp.type.",
    "log.preallocate": "Default of preallocate.",
    "log.retention.bytes": "Default of retention.bytes.",
    "log.retention.check.interval.ms": "Interval at which logs are checked for segments to delete.",
    "log.retention.hours": (
        "The default of retention.ms, in hours. Used if log.retention.ms and log.retention.minutes are not set."
    ),
    "log.retention.minutes": "The default of retention.ms, in minutes. Used if log.retention.ms is not set.",
    "log.retention.ms": "The default of retention.ms. -1 keeps segments forever.",
    "log.roll.hours": "The default of segment.ms, in hours. Used if log.roll.ms is not set.",
    "log.roll.jitter.hours": "The default of segment.jitter.ms, in hours. Used if log.roll.jitter.ms is not set.",
    "log.roll.jitter.ms": "Default of segment.jitter.ms.",
    "log.roll.ms": "Default of segment.ms.",
    "log.segment.bytes": "Default of segment.bytes.",
    "log.segment.delete.delay.ms": "Default of file.delete.delay.ms.",
    "log.validation.header.only": (
        "Whether the broker checks only the header and checksum of a produced batch, and not its records."
    ),
    "message.max.bytes": "Default of max.message.bytes.",
    "num.recovery.threads.per.data.dir": "Number of threads per log directory that open and recover logs.",
}
