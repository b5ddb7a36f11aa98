"""Every metric there is. docs/metrics.md is generated from this table, and the registry takes nothing that is not in
it."""

from __future__ import annotations

from kcore.metrics.definition import COUNTER, GAUGE, HISTOGRAM, Metric

TOPIC_TYPE = "kafka.server:type=BrokerTopicMetrics"
REQUEST_TYPE = "kafka.network:type=RequestMetrics"


def topic_metric(name: str, unit: str, documentation: str) -> Metric:
    """A rate of BrokerTopicMetrics, of all topics without a label and of each one with it."""
    return Metric(
        f"kafka_server_brokertopicmetrics_{name.lower()}_total",
        COUNTER,
        ("topic",),
        unit,
        f"{TOPIC_TYPE},name={name}PerSec",
        documentation,
    )


def request_time(name: str, documentation: str) -> Metric:
    """A histogram of RequestMetrics by API."""
    return Metric(
        f"kafka_network_requestmetrics_{name.lower()}",
        HISTOGRAM,
        ("request",),
        "milliseconds",
        f"{REQUEST_TYPE},name={name}",
        documentation,
    )


def request_size(name: str, documentation: str) -> Metric:
    return Metric(
        f"kafka_network_requestmetrics_{name.lower()}",
        HISTOGRAM,
        ("request",),
        "bytes",
        f"{REQUEST_TYPE},name={name}",
        documentation,
    )


def replica_gauge(name: str, unit: str, documentation: str) -> Metric:
    return Metric(
        f"kafka_server_replicamanager_{name.lower()}",
        GAUGE,
        (),
        unit,
        f"kafka.server:type=ReplicaManager,name={name}",
        documentation,
    )


def log_gauge(name: str, unit: str, documentation: str) -> Metric:
    return Metric(
        f"kafka_log_log_{name.lower()}",
        GAUGE,
        ("topic", "partition"),
        unit,
        f"kafka.log:type=Log,name={name}",
        documentation,
    )


def group_gauge(name: str, unit: str, documentation: str) -> Metric:
    return Metric(
        f"kafka_coordinator_group_groupmetadatamanager_{name.lower()}",
        GAUGE,
        (),
        unit,
        f"kafka.coordinator.group:type=GroupMetadataManager,name={name}",
        documentation,
    )


def group_coordinator_metric(attribute: str, unit: str, documentation: str, type: str = COUNTER) -> Metric:
    name = f"kafka_server_group_coordinator_metrics_{attribute.replace('-', '_')}"
    return Metric(
        f"{name}_total" if type == COUNTER else name,
        type,
        (),
        unit,
        f"kafka.server:type=group-coordinator-metrics,attribute={attribute}",
        documentation,
    )


TOPICS = (
    topic_metric("MessagesIn", "records", "Records appended; an idempotent retry counts again, as in Kafka."),
    topic_metric("BytesIn", "bytes", "Bytes of record batches appended, as the client sent them."),
    topic_metric("BytesOut", "bytes", "Bytes of record batches sent to consumers."),
    topic_metric("BytesRejected", "bytes", "Bytes of record batches refused because they are too large."),
    topic_metric("TotalProduceRequests", "requests", "Appends, one for each partition of a produce request."),
    topic_metric(
        "FailedProduceRequests",
        "requests",
        "Appends refused for what their records say; records that are too large or corrupt are not among them, as in "
        "Kafka.",
    ),
    topic_metric(
        "ProduceMessageConversions",
        "records",
        "Records written anew because the topic's codec or timestamp type demands it.",
    ),
    topic_metric(
        "TotalFetchRequests",
        "requests",
        "Reads, one for each partition of a fetch; a fetch that has waited reads again.",
    ),
    topic_metric("FailedFetchRequests", "requests", "Reads that failed for what is in the log."),
)

REQUESTS = (
    Metric(
        "kafka_network_requestmetrics_requests_total",
        COUNTER,
        ("request", "version"),
        "requests",
        f"{REQUEST_TYPE},name=RequestsPerSec",
        "Requests answered, by API and version. Fetch is not split by who fetches, as no followers do yet.",
    ),
    Metric(
        "kafka_network_requestmetrics_errors_total",
        COUNTER,
        ("request", "error"),
        "errors",
        f"{REQUEST_TYPE},name=ErrorsPerSec",
        "Error codes in answers, by API and name; an answer without any counts once as NONE.",
    ),
    request_time("TotalTimeMs", "From a request's last byte received to its answer's last byte sent."),
    request_time("RequestQueueTimeMs", "From a request's last byte received to the beginning of the work."),
    request_time(
        "LocalTimeMs",
        "The work of the broker itself; requests that a network thread answers in a row share its time evenly.",
    ),
    request_time("RemoteTimeMs", "The wait for records, replicas or members of a group."),
    request_time("ThrottleTimeMs", "How long a quota holds the client back after the answer."),
    request_time("ResponseQueueTimeMs", "From the finished answer to the network thread's taking it up."),
    request_time("ResponseSendTimeMs", "From there to the answer's last byte sent."),
    request_size("RequestBytes", "Sizes of requests."),
    Metric("kcli_network_responsebytes", HISTOGRAM, ("request",), "bytes", None, "Sizes of answers."),
)

NETWORK = (
    Metric(
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        GAUGE,
        (),
        "ratio",
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        "The share of their time that network threads wait for something to do, from 0 to 1, over the last "
        "minute or so.",
    ),
    Metric(
        "kafka_network_processor_idlepercent",
        GAUGE,
        ("networkProcessor",),
        "ratio",
        "kafka.network:type=Processor,name=IdlePercent",
        "Likewise, of each network thread.",
    ),
    Metric(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
        GAUGE,
        (),
        "ratio",
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "The share of their time that handler threads wait for something to do, from 0 to 1, over the last "
        "minute or so.",
    ),
    Metric(
        "kafka_network_requestchannel_requestqueuesize",
        GAUGE,
        (),
        "requests",
        "kafka.network:type=RequestChannel,name=RequestQueueSize",
        "Requests that wait for a handler thread.",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_count",
        GAUGE,
        ("listener", "networkProcessor"),
        "connections",
        "kafka.server:type=socket-server-metrics,attribute=connection-count",
        "Connections that are open.",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_creation_total",
        COUNTER,
        ("listener", "networkProcessor"),
        "connections",
        "kafka.server:type=socket-server-metrics,attribute=connection-creation-total",
        "Connections accepted.",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_close_total",
        COUNTER,
        ("listener", "networkProcessor"),
        "connections",
        "kafka.server:type=socket-server-metrics,attribute=connection-close-total",
        "Connections closed.",
    ),
    Metric(
        "kafka_network_socketserver_memorypoolused",
        GAUGE,
        (),
        "bytes",
        "kafka.network:type=SocketServer,name=MemoryPoolUsed",
        "Memory that requests hold, of queued.max.request.bytes.",
    ),
    Metric(
        "kcli_network_bytes_in_total",
        COUNTER,
        (),
        "bytes",
        "kafka.server:type=socket-server-metrics,attribute=incoming-byte-total",
        "Bytes received from clients.",
    ),
    Metric(
        "kcli_network_bytes_out_total",
        COUNTER,
        (),
        "bytes",
        "kafka.server:type=socket-server-metrics,attribute=outgoing-byte-total",
        "Bytes sent to clients.",
    ),
    Metric(
        "kcli_network_connections_refused_total",
        COUNTER,
        (),
        "connections",
        None,
        "Connections closed because they broke a rule of the protocol.",
    ),
)

REPLICAS = (
    replica_gauge("LeaderCount", "partitions", "Partitions that this broker leads."),
    replica_gauge("PartitionCount", "partitions", "Partitions of which this broker holds a replica."),
    replica_gauge("OfflineReplicaCount", "partitions", "Replicas on a log directory that failed."),
    replica_gauge("UnderReplicatedPartitions", "partitions", "Partitions led here that lack an in-sync replica."),
    replica_gauge(
        "UnderMinIsrPartitionCount", "partitions", "Partitions led here with fewer than min.insync.replicas."
    ),
    replica_gauge("AtMinIsrPartitionCount", "partitions", "Partitions led here with just min.insync.replicas."),
    Metric(
        "kafka_server_replicamanager_isrshrinks_total",
        COUNTER,
        (),
        "changes",
        "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
        "How often a partition led here lost an in-sync replica, since the endpoint was opened.",
    ),
    Metric(
        "kafka_server_replicamanager_isrexpands_total",
        COUNTER,
        (),
        "changes",
        "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec",
        "How often a partition led here won an in-sync replica, since the endpoint was opened.",
    ),
    Metric(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        GAUGE,
        (),
        "sessions",
        "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions",
        "Incremental fetch sessions (KIP-227) that are kept.",
    ),
    Metric(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        GAUGE,
        (),
        "partitions",
        "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchPartitionsCached",
        "Partitions in them.",
    ),
    Metric(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        COUNTER,
        (),
        "sessions",
        "kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec",
        "Sessions that had to leave for others.",
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        GAUGE,
        ("delayedOperation",),
        "entries",
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize",
        "Entries in the watch lists of a purgatory, one for each key of a delayed operation.",
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_numdelayedoperations",
        GAUGE,
        ("delayedOperation",),
        "operations",
        "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations",
        "Operations of a purgatory that wait.",
    ),
)

SERVER = (
    Metric(
        "kafka_server_kafkaserver_brokerstate",
        GAUGE,
        (),
        "state",
        "kafka.server:type=KafkaServer,name=BrokerState",
        "0 not running, 1 starting, 2 recovering logs, 3 running, 6 pending controlled shutdown, 7 shutting down.",
    ),
    Metric(
        "kafka_server_app_info",
        GAUGE,
        ("version", "cluster_id", "broker_id"),
        "1",
        "kafka.server:type=app-info",
        "Always 1; its labels say which broker this is.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_activecontrollercount",
        GAUGE,
        (),
        "controllers",
        "kafka.controller:type=KafkaController,name=ActiveControllerCount",
        "1 where this broker is the controller.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_globaltopiccount",
        GAUGE,
        (),
        "topics",
        "kafka.controller:type=KafkaController,name=GlobalTopicCount",
        "Topics of the cluster.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_globalpartitioncount",
        GAUGE,
        (),
        "partitions",
        "kafka.controller:type=KafkaController,name=GlobalPartitionCount",
        "Partitions of the cluster.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_activebrokercount",
        GAUGE,
        (),
        "brokers",
        "kafka.controller:type=KafkaController,name=ActiveBrokerCount",
        "Brokers that are registered.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        GAUGE,
        (),
        "partitions",
        "kafka.controller:type=KafkaController,name=OfflinePartitionsCount",
        "Partitions of the cluster without a leader.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        GAUGE,
        (),
        "partitions",
        "kafka.controller:type=KafkaController,name=PreferredReplicaImbalanceCount",
        "Partitions of the cluster whose leader is not their first replica.",
    ),
    Metric(
        "kafka_log_logmanager_offlinelogdirectorycount",
        GAUGE,
        (),
        "directories",
        "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        "Log directories that failed.",
    ),
)

LOGS = (
    Metric(
        "kafka_log_logflushstats_logflushrateandtimems",
        HISTOGRAM,
        (),
        "milliseconds",
        "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
        "Flushes of logs to their device.",
    ),
    log_gauge("Size", "bytes", "Bytes of record batches in a log."),
    log_gauge("NumLogSegments", "segments", "Segments of a log."),
    log_gauge("LogStartOffset", "offset", "The first offset that can be read."),
    log_gauge("LogEndOffset", "offset", "The offset that the next record gets."),
)

GROUP_LAG = (
    Metric(
        "kafka_consumergroup_current_offset",
        GAUGE,
        ("consumergroup", "topic", "partition"),
        "offset",
        None,
        "The offset that a group committed. The name is kafka_exporter's, as of the next two.",
    ),
    Metric(
        "kafka_consumergroup_lag",
        GAUGE,
        ("consumergroup", "topic", "partition"),
        "records",
        None,
        "From the committed offset to the high watermark; for groups without members too.",
    ),
    Metric(
        "kafka_consumergroup_lag_seconds",
        GAUGE,
        ("consumergroup", "topic", "partition"),
        "seconds",
        None,
        "The age of the first record that the group has not read, by its timestamp; 0 when it has read everything.",
    ),
    Metric(
        "kcli_group_partitions_left_out",
        GAUGE,
        (),
        "partitions",
        None,
        "Pairs of group and partition beyond metrics.max.group.partitions, of which nothing is told.",
    ),
)

GROUPS = (
    Metric(
        "kafka_consumergroup_members",
        GAUGE,
        ("consumergroup",),
        "members",
        None,
        "Members of a group. The name is kafka_exporter's.",
    ),
    group_gauge("NumGroups", "groups", "Groups coordinated here, those too that only have offsets."),
    group_gauge("NumGroupsEmpty", "groups", "Those without members."),
    group_gauge("NumGroupsPreparingRebalance", "groups", "Those that wait for their members to join."),
    group_gauge("NumGroupsCompletingRebalance", "groups", "Those that wait for their leader's assignment."),
    group_gauge("NumGroupsStable", "groups", "Those that are assigned."),
    group_gauge("NumGroupsDead", "groups", "Those that have ended."),
    group_gauge("NumOffsets", "offsets", "Committed offsets."),
    group_coordinator_metric("group-completed-rebalance-count", "rebalances", "Generations that were assigned."),
    group_coordinator_metric("offset-commit-count", "offsets", "Offsets committed, in transactions too."),
    group_coordinator_metric(
        "offset-deletion-count", "offsets", "Offsets that somebody deleted, alone or with a group."
    ),
    group_coordinator_metric("offset-expiration-count", "offsets", "Offsets that expired."),
    group_coordinator_metric(
        "partition-load-time-avg", "seconds", "How long partitions of `__consumer_offsets` took to load.", GAUGE
    ),
    group_coordinator_metric(
        "partition-load-time-max", "seconds", "The longest of these since the start; Kafka's is of 30 seconds.", GAUGE
    ),
)

PROCESS = (
    Metric("process_cpu_seconds_total", COUNTER, (), "seconds", None, "CPU time of the broker's process."),
    Metric("process_resident_memory_bytes", GAUGE, (), "bytes", None, "Resident memory of the broker's process."),
    Metric("process_virtual_memory_bytes", GAUGE, (), "bytes", None, "Virtual memory of the broker's process."),
    Metric("process_open_fds", GAUGE, (), "descriptors", None, "File descriptors that are open."),
    Metric("process_max_fds", GAUGE, (), "descriptors", None, "File descriptors that the process may open."),
    Metric("process_threads", GAUGE, (), "threads", None, "Threads of the broker's process."),
    Metric(
        "process_start_time_seconds", GAUGE, (), "seconds", None, "When the broker's process began, since the epoch."
    ),
)

SECTIONS = {
    "Topics": TOPICS,
    "Requests": REQUESTS,
    "Network": NETWORK,
    "Replicas, fetch sessions and purgatories": REPLICAS,
    "Logs": LOGS,
    "Lag of consumer groups": GROUP_LAG,
    "Consumer groups": GROUPS,
    "Server and controller": SERVER,
    "Process": PROCESS,
}
METRICS = {metric.name: metric for section in SECTIONS.values() for metric in section}
