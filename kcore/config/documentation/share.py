"""What the keys of `share_keys.py` are for."""

TEXTS = {
    "group.share.assignment.interval.ms": "How long a share group waits between two computations of its assignment.",
    "group.share.assignors": "The assignors of share groups on the broker's side.",
    "group.share.delivery.count.limit": (
        "How often a record is delivered to a share group before it is given up (KIP-932)."
    ),
    "group.share.enable": "Whether share groups are served (KIP-932).",
    "group.share.heartbeat.interval.ms": "The heartbeat interval of a share group's members.",
    "group.share.initialize.retry.interval.ms": (
        "How long the group coordinator waits before it asks again to initialize a share partition."
    ),
    "group.share.max.assignment.interval.ms": "The longest assignment interval that a share group may be given.",
    "group.share.max.delivery.count.limit": "The largest delivery count limit that a share group may be given.",
    "group.share.max.groups": "The most share groups.",
    "group.share.max.heartbeat.interval.ms": "The longest heartbeat interval that a share group may be given.",
    "group.share.max.partition.max.record.locks": "The largest limit of record locks that a share group may be given.",
    "group.share.max.record.lock.duration.ms": "The longest record lock that a share group may be given.",
    "group.share.max.session.timeout.ms": "The longest session time-out that a share group may be given.",
    "group.share.max.share.sessions": "The most share sessions of a broker.",
    "group.share.max.size": "The most members of a share group.",
    "group.share.min.assignment.interval.ms": "The shortest assignment interval that a share group may be given.",
    "group.share.min.delivery.count.limit": "The smallest delivery count limit that a share group may be given.",
    "group.share.min.heartbeat.interval.ms": "The shortest heartbeat interval that a share group may be given.",
    "group.share.min.partition.max.record.locks": "The smallest limit of record locks that a share group may be given.",
    "group.share.min.record.lock.duration.ms": "The shortest record lock that a share group may be given.",
    "group.share.min.session.timeout.ms": "The shortest session time-out that a share group may be given.",
    "group.share.partition.max.record.locks": (
        "The most records of a partition that are locked for a share group at a time."
    ),
    "group.share.persister.class.name": "The class that keeps the state of share groups.",
    "group.share.record.lock.duration.ms": "How long a record delivered to a share group is locked.",
    "group.share.session.timeout.ms": "After how long without a heartbeat a share group's member is out.",
    "share.coordinator.append.linger.ms": (
        "How long the share coordinator collects records before it writes them. -1 adapts to the load."
    ),
    "share.coordinator.cached.buffer.max.bytes": (
        "The largest buffer that the share coordinator keeps for its next write."
    ),
    "share.coordinator.cold.partition.snapshot.interval.ms": (
        "How often the state of an idle share partition is written as a snapshot."
    ),
    "share.coordinator.load.buffer.size": "How many bytes of `__share_group_state` are read at a time.",
    "share.coordinator.snapshot.update.records.per.snapshot": (
        "After how many updates the state of a share partition is written as a snapshot."
    ),
    "share.coordinator.state.topic.compression.codec": "The codec of `__share_group_state`, as a number.",
    "share.coordinator.state.topic.min.isr": "The `min.insync.replicas` of `__share_group_state`.",
    "share.coordinator.state.topic.num.partitions": "The number of partitions of `__share_group_state`.",
    "share.coordinator.state.topic.prune.interval.ms": (
        "How often records of `__share_group_state` that nothing needs are deleted."
    ),
    "share.coordinator.state.topic.replication.factor": "The replication factor of `__share_group_state`.",
    "share.coordinator.state.topic.segment.bytes": "The size of a segment of `__share_group_state`.",
    "share.coordinator.threads": "The threads of the share coordinator.",
    "share.coordinator.write.timeout.ms": "How long the share coordinator waits for a write to all replicas.",
    "share.fetch.purgatory.purge.interval.requests": (
        "After how many completed share fetches the purgatory drops what it still keeps of them."
    ),
}
