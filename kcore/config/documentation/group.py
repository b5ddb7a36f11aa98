"""Descriptions of the configurations in `group_keys.py`."""

TEXTS = {
    "group.consumer.assignment.interval.ms": (
        "Minimum time between two assignments of a consumer group (KIP-1263). kcli assigns partitions after each "
        "change at once."
    ),
    "group.consumer.assignors": (
        "Server-side assignors of the consumer protocol (KIP-848). The first one is the default."
    ),
    "group.consumer.heartbeat.interval.ms": "Heartbeat interval of members of the consumer protocol.",
    "group.consumer.max.assignment.interval.ms": "Maximum assignment interval that can be set for a consumer group.",
    "group.consumer.max.heartbeat.interval.ms": "Maximum heartbeat interval that can be set for a consumer group.",
    "group.consumer.max.session.timeout.ms": "Maximum session timeout that can be set for a consumer group.",
    "group.consumer.max.size": "Maximum number of members of a group of the consumer protocol.",
    "group.consumer.migration.policy": "Which automatic conversions between classic and consumer groups are allowed.",
    "group.consumer.min.assignment.interval.ms": "Minimum assignment interval that can be set for a consumer group.",
    "group.consumer.min.heartbeat.interval.ms": "Minimum heartbeat interval that can be set for a consumer group.",
    "group.consumer.min.session.timeout.ms": "Minimum session timeout that can be set for a consumer group.",
    "group.consumer.regex.refresh.interval.ms": (
        "Interval at which Kafka matches the regular expressions of consumer groups with topics again."
    ),
    "group.consumer.session.timeout.ms": (
        "Session timeout of the consumer protocol. A member without a heartbeat for this time is removed."
    ),
    "group.coordinator.append.linger.ms": (
        "Time that Kafka's group coordinator collects records before it writes them. -1 adapts to the load."
    ),
    "group.coordinator.background.threads": "Number of background threads of Kafka's group coordinator.",
    "group.coordinator.cached.buffer.max.bytes": (
        "Maximum size of the buffer that Kafka's group coordinator reuses for writes."
    ),
    "group.coordinator.new.enable": "Whether Kafka's newer group coordinator is used.",
    "group.coordinator.rebalance.protocols": "Rebalance protocols that groups may use.",
    "group.coordinator.threads": "Number of threads of Kafka's group coordinator.",
    "group.initial.rebalance.delay.ms": (
        "Time that the first rebalance of an empty group waits for more members. The default is 0 with the embedded "
        "metadata store."
    ),
    "group.max.session.timeout.ms": "Maximum session timeout that a member may request.",
    "group.max.size": "Maximum number of members of a group.",
    "group.min.session.timeout.ms": "Minimum session timeout that a member may request.",
    "kcli.group.pattern.max.match.ms": (
        "Maximum CPU time to match a subscription pattern with all topic names. A pattern that needs more time matches "
        "no topic."
    ),
    "kcli.group.pattern.max.memory.bytes": (
        "Maximum memory of one compiled subscription pattern. A larger pattern is rejected with "
        "INVALID_REGULAR_EXPRESSION."
    ),
    "kcli.group.pattern.min.refresh.interval.ms": (
        "Minimum time between two evaluations of a group's subscription patterns. New patterns and new topics wait for "
        "the next evaluation."
    ),
    "offset.metadata.max.bytes": "Maximum size of the metadata text of a committed offset.",
    "offsets.commit.required.acks": (
        "Number of acknowledgements that an offset commit waits for. -1 means all in-sync replicas."
    ),
    "offsets.commit.timeout.ms": "Maximum time that an offset commit waits for its replicas.",
    "offsets.load.buffer.size": "Size of a read when committed offsets are loaded.",
    "offsets.retention.check.interval.ms": "Interval at which expired offsets and empty groups are deleted.",
    "offsets.retention.minutes": "Time that the offsets of an empty group are kept.",
    "offsets.topic.compression.codec": "Number of the compression codec of the topic `__consumer_offsets`.",
    "offsets.topic.num.partitions": "Number of partitions of the topic `__consumer_offsets`. Do not change it later.",
    "offsets.topic.replication.factor": (
        "Replication factor of the topic `__consumer_offsets`. The default is 1 with the embedded metadata store. With "
        "one broker, the topic cannot be created with a larger value, and the broker logs a warning."
    ),
    "offsets.topic.segment.bytes": "Segment size of the topic `__consumer_offsets`.",
}
