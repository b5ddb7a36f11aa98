"""What the keys of `log_keys.py` are for."""

TEXTS = {
    "compression.gzip.level": "The default of the topic configuration of the same name.",
    "compression.lz4.level": "The default of the topic configuration of the same name.",
    "compression.type": "The default of the topic configuration of the same name.",
    "compression.zstd.level": "The default of the topic configuration of the same name.",
    "log.cleaner.backoff.ms": "The pause of the cleaner when there is nothing to clean.",
    "log.cleaner.dedupe.buffer.size": "The memory for the offsets of keys, of all cleaner threads together.",
    "log.cleaner.delete.retention.ms": "The default of delete.retention.ms.",
    "log.cleaner.enable": "Whether compacted topics are cleaned.",
    "log.cleaner.io.buffer.load.factor": "How full the table of offsets of keys may get.",
    "log.cleaner.io.buffer.size": "The memory for reading and writing, of all cleaner threads together.",
    "log.cleaner.io.max.bytes.per.second": "The bytes that the cleaner reads and writes in a second at most.",
    "log.cleaner.max.compaction.lag.ms": "The default of max.compaction.lag.ms.",
    "log.cleaner.min.cleanable.ratio": "The default of min.cleanable.dirty.ratio.",
    "log.cleaner.min.compaction.lag.ms": "The default of min.compaction.lag.ms.",
    "log.cleaner.threads": "The threads that clean compacted logs.",
    "log.cleanup.policy": "The default of cleanup.policy.",
    "log.dir.failure.timeout.ms": (
        "How long a KRaft broker may take to tell the controller of a failed log directory before it stops."
    ),
    "log.flush.group.commit": (
        "Whether a producer is answered, with acks=1 and acks=all, only when its records are on the device. One "
        "fdatasync serves all that wait at that moment, so that throughput grows with the number of producers; with "
        "log.flush.interval.messages=1 each append has one of its own. Consumers see records once they are on the "
        "device. Not in Apache Kafka."
    ),
    "log.flush.interval.messages": "The default of flush.messages.",
    "log.flush.interval.ms": "The default of flush.ms.",
    "log.flush.offset.checkpoint.interval.ms": "How often recovery points are written to disk.",
    "log.flush.scheduler.interval.ms": "How often logs are searched for records that are due for a flush.",
    "log.flush.start.offset.checkpoint.interval.ms": "How often log start offsets are written to disk.",
    "log.index.interval.bytes": "The default of index.interval.bytes.",
    "log.index.size.max.bytes": "The default of segment.index.bytes.",
    "log.initial.task.delay.ms": "How long after the start such background work begins.",
    "log.local.retention.bytes": "The default of local.retention.bytes.",
    "log.local.retention.ms": "The default of local.retention.ms.",
    "log.message.downconversion.enable": "The default of message.downconversion.enable.",
    "log.message.format.version": "The default of message.format.version.",
    "log.message.timestamp.after.max.ms": "The default of message.timestamp.after.max.ms.",
    "log.message.timestamp.before.max.ms": "The default of message.timestamp.before.max.ms.",
    "log.message.timestamp.difference.max.ms": "The default of message.timestamp.difference.max.ms.",
    "log.message.timestamp.type": "The default of message.timestamp.type.",
    "log.preallocate": "The default of preallocate.",
    "log.retention.bytes": "The default of retention.bytes.",
    "log.retention.check.interval.ms": "How often logs are searched for segments to delete.",
    "log.retention.hours": "The default of retention.ms in hours, where neither milliseconds nor minutes are set.",
    "log.retention.minutes": "The default of retention.ms in minutes, where log.retention.ms is not set.",
    "log.retention.ms": "The default of retention.ms; -1 keeps segments for ever.",
    "log.roll.hours": "The default of segment.ms in hours, where log.roll.ms is not set.",
    "log.roll.jitter.hours": "The default of segment.jitter.ms in hours, where log.roll.jitter.ms is not set.",
    "log.roll.jitter.ms": "The default of segment.jitter.ms.",
    "log.roll.ms": "The default of segment.ms.",
    "log.segment.bytes": "The default of segment.bytes.",
    "log.segment.delete.delay.ms": "The default of file.delete.delay.ms.",
    "log.validation.header.only": (
        "Whether batches are appended on the word of their headers and checksums, without a look at the records "
        "in them."
    ),
    "message.max.bytes": "The default of max.message.bytes.",
    "num.recovery.threads.per.data.dir": "The threads that open and recover the logs of one directory.",
}
