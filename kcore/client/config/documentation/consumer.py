"""Descriptions of the keys of `consumer_keys.py`."""

TEXTS = {
    "allow.auto.create.topics": "Whether a subscription to a missing topic may create it, if the broker allows that.",
    "auto.commit.interval.ms": "Interval between automatic commits, with enable.auto.commit.",
    "auto.offset.reset": (
        "Where the consumer starts without a valid committed offset: `earliest`, `latest`, `by_duration:` with a time "
        "back from now such as PT1H, or `none`, which raises an error."
    ),
    "bootstrap.servers": (
        "Bootstrap servers, as HOST:PORT,HOST:PORT. The client gets the addresses of all other brokers from them."
    ),
    "check.crcs": "Whether the checksum of each batch is verified.",
    "client.id": "Name of the client in the logs, metrics and quotas of brokers.",
    "client.rack": "Rack of this client. Followers in the same rack may serve its fetches (KIP-392).",
    "connections.max.idle.ms": "Maximum idle time of a connection. The client closes idle connections. -1 means never.",
    "default.api.timeout.ms": "Default timeout of a call.",
    "enable.auto.commit": "Whether positions are committed automatically. Off without a group.",
    "enable.metrics.push": "Whether brokers may request metrics of the client (KIP-714).",
    "exclude.internal.topics": "Whether a subscription by pattern excludes Kafka's internal topics.",
    "fetch.max.bytes": "Maximum bytes of a fetch response. A larger first batch is returned anyway.",
    "fetch.max.wait.ms": "Maximum time that a broker waits for fetch.min.bytes before it responds.",
    "fetch.min.bytes": "Minimum bytes of a fetch response. Larger values reduce the number of requests.",
    "group.id": (
        "Consumer group of this consumer. Members of a group share the partitions of their topics. Positions are "
        "committed for the group."
    ),
    "group.instance.id": (
        "Id of a static member. After a restart within session.timeout.ms, the member gets its partitions back "
        "(KIP-345)."
    ),
    "group.protocol": (
        "Group protocol: `classic`, where a member assigns partitions, or `consumer`, where the broker assigns them "
        "(KIP-848)."
    ),
    "group.remote.assignor": "Server-side assignor, with group.protocol=consumer.",
    "heartbeat.interval.ms": (
        "Interval between heartbeats to the group coordinator. Must be lower than session.timeout.ms."
    ),
    "interceptor.classes": (
        "Objects with `on_consume(records)`, which may change the returned records, and `on_commit(offsets)`."
    ),
    "internal.throw.on.fetch.stable.offset.unsupported": "For Kafka Streams only.",
    "isolation.level": (
        "Whether records of open and aborted transactions are returned (`read_uncommitted`) or not (`read_committed`)."
    ),
    "kcli.fetch.buffer.bytes": (
        "Maximum bytes of batches that are fetched ahead of the reader, responses in flight included. A single "
        "response may exceed it. Not in Apache Kafka."
    ),
    "kcli.fetch.decompressed.max.bytes": (
        "Maximum decompressed size of one batch. It limits the memory that a small batch can use. Not in Apache Kafka."
    ),
    "key.deserializer": "Converts the bytes of a key: a function, or an object with `deserialize(topic, data)`.",
    "max.partition.fetch.bytes": (
        "Maximum bytes of one partition in a fetch response. A larger first batch is returned anyway."
    ),
    "max.poll.interval.ms": (
        "Maximum time between two calls of `poll`. After it, the consumer leaves the group and its partitions are "
        "reassigned."
    ),
    "max.poll.records": "Maximum number of records that one `poll` returns.",
    "partition.assignment.strategy": (
        "Assignors that this member supports, in order of preference: Kafka's class names, `range`, `roundrobin`, "
        "`sticky`, `cooperative-sticky`, or objects."
    ),
    "receive.buffer.bytes": "Receive buffer of a connection (SO_RCVBUF). -1 leaves it to the kernel.",
    "session.timeout.ms": "Time without a heartbeat after which a member is removed from its group.",
    "share.acknowledgement.mode": "How records of a share group are acknowledged (KIP-932).",
    "share.acquire.mode": "How records of a share group are acquired (KIP-932).",
    "value.deserializer": "Converts the bytes of a value: a function, or an object with `deserialize(topic, data)`.",
}
