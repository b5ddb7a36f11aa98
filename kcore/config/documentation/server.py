"""What the keys of `server_keys.py` are for."""

TEXTS = {
    "alter.config.policy.class.name": "A Java class that vets changed configurations; cannot be used here.",
    "alter.config.policy.kraft.compatibility.enable": (
        "Whether alter.config.policy.class.name is given deletions too under KRaft."
    ),
    "auto.create.topics.enable": "Whether asking for the metadata of an unknown topic may make it.",
    "broker.id": (
        "The number of this broker in its cluster, unique and lasting. -1 takes the one kept in meta.properties, "
        "or makes one."
    ),
    "broker.id.generation.enable": (
        "Whether numbers may be made, which keeps given ones to at most reserved.broker.max.id."
    ),
    "broker.rack": "The rack that this broker stands in, told to clients.",
    "config.providers": "The names of providers that resolve references in configuration values.",
    "cordoned.log.dirs": "The log directories that get no new partitions (KIP-1066).",
    "create.topic.policy.class.name": "A Java class that vets new topics; cannot be used here.",
    "delete.records.purgatory.purge.interval.requests": (
        "How many finished deletions of records may be left in the lists of waiting ones before these are swept."
    ),
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "The most bytes that one fetch request is answered with.",
    "fetch.purgatory.purge.interval.requests": (
        "How many finished fetches may be left in the lists of waiting ones before these are swept."
    ),
    "inter.broker.protocol.version": "Accepted; the brokers of a cluster agree on versions by ApiVersions.",
    "kcli.batch.inline.decompressed.bytes": (
        "Size up to which the records of a produced batch are decompressed on the thread that received the batch. A "
        "batch that may become larger is validated by one thread that serves no other requests, so that other clients "
        "do not wait for it."
    ),
    "kcli.batch.max.decompressed.bytes": (
        "How large the records of one batch may be once they are decompressed, for validation or a search by "
        "time: it bounds the memory that a few sent bytes can claim. A larger batch is refused with "
        "MESSAGE_TOO_LARGE."
    ),
    "kcli.config.unknown.keys": (
        "What a name in the broker's properties does that is neither a configuration of Apache Kafka 2.8 to 4.3 nor of "
        "kcli, nor of a well-known plugin: `error` refuses to start, `warn` logs a warning and ignores the name."
    ),
    "kcli.debug.hold.ms": "How long SIGUSR2 holds the interpreter lock, with kcli.debug.hooks.",
    "kcli.debug.hooks": "Whether SIGUSR2 makes the broker hold Python's interpreter lock for a while, for tests.",
    "kcli.fast.path.enable": "Whether produce, fetch and heartbeats run on the network threads; off, handlers do it.",
    "kcli.fetch.session.cache.max.partitions": (
        "How many partitions the incremental fetch sessions may have in all, at some 250 bytes each. A session "
        "that would exceed it is not kept."
    ),
    "kcli.log.max.open.segments": (
        "How many log segments may be open, those being written among them, at one file each; beyond that those "
        "idle longest are closed until they are needed again. 0 is half of the files that the process may open "
        "(ulimit -n) when it starts."
    ),
    "kcli.request.log": (
        "Whether a line is logged for every request that was answered: `summary` says who, what and how long, "
        "`full` all that is known, as JSON. The logger kafka.request.logger at DEBUG and TRACE does the same."
    ),
    "kcli.request.log.queue.size": (
        "How many requests of one network thread may wait to be logged; those beyond are left out and counted."
    ),
    "kcli.request.log.slow.ms": (
        "Requests that took at least so long in all, time of waiting included, are warned of; -1 and 0 for none."
    ),
    "kcli.request.max.elements": (
        "How many elements the arrays of one request may have in all. A request beyond it closes its connection: "
        "its elements would take many times its bytes in memory. Fetch and Produce requests that the native path "
        "answers are not counted."
    ),
    "log.dir": "The directory of the logs, where log.dirs is not given.",
    "log.dirs": "The directories of the logs; without it, log.dir. The broker creates directories with mode 0700 and "
    "files with mode 0600: only its user can read them. Directories and files that exist keep their mode.",
    "max.incremental.fetch.session.cache.slots": "How many incremental fetch sessions are kept.",
    "max.request.partition.size.limit": "The most partitions that one DescribeTopicPartitions response carries.",
    "metadata.log.dir": "The directory of the embedded metadata store; without it the first log directory.",
    "metadata.store": (
        "Where the cluster's metadata is kept: `embedded` in a database of this broker, `zookeeper` in a "
        "ZooKeeper ensemble."
    ),
    "node.id": "The same as broker.id, under the name that KRaft configurations use.",
    "num.partitions": "How many partitions a topic gets that does not say.",
    "process.roles": (
        "KRaft's roles of this process. Accepted so that its files start unmodified: one process here is broker "
        "and controller."
    ),
    "producer.purgatory.purge.interval.requests": (
        "How many finished produces may be left in the lists of waiting ones before these are swept."
    ),
    "reserved.broker.max.id": "The largest number that may be given with broker.id; made ones are larger.",
}
