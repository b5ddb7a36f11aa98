"""The table of all metrics. It generates docs/metrics.md, and the registry accepts only metrics in it."""

from __future__ import annotations

from kcore.metrics.definition import COUNTER, GAUGE, HISTOGRAM, Metric

TOPIC_TYPE = "kafka.server:type=BrokerTopicMetrics"
REQUEST_TYPE = "kafka.network:type=RequestMetrics"


def topic_metric(name: str, unit: str, documentation: str) -> Metric:
    """A counter of BrokerTopicMetrics: without a label the total of all topics, with it one topic."""
    return Metric(
        f"kafka_server_brokertopicmetrics_{name.lower()}_total",
        COUNTER,
        ("topic",),
        unit,
        f"{TOPIC_TYPE},name={name}PerSec",
        documentation,
    )


def request_time(name: str, documentation: str) -> Metric:
    """A histogram of times in RequestMetrics, by API."""
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
    topic_metric("MessagesIn", "records", "Appended records. Idempotent retries are counted again, as in Kafka."),
    topic_metric("BytesIn", "bytes", "Bytes of appended record batches, as the client sent them."),
    topic_metric("BytesOut", "bytes", "Bytes of record batches sent to consumers."),
    topic_metric("BytesRejected", "bytes", "Bytes of record batches that were rejected because they are too large."),
    topic_metric("TotalProduceRequests", "requests", "Appends. Each partition of a produce request is one append."),
    topic_metric(
        "FailedProduceRequests",
        "requests",
        "Appends that were rejected because of invalid records. Records that are too large or corrupt are "
        "not included, as in Kafka.",
    ),
    topic_metric(
        "ProduceMessageConversions",
        "records",
        "Records that the broker rewrote, because of the topic's codec or timestamp type.",
    ),
    topic_metric(
        "TotalFetchRequests",
        "requests",
        "Reads. Each partition of a fetch request is one read. A fetch that waited reads again.",
    ),
    topic_metric("FailedFetchRequests", "requests", "Reads that failed because of an error in the log."),
)

REQUESTS = (
    Metric(
        "kafka_network_requestmetrics_requests_total",
        COUNTER,
        ("request", "version"),
        "requests",
        f"{REQUEST_TYPE},name=RequestsPerSec",
        "Answered requests, by API and version. Fetch is one API: consumers and followers are not counted separately.",
    ),
    Metric(
        "kafka_network_requestmetrics_errors_total",
        COUNTER,
        ("request", "error"),
        "errors",
        f"{REQUEST_TYPE},name=ErrorsPerSec",
        "Error codes in responses, by API and name. A response without an error counts once as NONE.",
    ),
    request_time("TotalTimeMs", "Time from the last byte of a request received to the last byte of its response sent."),
    request_time("RequestQueueTimeMs", "Time from the last byte of a request received to the start of its execution."),
    request_time(
        "LocalTimeMs",
        "Time that the broker executes a request. Requests that a network thread executes in a row share "
        "their time evenly.",
    ),
    request_time("RemoteTimeMs", "Time that a request waits for records, replicas or group members."),
    request_time("ThrottleTimeMs", "Throttle time of the client after the response, because of a quota."),
    request_time("ResponseQueueTimeMs", "Time from the finished response to when the network thread takes it."),
    request_time("ResponseSendTimeMs", "Time from when the network thread takes the response to its last byte sent."),
    request_size("RequestBytes", "Size of requests."),
    Metric("kcli_network_responsebytes", HISTOGRAM, ("request",), "bytes", None, "Size of responses."),
)

NETWORK = (
    Metric(
        "kafka_network_socketserver_networkprocessoravgidlepercent",
        GAUGE,
        (),
        "ratio",
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
        "Share of time that network threads are idle, from 0 to 1, over about the last minute.",
    ),
    Metric(
        "kafka_network_processor_idlepercent",
        GAUGE,
        ("networkProcessor",),
        "ratio",
        "kafka.network:type=Processor,name=IdlePercent",
        "Share of time that each network thread is idle, from 0 to 1, over about the last minute.",
    ),
    Metric(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
        GAUGE,
        (),
        "ratio",
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent",
        "Share of time that handler threads are idle, from 0 to 1, over about the last minute.",
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
        "Open connections.",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_creation_total",
        COUNTER,
        ("listener", "networkProcessor"),
        "connections",
        "kafka.server:type=socket-server-metrics,attribute=connection-creation-total",
        "Accepted connections.",
    ),
    Metric(
        "kafka_server_socket_server_metrics_connection_close_total",
        COUNTER,
        ("listener", "networkProcessor"),
        "connections",
        "kafka.server:type=socket-server-metrics,attribute=connection-close-total",
        "Closed connections.",
    ),
    Metric(
        "kafka_network_socketserver_memorypoolused",
        GAUGE,
        (),
        "bytes",
        "kafka.network:type=SocketServer,name=MemoryPoolUsed",
        "Memory that requests use, of queued.max.request.bytes.",
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
        "Connections that were closed because of a protocol error.",
    ),
)

REPLICAS = (
    replica_gauge("LeaderCount", "partitions", "Partitions that this broker leads."),
    replica_gauge("PartitionCount", "partitions", "Partitions with a replica on this broker."),
    replica_gauge("OfflineReplicaCount", "partitions", "Replicas in a failed log directory."),
    replica_gauge(
        "UnderReplicatedPartitions",
        "partitions",
        "Partitions that this broker leads and that have fewer in-sync replicas than replicas.",
    ),
    replica_gauge(
        "UnderMinIsrPartitionCount",
        "partitions",
        "Partitions that this broker leads with fewer in-sync replicas than min.insync.replicas.",
    ),
    replica_gauge(
        "AtMinIsrPartitionCount",
        "partitions",
        "Partitions that this broker leads with exactly min.insync.replicas in-sync replicas.",
    ),
    Metric(
        "kafka_server_replicamanager_isrshrinks_total",
        COUNTER,
        (),
        "changes",
        "kafka.server:type=ReplicaManager,name=IsrShrinksPerSec",
        "Number of times that a partition of this leader lost an in-sync replica, since the metrics endpoint "
        "was opened.",
    ),
    Metric(
        "kafka_server_replicamanager_isrexpands_total",
        COUNTER,
        (),
        "changes",
        "kafka.server:type=ReplicaManager,name=IsrExpandsPerSec",
        "Number of times that a partition of this leader gained an in-sync replica, since the metrics "
        "endpoint was opened.",
    ),
    Metric(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions",
        GAUGE,
        (),
        "sessions",
        "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchSessions",
        "Cached incremental fetch sessions (KIP-227).",
    ),
    Metric(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        GAUGE,
        (),
        "partitions",
        "kafka.server:type=FetchSessionCache,name=NumIncrementalFetchPartitionsCached",
        "Partitions in cached incremental fetch sessions.",
    ),
    Metric(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        COUNTER,
        (),
        "sessions",
        "kafka.server:type=FetchSessionCache,name=IncrementalFetchSessionEvictionsPerSec",
        "Incremental fetch sessions that were evicted from the cache.",
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        GAUGE,
        ("delayedOperation",),
        "entries",
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize",
        "Entries in the watch lists of a purgatory. A delayed operation has one entry per key.",
    ),
    Metric(
        "kafka_server_delayedoperationpurgatory_numdelayedoperations",
        GAUGE,
        ("delayedOperation",),
        "operations",
        "kafka.server:type=DelayedOperationPurgatory,name=NumDelayedOperations",
        "Delayed operations in a purgatory.",
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
        "Always 1. The labels identify the broker.",
    ),
    Metric(
        "kafka_controller_kafkacontroller_activecontrollercount",
        GAUGE,
        (),
        "controllers",
        "kafka.controller:type=KafkaController,name=ActiveControllerCount",
        "1 if this broker is the controller.",
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
        "Registered brokers.",
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
        "Failed log directories.",
    ),
)

LOGS = (
    Metric(
        "kafka_log_logflushstats_logflushrateandtimems",
        HISTOGRAM,
        (),
        "milliseconds",
        "kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
        "Duration of log flushes.",
    ),
    log_gauge("Size", "bytes", "Size of a log."),
    log_gauge("NumLogSegments", "segments", "Number of segments of a log."),
    log_gauge("LogStartOffset", "offset", "Log start offset: the first offset that can be read."),
    log_gauge("LogEndOffset", "offset", "Log end offset: the offset of the next record."),
)

GROUP_LAG = (
    Metric(
        "kafka_consumergroup_current_offset",
        GAUGE,
        ("consumergroup", "topic", "partition"),
        "offset",
        None,
        "Committed offset of a group. The name is that of kafka_exporter.",
    ),
    Metric(
        "kafka_consumergroup_lag",
        GAUGE,
        ("consumergroup", "topic", "partition"),
        "records",
        None,
        "Records between the committed offset and the high watermark, also for groups without members. The "
        "name is that of kafka_exporter.",
    ),
    Metric(
        "kafka_consumergroup_lag_seconds",
        GAUGE,
        ("consumergroup", "topic", "partition"),
        "seconds",
        None,
        "Age of the first record that the group has not read, by its timestamp. 0 if the group has read all "
        "records. The name is that of kafka_exporter.",
    ),
    Metric(
        "kcli_group_partitions_left_out",
        GAUGE,
        (),
        "partitions",
        None,
        "Pairs of group and partition beyond metrics.max.group.partitions, which are not reported.",
    ),
)

GROUPS = (
    Metric(
        "kafka_consumergroup_members",
        GAUGE,
        ("consumergroup",),
        "members",
        None,
        "Members of a group. The name is that of kafka_exporter.",
    ),
    group_gauge("NumGroups", "groups", "Groups that this broker coordinates, including groups with offsets only."),
    group_gauge("NumGroupsEmpty", "groups", "Groups without members."),
    group_gauge("NumGroupsPreparingRebalance", "groups", "Groups that wait for members to join."),
    group_gauge("NumGroupsCompletingRebalance", "groups", "Groups that wait for their leader's assignment."),
    group_gauge("NumGroupsStable", "groups", "Groups with a complete assignment."),
    group_gauge("NumGroupsDead", "groups", "Groups in state Dead."),
    group_gauge("NumOffsets", "offsets", "Committed offsets."),
    group_coordinator_metric("group-completed-rebalance-count", "rebalances", "Completed rebalances."),
    group_coordinator_metric("offset-commit-count", "offsets", "Committed offsets, including offsets in transactions."),
    group_coordinator_metric("offset-deletion-count", "offsets", "Deleted offsets, alone or with their group."),
    group_coordinator_metric("offset-expiration-count", "offsets", "Expired offsets."),
    group_coordinator_metric(
        "partition-load-time-avg", "seconds", "Average time to load a partition of `__consumer_offsets`.", GAUGE
    ),
    group_coordinator_metric(
        "partition-load-time-max",
        "seconds",
        "Maximum time to load a partition of `__consumer_offsets` since the start. Kafka's metric covers 30 seconds.",
        GAUGE,
    ),
)

PROCESS = (
    Metric("process_cpu_seconds_total", COUNTER, (), "seconds", None, "CPU time of the broker's process."),
    Metric("process_resident_memory_bytes", GAUGE, (), "bytes", None, "Resident memory of the broker's process."),
    Metric("process_virtual_memory_bytes", GAUGE, (), "bytes", None, "Virtual memory of the broker's process."),
    Metric("process_open_fds", GAUGE, (), "descriptors", None, "Open file descriptors."),
    Metric("process_max_fds", GAUGE, (), "descriptors", None, "Maximum number of open file descriptors."),
    Metric("process_threads", GAUGE, (), "threads", None, "Threads of the broker's process."),
    Metric(
        "process_start_time_seconds", GAUGE, (), "seconds", None, "Start time of the broker's process, since the epoch."
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
