"""What the keys of `group_keys.py` are for."""

TEXTS = {
    "group.consumer.assignment.interval.ms": (
        "How long a consumer group waits between two computations of its assignment (KIP-1263). Here a change of "
        "the group is assigned at once."
    ),
    "group.consumer.assignors": (
        "The assignors of the consumer protocol of KIP-848 on the broker's side, the first being the default."
    ),
    "group.consumer.heartbeat.interval.ms": "The heartbeat interval of members of the consumer protocol.",
    "group.consumer.max.assignment.interval.ms": "The longest assignment interval that a consumer group may be given.",
    "group.consumer.max.heartbeat.interval.ms": "The longest heartbeat interval that a consumer group may be given.",
    "group.consumer.max.session.timeout.ms": "The longest session time-out that a consumer group may be given.",
    "group.consumer.max.size": "The most members of a group of the consumer protocol.",
    "group.consumer.migration.policy": "Which conversions between classic and consumer groups happen by themselves.",
    "group.consumer.min.assignment.interval.ms": "The shortest assignment interval that a consumer group may be given.",
    "group.consumer.min.heartbeat.interval.ms": "The shortest heartbeat interval that a consumer group may be given.",
    "group.consumer.min.session.timeout.ms": "The shortest session time-out that a consumer group may be given.",
    "group.consumer.regex.refresh.interval.ms": (
        "How often Kafka matches the regular expressions of consumer groups with topics again."
    ),
    "group.consumer.session.timeout.ms": "After how long without a heartbeat a member of the consumer protocol is out.",
    "group.coordinator.append.linger.ms": (
        "How long Kafka's group coordinator collects records before it writes them. -1 adapts to the load."
    ),
    "group.coordinator.background.threads": "The threads of Kafka's group coordinator for work in the background.",
    "group.coordinator.cached.buffer.max.bytes": (
        "The largest buffer that Kafka's group coordinator keeps for its next write."
    ),
    "group.coordinator.new.enable": "Whether Kafka's newer group coordinator is used.",
    "group.coordinator.rebalance.protocols": "The rebalance protocols that groups may use.",
    "group.coordinator.threads": "The threads of Kafka's group coordinator.",
    "group.initial.rebalance.delay.ms": (
        "How long the first rebalance of an empty group waits for more members. 0 with the embedded metadata store."
    ),
    "group.max.session.timeout.ms": "The longest session time-out that a group's member may ask for.",
    "group.max.size": "The most members of a group.",
    "group.min.session.timeout.ms": "The shortest session time-out that a group's member may ask for.",
    "kcli.group.pattern.max.instructions": (
        "How long the program may be that a pattern of a subscription is compiled to; no topic matches a larger one."
    ),
    "kcli.group.pattern.max.nesting": (
        "How many parentheses of a pattern may stand in each other; a consumer that sends more is told that this "
        "is no pattern."
    ),
    "kcli.group.pattern.max.steps": (
        "How much work it may be to hold a pattern against all names of topics, in instructions looked at, of "
        "which a core does about a million a second; no topic matches what takes more."
    ),
    "kcli.group.pattern.min.refresh.interval.ms": (
        "How long the patterns of a group rest after they were held against the topics: new patterns and topics "
        "wait for so long."
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
