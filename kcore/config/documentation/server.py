"""Descriptions of the configurations in `server_keys.py`."""

TEXTS = {
    "alter.config.policy.class.name": "Java class that validates changes of configurations. kcli cannot load it.",
    "alter.config.policy.kraft.compatibility.enable": (
        "Whether alter.config.policy.class.name also receives deletions with KRaft."
    ),
    "auto.create.topics.enable": "Whether a Metadata request for an unknown topic creates the topic.",
    "broker.id": "Unique id of this broker in its cluster. -1 uses the id in meta.properties, or generates one.",
    "broker.id.generation.enable": (
        "Whether broker ids can be generated. If so, ids that you set may be at most reserved.broker.max.id."
    ),
    "broker.rack": "Rack of this broker. Clients receive it.",
    "config.providers": "Names of providers that resolve references in configuration values.",
    "cordoned.log.dirs": "Log directories that get no new partitions (KIP-1066).",
    "create.topic.policy.class.name": "Java class that validates new topics. kcli cannot load it.",
    "delete.records.purgatory.purge.interval.requests": (
        "Number of completed DeleteRecords requests in the purgatory after which it is cleaned up."
    ),
    "delete.topic.enable": "Whether topics can be deleted.",
    "fetch.max.bytes": "Maximum size of the response to a fetch request.",
    "fetch.purgatory.purge.interval.requests": (
        "Number of completed fetch requests in the purgatory after which it is cleaned up."
    ),
    "inter.broker.protocol.version": "Accepted without effect. Brokers negotiate versions with ApiVersions.",
    "kcli.batch.inline.decompressed.bytes": (
        "Maximum decompressed size of a batch that the receiving network thread validates. A batch that may become "
        "larger is validated by a separate thread, so that other clients do not wait for it."
    ),
    "kcli.batch.max.decompressed.bytes": (
        "Maximum decompressed size of one batch, for validation or a search by time. It limits the memory that a small "
        "request can use. A larger batch is rejected with MESSAGE_TOO_LARGE."
    ),
    "kcli.config.unknown.keys": (
        "What happens with a name in the broker's properties that is not known from Apache Kafka 2.8 to 4.3, kcli or a "
        "well-known plugin. `error` refuses to start. `warn` logs a warning and ignores the name."
    ),
    "kcli.debug.hold.ms": "Time that SIGUSR2 holds the interpreter lock, with kcli.debug.hooks.",
    "kcli.debug.hooks": (
        "Whether SIGUSR2 makes the broker hold Python's interpreter lock for kcli.debug.hold.ms. For tests."
    ),
    "kcli.fast.path.enable": (
        "Whether network threads execute produce, fetch and heartbeat requests natively. If not, handler threads "
        "execute them in Python."
    ),
    "kcli.fetch.session.cache.max.partitions": (
        "Maximum number of partitions in all incremental fetch sessions. Each uses about 250 bytes. A session that "
        "would exceed the limit is not cached."
    ),
    "kcli.log.max.open.segments": (
        "Maximum number of open log segments, active ones included. Each uses one file descriptor. Beyond it, the "
        "segments that were idle longest are closed until they are used again. 0 means half of the process's limit of "
        "open files (ulimit -n) at start."
    ),
    "kcli.request.log": (
        "Whether each answered request is logged. `summary` logs client, API and times; `full` logs all details as "
        "JSON. The logger kafka.request.logger at DEBUG and TRACE does the same."
    ),
    "kcli.request.log.queue.size": (
        "Maximum number of requests of one network thread that wait to be logged. Further requests are not logged, but "
        "counted."
    ),
    "kcli.request.log.slow.ms": (
        "Minimum total time of a request, waiting included, for a warning in the log. -1 and 0 disable the warning."
    ),
    "kcli.request.max.elements": (
        "Maximum number of array elements in one request. A request beyond it closes its connection, because its "
        "elements would use many times its size in memory. Fetch and Produce requests on the native path are not "
        "counted."
    ),
    "log.dir": "Log directory. Used if log.dirs is not set.",
    "log.dirs": (
        "Log directories. Default: log.dir. The broker creates directories with mode 0700 and files with mode 0600, so "
        "only its user can read them. Existing directories and files keep their mode."
    ),
    "max.incremental.fetch.session.cache.slots": "Maximum number of cached incremental fetch sessions.",
    "max.request.partition.size.limit": "Maximum number of partitions in a DescribeTopicPartitions response.",
    "metadata.log.dir": "Directory of the embedded metadata store. Default: the first log directory.",
    "metadata.store": (
        "Store of the cluster's metadata: `embedded` in a database of this broker, `zookeeper` in a ZooKeeper ensemble."
    ),
    "node.id": "The same as broker.id. KRaft configurations use this name.",
    "num.partitions": "Number of partitions of topics that are created without one.",
    "process.roles": (
        "KRaft roles of this process. Accepted so that KRaft files start unmodified. A kcli process is always broker "
        "and controller."
    ),
    "producer.purgatory.purge.interval.requests": (
        "Number of completed produce requests in the purgatory after which it is cleaned up."
    ),
    "reserved.broker.max.id": "Maximum id that can be set with broker.id. Generated ids are larger.",
}
