"""What the keys of `remote_log_keys.py` are for."""

TEXTS = {
    "follower.fetch.last.tiered.offset.enable": "Whether a new follower begins at the last offset in the remote tier.",
    "remote.fetch.max.wait.ms": "How long a fetch waits for the remote tier.",
    "remote.list.offsets.request.timeout.ms": "How long ListOffsets waits for an answer of the remote tier.",
    "remote.log.index.file.cache.total.size.bytes": "The disk space for copies of the remote tier's indexes.",
    "remote.log.index.file.cache.ttl.ms": (
        "How long an unused index of a remote segment stays in the cache. -1 keeps it."
    ),
    "remote.log.manager.copier.thread.pool.size": "The threads that copy segments to the remote tier.",
    "remote.log.manager.copy.max.bytes.per.second": "The bytes copied to the remote tier in a second at most.",
    "remote.log.manager.copy.quota.window.num": "The samples over which that rate is measured.",
    "remote.log.manager.copy.quota.window.size.seconds": "The length of one such sample.",
    "remote.log.manager.expiration.thread.pool.size": "The threads that delete expired segments of the remote tier.",
    "remote.log.manager.fetch.max.bytes.per.second": "The bytes read from the remote tier in a second at most.",
    "remote.log.manager.fetch.quota.window.num": "The samples over which that rate is measured.",
    "remote.log.manager.fetch.quota.window.size.seconds": "The length of one such sample.",
    "remote.log.manager.follower.thread.pool.size": (
        "The threads that follow the remote tier for partitions that the broker does not lead."
    ),
    "remote.log.manager.task.interval.ms": "How often segments are searched for what to copy or delete.",
    "remote.log.manager.task.retry.backoff.max.ms": "The longest pause before such work is tried again.",
    "remote.log.manager.task.retry.backoff.ms": "The first pause before such work is tried again.",
    "remote.log.manager.task.retry.jitter": "The random share of that pause.",
    "remote.log.manager.thread.pool.size": "The threads of the remote tier's follower tasks.",
    "remote.log.metadata.custom.metadata.max.bytes": (
        "The longest metadata of its own that a remote storage may attach to a segment."
    ),
    "remote.log.metadata.manager.class.name": "A Java class that keeps the remote tier's metadata.",
    "remote.log.metadata.manager.class.path": "Where that class is loaded from.",
    "remote.log.metadata.manager.impl.prefix": "The prefix of the configurations that are passed to it.",
    "remote.log.metadata.manager.listener.name": "The listener that it uses.",
    "remote.log.reader.max.pending.tasks": "How many reads of the remote tier may wait.",
    "remote.log.reader.threads": "The threads that read from the remote tier.",
    "remote.log.storage.manager.class.name": "A Java class that is the remote tier's storage.",
    "remote.log.storage.manager.class.path": "Where that class is loaded from.",
    "remote.log.storage.manager.impl.prefix": "The prefix of the configurations that are passed to it.",
    "remote.log.storage.system.enable": "Whether there is a remote tier at all.",
}
