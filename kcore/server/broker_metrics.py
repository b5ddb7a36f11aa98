"""The sources of a broker's metrics: one generator of samples for each section of kcore/metrics/table.py.

This module is imported only if a metrics endpoint is configured. It adds no work to requests: a scrape reads native
counters, and counts everything else from the metadata image and the partition tables.

Bound: topics beyond `metrics.max.topics` are added up under the topic `(others)`, so that a broker with many topics
does not overload the monitoring system.
"""

from __future__ import annotations

import time

from kcore import __version__, errors
from kcore.coordinator.group.rebalancing import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from kcore.metrics.log_flush import log_flush_total
from kcore.metrics.process import PROCESS_METRICS, process_samples
from kcore.metrics.recent_share import RecentShare
from kcore.metrics.registry import Registry, duration_histogram, size_histogram
from kcore.metrics.table import GROUP_LAG, GROUPS, LOGS, NETWORK, REPLICAS, REQUESTS, SERVER, TOPICS
from kcore.metrics.topic_counters import TOPIC_COUNTERS
from kcore.protocol.apis import BY_KEY
from kcore.server.group_lag import GroupLag
from kcore.server.isr_changes import IsrChanges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcore.metrics.registry import Sample
    from kcore.server.broker import Broker

OTHER_TOPICS = "(others)"
ERROR_NAMES = {code: name for code, name, _, _ in errors.TABLE}

# The metric name of each counter in TOPIC_COUNTERS.
TOPIC_METRICS = {
    counter: f"kafka_server_brokertopicmetrics_{name}_total"
    for counter, name in {
        "messages_in": "messagesin",
        "bytes_in": "bytesin",
        "bytes_rejected": "bytesrejected",
        "produce_requests": "totalproducerequests",
        "failed_produce_requests": "failedproducerequests",
        "converted_messages": "producemessageconversions",
        "fetch_requests": "totalfetchrequests",
        "failed_fetch_requests": "failedfetchrequests",
        "bytes_out": "bytesout",
    }.items()
}


class BrokerMetrics:
    """The metrics of one running broker. `register` adds them to a registry."""

    __slots__ = ("_broker", "_handlers_idle", "_isr_changes", "_lag", "_processors_idle")

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._processors_idle = RecentShare(broker.socket_server.processor_idle_ns)
        self._handlers_idle = RecentShare(lambda: [broker.request_channel.handler_idle_ns])
        self._isr_changes = IsrChanges(broker.broker_id)
        broker.metadata_cache.subscribe(self._isr_changes.publish)
        self._lag = GroupLag(
            broker.group_coordinator,
            broker.replica_manager,
            lambda: broker.config.number("metrics.max.group.partitions"),
            lambda: int(time.time() * 1000),
        )

    def register(self, registry: Registry) -> None:
        """Registers every metric of the table, except those of `register_early`."""
        for section, source in (
            (TOPICS, self.topics),
            (REQUESTS, self.requests),
            (NETWORK, self.network),
            (REPLICAS, self.replicas),
            (LOGS, self.logs),
            (GROUP_LAG, self._lag.samples),
            (GROUPS, self.groups),
        ):
            registry.add([metric.name for metric in section], source)

    def topics(self) -> Iterator[Sample]:
        """BrokerTopicMetrics: the total of all topics, then each topic."""
        by_topic, total = self._broker.replica_manager.topic_counters()
        yield from topic_samples((), total)
        most = self._broker.config.number("metrics.max.topics")
        for topic in list(by_topic)[:most]:
            yield from topic_samples((topic,), by_topic[topic])
        others = [by_topic[topic] for topic in list(by_topic)[most:]]
        if others:
            yield from topic_samples((OTHER_TOPICS,), [sum(values) for values in zip(*others, strict=True)])

    def requests(self) -> Iterator[Sample]:
        """RequestMetrics of the APIs that have had requests."""
        for key, api in self._broker.socket_server.request_totals().items():
            if key not in BY_KEY:
                continue
            name = BY_KEY[key].name
            for version, count in api.versions.items():
                yield "kafka_network_requestmetrics_requests_total", (name, str(version)), count
            for code, count in api.errors.items():
                yield "kafka_network_requestmetrics_errors_total", (name, ERROR_NAMES.get(code, str(code))), count
            for time_name, (counts, sum_ns) in api.times.items():
                yield f"kafka_network_requestmetrics_{time_name.lower()}", (name,), duration_histogram(counts, sum_ns)
            yield "kafka_network_requestmetrics_requestbytes", (name,), size_histogram(*api.request_bytes)
            yield "kcli_network_responsebytes", (name,), size_histogram(*api.response_bytes)

    def network(self) -> Iterator[Sample]:
        """Network and handler threads, queues, connections and bytes."""
        broker = self._broker
        server = broker.socket_server
        idle = [min(1.0, max(0.0, rate)) for rate in self._processors_idle.rates()]
        yield "kafka_network_socketserver_networkprocessoravgidlepercent", (), sum(idle) / len(idle)
        for index, share in enumerate(idle):
            yield "kafka_network_processor_idlepercent", (str(index),), share
        [handlers_idle] = self._handlers_idle.rates()
        yield (
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent",
            (),
            min(1.0, handlers_idle / broker.config.number("num.io.threads")),
        )
        yield "kafka_network_requestchannel_requestqueuesize", (), broker.request_channel.depth
        for listener, processor, opened, closed in server.listener_connections():
            labels = (broker.bound_listeners[listener].name, str(processor))
            yield "kafka_server_socket_server_metrics_connection_count", labels, opened - closed
            yield "kafka_server_socket_server_metrics_connection_creation_total", labels, opened
            yield "kafka_server_socket_server_metrics_connection_close_total", labels, closed
        yield "kafka_network_socketserver_memorypoolused", (), broker.request_channel.memory.used
        counters = server.counters()
        yield "kcli_network_bytes_in_total", (), counters["bytes_in"]
        yield "kcli_network_bytes_out_total", (), counters["bytes_out"]
        yield "kcli_network_connections_refused_total", (), counters["connections_refused"]

    def replicas(self) -> Iterator[Sample]:
        """ReplicaManager's gauges from the metadata image, fetch sessions, and purgatories."""
        broker = self._broker
        hosted = [state for state in broker.metadata_cache.image.partitions() if broker.broker_id in state.replicas]
        led = [state for state in hosted if state.leader == broker.broker_id]
        margins = []
        for state in led:
            partition = broker.replica_manager.partition(state.topic, state.partition)
            if partition is not None:
                margins.append(len(state.isr) - partition.min_in_sync_replicas)
        offline = sum(broker.log_manager.is_offline(state.topic, state.partition) for state in hosted)
        prefix = "kafka_server_replicamanager"
        yield f"{prefix}_leadercount", (), len(led)
        yield f"{prefix}_partitioncount", (), len(hosted)
        yield f"{prefix}_offlinereplicacount", (), offline
        yield f"{prefix}_underreplicatedpartitions", (), sum(len(state.isr) < len(state.replicas) for state in led)
        yield f"{prefix}_underminisrpartitioncount", (), sum(margin < 0 for margin in margins)
        yield f"{prefix}_atminisrpartitioncount", (), sum(margin == 0 for margin in margins)
        yield f"{prefix}_isrshrinks_total", (), self._isr_changes.shrinks
        yield f"{prefix}_isrexpands_total", (), self._isr_changes.expands
        sessions = broker.fetch_session_cache
        prefix = "kafka_server_fetchsessioncache"
        yield f"{prefix}_numincrementalfetchsessions", (), sessions.sessions
        yield f"{prefix}_numincrementalfetchpartitionscached", (), sessions.partitions
        yield f"{prefix}_incrementalfetchsessionevictions_total", (), sessions.evictions
        for purgatory in (broker.fetch_purgatory, broker.produce_purgatory):
            labels = (purgatory.name,)
            yield "kafka_server_delayedoperationpurgatory_purgatorysize", labels, purgatory.watched
            yield "kafka_server_delayedoperationpurgatory_numdelayedoperations", labels, purgatory.delayed

    def logs(self) -> Iterator[Sample]:
        """Log flushes, and the logs of the first `metrics.max.partitions` partitions."""
        broker = self._broker
        yield "kafka_log_logflushstats_logflushrateandtimems", (), duration_histogram(*log_flush_total())
        for partition in broker.replica_manager.all_partitions()[: broker.config.number("metrics.max.partitions")]:
            labels = (partition.topic, str(partition.index))
            log = partition.log
            yield "kafka_log_log_size", labels, log.size_bytes
            yield "kafka_log_log_numlogsegments", labels, len(log.segments)
            yield "kafka_log_log_logstartoffset", labels, log.start_offset
            yield "kafka_log_log_logendoffset", labels, log.end_offset

    def groups(self) -> Iterator[Sample]:
        """Groups by state, members by group, and the coordinator's counters."""
        groups = self._broker.group_coordinator.group_states()
        for group, _, members in groups:
            yield "kafka_consumergroup_members", (group,), members
        prefix = "kafka_coordinator_group_groupmetadatamanager"
        yield f"{prefix}_numgroups", (), len(groups)
        for state in (EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD):
            yield f"{prefix}_numgroups{state.lower()}", (), sum(found == state for _, found, _ in groups)
        yield f"{prefix}_numoffsets", (), self._broker.group_coordinator.offset_count()
        counts = self._broker.group_coordinator.counts
        prefix = "kafka_server_group_coordinator_metrics"
        yield f"{prefix}_group_completed_rebalance_count_total", (), counts.completed_rebalances
        yield f"{prefix}_offset_commit_count_total", (), counts.offset_commits
        yield f"{prefix}_offset_deletion_count_total", (), counts.offset_deletions
        yield f"{prefix}_offset_expiration_count_total", (), counts.offset_expirations
        yield f"{prefix}_partition_load_time_avg", (), counts.load_time_sum_ms / max(counts.loads, 1) / 1000
        yield f"{prefix}_partition_load_time_max", (), counts.load_time_max_ms / 1000


def register_early(broker: Broker, registry: Registry) -> None:
    """Registers the metrics that are available during log recovery: the broker's state and its process."""
    registry.add([metric.name for metric in SERVER], ServerState(broker).samples)
    registry.add(PROCESS_METRICS, process_samples)


class ServerState:
    """The broker's state, the controller's counts and the number of offline log directories."""

    __slots__ = ("_broker",)

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def samples(self) -> Iterator[Sample]:
        """Every metric of SERVER."""
        broker = self._broker
        image = broker.metadata_cache.image
        yield "kafka_server_kafkaserver_brokerstate", (), broker.state
        yield "kafka_server_app_info", (__version__, broker.cluster_id, str(broker.broker_id)), 1
        partitions = list(image.partitions())
        prefix = "kafka_controller_kafkacontroller"
        yield f"{prefix}_activecontrollercount", (), 1
        yield f"{prefix}_activebrokercount", (), len(image.brokers)
        yield f"{prefix}_globaltopiccount", (), len(image.topics)
        yield f"{prefix}_globalpartitioncount", (), len(partitions)
        yield f"{prefix}_offlinepartitionscount", (), sum(state.leader < 0 for state in partitions)
        yield (
            f"{prefix}_preferredreplicaimbalancecount",
            (),
            sum(state.leader >= 0 and state.leader != state.replicas[0] for state in partitions),
        )
        yield "kafka_log_logmanager_offlinelogdirectorycount", (), len(broker.log_manager.offline_directories())


def topic_samples(labels: tuple[str, ...], values: Sequence[int]) -> Iterator[Sample]:
    """The counters of one topic, or of all topics if `labels` is empty."""
    for counter, value in zip(TOPIC_COUNTERS, values, strict=True):
        yield TOPIC_METRICS[counter], labels, value
