"""What the keys of `group_keys.py` are for."""

TEXTS = {
    "group.consumer.assignors": (
        "The assignors of the consumer protocol of KIP-848 on the broker's side, the first being the default."
    ),
    "group.consumer.heartbeat.interval.ms": "The heartbeat interval of members of the consumer protocol.",
    "group.consumer.max.heartbeat.interval.ms": "The longest heartbeat interval that a consumer group may be given.",
    "group.consumer.max.session.timeout.ms": "The longest session time-out that a consumer group may be given.",
    "group.consumer.max.size": "The most members of a group of the consumer protocol.",
    "group.consumer.migration.policy": "Which conversions between classic and consumer groups happen by themselves.",
    "group.consumer.min.heartbeat.interval.ms": "The shortest heartbeat interval that a consumer group may be given.",
    "group.consumer.min.session.timeout.ms": "The shortest session time-out that a consumer group may be given.",
    "group.consumer.session.timeout.ms": "After how long without a heartbeat a member of the consumer protocol is out.",
    "group.coordinator.append.linger.ms": "How long Kafka's newer coordinator collects records before it writes them.",
    "group.coordinator.new.enable": "Whether Kafka's newer group coordinator is used.",
    "group.coordinator.rebalance.protocols": "The rebalance protocols that groups may use.",
    "group.coordinator.threads": "The threads of Kafka's newer group coordinator.",
    "group.initial.rebalance.delay.ms": (
        "How long the first rebalance of an empty group waits for more members. 0 with the embedded metadata store."
    ),
    "group.max.session.timeout.ms": "The longest session time-out that a group's member may ask for.",
    "group.max.size": "The most members of a group.",
    "group.min.session.timeout.ms": "The shortest session time-out that a group's member may ask for.",
    "group.share.delivery.count.limit": (
        "How often a record is delivered to a share group before it is given up (KIP-932)."
    ),
    "group.share.enable": "Whether share groups are served (KIP-932).",
    "group.share.heartbeat.interval.ms": "The heartbeat interval of a share group's members.",
    "group.share.max.groups": "The most share groups.",
    "group.share.max.heartbeat.interval.ms": "The longest heartbeat interval that a share group may be given.",
    "group.share.max.record.lock.duration.ms": "The longest record lock that a share group may be given.",
    "group.share.max.session.timeout.ms": "The longest session time-out that a share group may be given.",
    "group.share.max.size": "The most members of a share group.",
    "group.share.min.heartbeat.interval.ms": "The shortest heartbeat interval that a share group may be given.",
    "group.share.min.record.lock.duration.ms": "The shortest record lock that a share group may be given.",
    "group.share.min.session.timeout.ms": "The shortest session time-out that a share group may be given.",
    "group.share.partition.max.record.locks": (
        "The most records of a partition that are locked for a share group at a time."
    ),
    "group.share.record.lock.duration.ms": "How long a record delivered to a share group is locked.",
    "group.share.session.timeout.ms": "After how long without a heartbeat a share group's member is out.",
    "kcli.group.pattern.max.instructions": (
        "How long the program may be that a pattern of a subscription is compiled to; no topic matches a larger one."
    ),
    "kcli.group.pattern.max.nesting": (
        "How many parentheses of a pattern may stand in each other; a consumer that sends more is told that this is no "
        "pattern."
    ),
    "kcli.group.pattern.max.steps": (
        "How much work it may be to hold a pattern against all names of topics, in instructions looked at, of which a "
        "core does about a million a second; no topic matches what takes more."
    ),
    "kcli.group.pattern.min.refresh.interval.ms": (
        "How long the patterns of a group rest after they were held against the topics: new patterns and topics wait "
        "for so long."
    ),
    "offset.metadata.max.bytes": "The longest text that may be committed with an offset.",
    "offsets.commit.required.acks": "The acknowledgements that a commit waits for; -1 means all.",
    "offsets.commit.timeout.ms": "How long a commit may wait for its replicas.",
    "offsets.load.buffer.size": "How many bytes are read at a time when committed offsets are loaded.",
    "offsets.retention.check.interval.ms": "How often groups that have neither members nor offsets are forgotten.",
    "offsets.retention.minutes": "How long the offsets of an empty group are kept.",
    "offsets.topic.compression.codec": "The codec number of the topic of committed offsets.",
    "offsets.topic.num.partitions": "The partitions of the topic of committed offsets; not to be changed later.",
    "offsets.topic.replication.factor": (
        "The replicas of the topic of committed offsets. 1 with the embedded metadata store."
    ),
    "offsets.topic.segment.bytes": "The segment size of the topic of committed offsets.",
}
