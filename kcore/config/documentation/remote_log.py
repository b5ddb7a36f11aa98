"""Descriptions of the configurations in `remote_log_keys.py`."""

TEXTS = {
    "follower.fetch.last.tiered.offset.enable": "Whether a new follower begins at the last offset in the remote tier.",
    "remote.fetch.max.wait.ms": "Maximum time that a fetch waits for the remote tier.",
    "remote.list.offsets.request.timeout.ms": "Maximum time that ListOffsets waits for the remote tier.",
    "remote.log.index.file.cache.total.size.bytes": "Maximum disk space for cached indexes of the remote tier.",
    "remote.log.index.file.cache.ttl.ms": (
        "Time that an unused index of a remote segment stays in the cache. -1 means forever."
    ),
    "remote.log.manager.copier.thread.pool.size": "Number of threads that copy segments to the remote tier.",
    "remote.log.manager.copy.max.bytes.per.second": "Maximum rate of bytes copied to the remote tier.",
    "remote.log.manager.copy.quota.window.num": "Number of samples for measuring the copy rate to the remote tier.",
    "remote.log.manager.copy.quota.window.size.seconds": "Length of one sample of the copy rate.",
    "remote.log.manager.expiration.thread.pool.size": (
        "Number of threads that delete expired segments of the remote tier."
    ),
    "remote.log.manager.fetch.max.bytes.per.second": "Maximum rate of bytes read from the remote tier.",
    "remote.log.manager.fetch.quota.window.num": "Number of samples for measuring the read rate from the remote tier.",
    "remote.log.manager.fetch.quota.window.size.seconds": "Length of one sample of the read rate.",
    "remote.log.manager.follower.thread.pool.size": (
        "Number of threads that follow the remote tier for partitions that the broker does not lead."
    ),
    "remote.log.manager.task.interval.ms": (
        "Interval at which segments are checked for copying or deletion in the remote tier."
    ),
    "remote.log.manager.task.retry.backoff.max.ms": "Maximum pause before a failed remote tier task is retried.",
    "remote.log.manager.task.retry.backoff.ms": "First pause before a failed remote tier task is retried.",
    "remote.log.manager.task.retry.jitter": "Random share of the pause before a retry.",
    "remote.log.manager.thread.pool.size": "Number of threads of the remote tier's follower tasks.",
    "remote.log.metadata.custom.metadata.max.bytes": (
        "Maximum size of custom metadata that a remote storage may attach to a segment."
    ),
    "remote.log.metadata.manager.class.name": "Java class that keeps the remote tier's metadata.",
    "remote.log.metadata.manager.class.path": "Class path of remote.log.metadata.manager.class.name.",
    "remote.log.metadata.manager.impl.prefix": (
        "Prefix of configurations that are passed to the remote tier's metadata manager."
    ),
    "remote.log.metadata.manager.listener.name": "Listener that the remote tier's metadata manager uses.",
    "remote.log.reader.max.pending.tasks": "Maximum number of pending reads from the remote tier.",
    "remote.log.reader.threads": "Number of threads that read from the remote tier.",
    "remote.log.storage.manager.class.name": "Java class that is the remote tier's storage.",
    "remote.log.storage.manager.class.path": "Class path of remote.log.storage.manager.class.name.",
    "remote.log.storage.manager.impl.prefix": (
        "Prefix of configurations that are passed to the remote tier's storage manager."
    ),
    "remote.log.storage.system.enable": "Whether a remote tier is used.",
}
