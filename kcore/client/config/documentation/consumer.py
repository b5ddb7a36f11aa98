"""What the keys of `consumer_keys.py` are for."""

TEXTS = {
    "allow.auto.create.topics": "Whether subscribing to a topic that is not there may make it, if the broker does so.",
    "auto.commit.interval.ms": "How often positions are committed, with enable.auto.commit.",
    "auto.offset.reset": (
        "Where reading begins without a committed position, or with one that is gone: `earliest`, `latest`, "
        "`by_duration:` and a time back from now such as PT1H, or `none`, which is an error."
    ),
    "bootstrap.servers": "Brokers to begin with, HOST:PORT,HOST:PORT; the others are learnt from them.",
    "check.crcs": "Whether the checksum of every batch is verified.",
    "client.id": "The name by which the client is known to brokers: their logs, metrics and quotas.",
    "client.rack": "Where this client stands: brokers in the same rack may serve it though they do not lead (KIP-392).",
    "connections.max.idle.ms": "After how long without use a connection is closed; -1 never.",
    "default.api.timeout.ms": "How long a call without a time of its own may take.",
    "enable.auto.commit": "Whether positions are committed by themselves; off without a group.",
    "enable.metrics.push": "Whether brokers may ask the client for its metrics (KIP-714).",
    "exclude.internal.topics": "Whether a pattern leaves out Kafka's own topics.",
    "fetch.max.bytes": (
        "The bytes that a broker sends in one answer at most; a first batch that is larger comes all the same."
    ),
    "fetch.max.wait.ms": "How long a broker waits for fetch.min.bytes before it answers with what it has.",
    "fetch.min.bytes": "How much must have come before a broker answers; larger values save requests.",
    "group.id": "The group whose members share the partitions of what they subscribe to, and where positions are kept.",
    "group.instance.id": (
        "A name of this member that outlives restarts: the group keeps its partitions for session.timeout.ms (KIP-345)."
    ),
    "group.protocol": "Who assigns partitions: a member (`classic`) or the broker (`consumer`, KIP-848).",
    "group.remote.assignor": "The broker's assignor to be used, with group.protocol=consumer.",
    "heartbeat.interval.ms": "How often the group hears of this member; lower than session.timeout.ms.",
    "interceptor.classes": (
        "Objects with `on_consume(records)`, which may change what is returned, and `on_commit(offsets)`."
    ),
    "internal.throw.on.fetch.stable.offset.unsupported": "Kafka Streams' own.",
    "isolation.level": (
        "Whether records of transactions that are open or aborted are read (`read_uncommitted`), or none but "
        "committed ones (`read_committed`)."
    ),
    "kcli.fetch.buffer.bytes": (
        "The bytes that fetched batches may take ahead of the reader, answers on their way included; a single answer "
        "always may. Not in Apache Kafka."
    ),
    "kcli.fetch.decompressed.max.bytes": (
        "How large one batch may be once it is decompressed: it bounds the memory that a few bytes can claim. Not in "
        "Apache Kafka."
    ),
    "key.deserializer": "Makes a record's key of its bytes: a function, or an object with `deserialize(topic, data)`.",
    "max.partition.fetch.bytes": (
        "The bytes of a partition in one answer at most; a first batch that is larger comes all the same."
    ),
    "max.poll.interval.ms": "How long the application may stay away from `poll` before its partitions go to others.",
    "max.poll.records": "How many records one `poll` returns at most.",
    "partition.assignment.strategy": (
        "The assignors that this member can be assigned by, the first being preferred: Kafka's class names, or "
        "range, roundrobin, sticky, cooperative-sticky, or objects."
    ),
    "receive.buffer.bytes": "The size of a connection's receive buffer (SO_RCVBUF); -1 leaves it to the kernel.",
    "session.timeout.ms": "After how long without a heartbeat a member is out of its group.",
    "share.acknowledgement.mode": "How records of a share group are acknowledged (KIP-932).",
    "share.acquire.mode": "How records of a share group are acquired (KIP-932).",
    "value.deserializer": (
        "Makes a record's value of its bytes: a function, or an object with `deserialize(topic, data)`."
    ),
}
