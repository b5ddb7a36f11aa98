"""Descriptions of the configurations in `share_keys.py`."""

TEXTS = {
    "group.share.assignment.interval.ms": "Minimum time between two assignments of a share group.",
    "group.share.assignors": "Assignors of share groups on the broker's side.",
    "group.share.delivery.count.limit": "Maximum number of deliveries of a record to a share group (KIP-932).",
    "group.share.enable": "Whether share groups are served (KIP-932).",
    "group.share.heartbeat.interval.ms": "Heartbeat interval of a share group's members.",
    "group.share.initialize.retry.interval.ms": (
        "Pause before the group coordinator retries to initialize a share partition."
    ),
    "group.share.max.assignment.interval.ms": "Maximum assignment interval that can be set for a share group.",
    "group.share.max.delivery.count.limit": "Maximum delivery count limit that can be set for a share group.",
    "group.share.max.groups": "Maximum number of share groups.",
    "group.share.max.heartbeat.interval.ms": "Maximum heartbeat interval that can be set for a share group.",
    "group.share.max.partition.max.record.locks": "Maximum limit of record locks that can be set for a share group.",
    "group.share.max.record.lock.duration.ms": "Maximum record lock that can be set for a share group.",
    "group.share.max.session.timeout.ms": "Maximum session timeout that can be set for a share group.",
    "group.share.max.share.sessions": "Maximum number of share sessions of a broker.",
    "group.share.max.size": "Maximum number of members of a share group.",
    "group.share.min.assignment.interval.ms": "Minimum assignment interval that can be set for a share group.",
    "group.share.min.delivery.count.limit": "Minimum delivery count limit that can be set for a share group.",
    "group.share.min.heartbeat.interval.ms": "Minimum heartbeat interval that can be set for a share group.",
    "group.share.min.partition.max.record.locks": "Minimum limit of record locks that can be set for a share group.",
    "group.share.min.record.lock.duration.ms": "Minimum record lock that can be set for a share group.",
    "group.share.min.session.timeout.ms": "Minimum session timeout that can be set for a share group.",
    "group.share.partition.max.record.locks": "Maximum number of locked records of a partition for a share group.",
    "group.share.persister.class.name": "Class that keeps the state of share groups.",
    "group.share.record.lock.duration.ms": "Time that a record delivered to a share group is locked.",
    "group.share.session.timeout.ms": "Time without a heartbeat after which a share group's member is removed.",
    "share.coordinator.append.linger.ms": (
        "Time that the share coordinator collects records before it writes them. -1 adapts to the load."
    ),
    "share.coordinator.cached.buffer.max.bytes": (
        "Maximum size of the buffer that the share coordinator reuses for writes."
    ),
    "share.coordinator.cold.partition.snapshot.interval.ms": (
        "Interval at which the state of an idle share partition is written as a snapshot."
    ),
    "share.coordinator.load.buffer.size": "Size of a read from `__share_group_state`.",
    "share.coordinator.snapshot.update.records.per.snapshot": (
        "Number of updates after which the state of a share partition is written as a snapshot."
    ),
    "share.coordinator.state.topic.compression.codec": "Codec of `__share_group_state`, as a number.",
    "share.coordinator.state.topic.min.isr": "`min.insync.replicas` of `__share_group_state`.",
    "share.coordinator.state.topic.num.partitions": "Number of partitions of `__share_group_state`.",
    "share.coordinator.state.topic.prune.interval.ms": (
        "Interval at which unneeded records of `__share_group_state` are deleted."
    ),
    "share.coordinator.state.topic.replication.factor": "Replication factor of `__share_group_state`.",
    "share.coordinator.state.topic.segment.bytes": "Segment size of `__share_group_state`.",
    "share.coordinator.threads": "Number of threads of the share coordinator.",
    "share.coordinator.write.timeout.ms": "Maximum time that the share coordinator waits for a write to all replicas.",
    "share.fetch.purgatory.purge.interval.requests": (
        "Number of completed share fetches in the purgatory after which it is cleaned up."
    ),
}
