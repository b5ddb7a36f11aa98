"""The broker: all services of one node of a cluster, started and stopped in order (KafkaServer, BrokerServer).

Start:

1. Lock the log directories, so that no other process uses them.
2. Open the metadata store.
3. Load and recover the logs.
4. Bind the sockets, so that their ports are known.
5. Start the controller and register this broker, which raises the leader epochs of its partitions.
6. Become the leader of partitions.
7. Serve requests.

A step that fails undoes the steps before it.

Stop: refuse new connections, finish requests in flight, then stop the layers from the top down: the network and its
handlers, the broker's registration, purgatories, the scheduler, the metadata store, and the logs. These are flushed,
checkpointed and marked as cleanly shut down before their directories are unlocked.

When the last log directory fails, the broker stops without clean-shutdown markers, and the process exits with status 1.
"""

from __future__ import annotations

import os
import time

from kcore import errors
from kcore.config.listeners import ANY_HOSTS, Endpoint
from kcore.controller.controller import Controller
from kcore.controller.features import worth_naming
from kcore.controller.metadata_store import MetadataStoreDamagedError, MetadataStoreError
from kcore.coordinator.group.coordinator import GroupCoordinator
from kcore.logger import INTERVAL_S, LIMITED, get_logger
from kcore.metadata.cache import MetadataCache
from kcore.metadata.image import BrokerRegistration
from kcore.metadata.image import Endpoint as RegisteredEndpoint
from kcore.network.connection_quotas import ConnectionQuotas
from kcore.network.dispatch import DispatchTable
from kcore.network.request_channel import RequestChannel
from kcore.network.socket_server import SocketServer
from kcore.purgatory.purgatory import Purgatory
from kcore.purgatory.timer import Timer
from kcore.quota.client_quota_manager import ClientQuotaManager
from kcore.replication.replica_manager import ReplicaManager
from kcore.server import apis
from kcore.server.connection_limits import ConnectionLimits
from kcore.server.delayed_requests import DelayedRequests
from kcore.server.fast_path.session_cache import FetchSessionCache
from kcore.server.large_batches import LargeBatches
from kcore.server.metadata_publisher import MetadataPublisher
from kcore.server.producer_ids import ProducerIds
from kcore.server.quota_publisher import QuotaPublisher
from kcore.server.request_handler import RequestHandlerPool
from kcore.storage.log_dir_scan import HostedTopic
from kcore.storage.log_manager import LogManager
from kcore.storage.scheduler import Scheduler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from kcore.config.broker import BrokerConfig
    from kcore.controller.metadata_rebuild import RebuiltMetadata
    from kcore.controller.metadata_store import MetadataStore
    from kcore.metadata.image import MetadataImage
    from kcore.metrics.registry import Registry
    from kcore.platform.disk import Disk
    from kcore.server.faults.fault_table import FaultTable
    from kcore.server.metrics_endpoint import MetricsEndpoint
    from kcore.server.request_context import Connection
    from kcore.storage.meta_properties import MetaProperties

LOG = get_logger("kcore.server.broker")

# Kafka's BrokerState, as its metric of the same name reports it.
NOT_RUNNING = 0
STARTING = 1
RECOVERY = 2
RUNNING = 3
PENDING_CONTROLLED_SHUTDOWN = 6
SHUTTING_DOWN = 7

# The id of a broker without `node.id` in its configuration: it is the only broker.
SINGLE_BROKER_ID = 1
# How long requests in flight may take to finish when the broker stops.
DRAIN_TIMEOUT_MS = 5000


class Broker:
    """One node of a cluster.

    `disk`, `store` and `scheduler` are the real ones unless a test passes others. `on_fatal` is called when the broker
    cannot continue. `rebuild_metadata` allows the start to rebuild a lost metadata store from the log directories.
    """

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk | None = None,
        store: MetadataStore | None = None,
        on_fatal: Callable[[], None] | None = None,
        scheduler: Scheduler | None = None,
        rebuild_metadata: bool = False,
    ) -> None:
        self.config = config
        self.disk = disk if disk is not None else real_disk()
        self.state = NOT_RUNNING
        self.failed = False
        self.broker_id = config.broker_id
        self.cluster_id = ""
        self.bound_listeners: list[Endpoint] = []
        self._on_fatal = on_fatal
        self._rebuild_metadata = rebuild_metadata
        self._undo: list[Callable[[], None]] = []
        self._registration: BrokerRegistration | None = None
        self._metrics: Registry | None = None
        self.metrics_endpoint: MetricsEndpoint | None = None
        self._store = store
        self.faults: FaultTable | None = None
        self.scheduler = scheduler if scheduler is not None else Scheduler()
        self.metadata_cache = MetadataCache()
        self.log_manager = LogManager(self.disk, config.log_directories, config, self.scheduler)

    # Start

    def startup(self) -> None:
        """Starts the broker. If it raises, nothing is left running or locked."""
        self.state = STARTING
        try:
            for warning in self.config.warnings:
                LOG.warn("%s", warning)
            self._start_metrics()
            self._open_storage()
            self._start_network()
            self._join_cluster()
            self._serve()
        except BaseException:
            self._stop()
            raise
        self.state = RUNNING
        LOG.info("Started broker %d of cluster %s", self.broker_id, self.cluster_id)

    def _start_metrics(self) -> None:
        """Starts the Prometheus endpoint, if configured. It starts first and stops last, so that it covers recovery."""
        port = self.config.number("metrics.port")
        if port < 0:
            return
        from kcore.metrics.registry import Registry
        from kcore.server.broker_metrics import register_early
        from kcore.server.metrics_endpoint import MetricsEndpoint

        self._metrics = registry = Registry()
        register_early(self, registry)
        self.metrics_endpoint = MetricsEndpoint(
            self.config.text("metrics.host") or "",
            port,
            registry.render,
            lambda: self.state == RUNNING,
            max_connections=self.config.number("metrics.max.connections"),
            timeout_ms=self.config.number("metrics.connection.timeout.ms"),
        )
        self.metrics_endpoint.start()
        self._undo.append(self.metrics_endpoint.stop)
        LOG.info("Metrics are served at %s", self.metrics_endpoint.url)

    def _open_storage(self) -> None:
        """Opens the log directories, the metadata store and the logs."""
        self.log_manager.on_directory_failure = self._on_directory_failure
        self.log_manager.on_all_directories_failed = self._on_all_directories_failed
        meta = self.log_manager.open()
        self._undo.append(self._close_logs)
        self._store = store = self._store if self._store is not None else self._embedded_store()
        self._open_store(store, meta)
        self._undo.append(store.close)
        self._settle_broker_id(store, meta)
        # This must precede every use of the id.
        self.config.take_broker_id(self.broker_id)
        self.config.update_dynamic(store.image.cluster_configs(), store.image.broker_configs(self.broker_id))
        self._undo.append(self.scheduler.shutdown)
        self.state = RECOVERY
        rebuilt = self._rebuilt_metadata(store) if store.is_unused else None
        image = store.image if rebuilt is None else rebuilt.image(self.cluster_id)
        self.log_manager.startup(
            self.broker_id, self.cluster_id, hosted_topics(image, self.broker_id), store.deleted_topic_ids()
        )
        if rebuilt is not None:
            from kcore.server.metadata_recovery import restore

            restore(store, self.log_manager, rebuilt)
        self.scheduler.startup()

    def _open_store(self, store: MetadataStore, meta: MetaProperties | None) -> None:
        """Opens the store. With `rebuild_metadata`, a damaged store is renamed, and an empty one takes its place."""
        cluster_id = meta.cluster_id if meta is not None else None
        try:
            self.cluster_id = store.open(cluster_id)
        except MetadataStoreDamagedError as error:
            if not self._rebuild_metadata:
                raise
            LOG.warn("%s", error)
            LOG.warn("The damaged metadata store is kept as %s", store.set_aside())
            self.cluster_id = store.open(cluster_id)

    def _settle_broker_id(self, store: MetadataStore, meta: MetaProperties | None) -> None:
        """Sets the broker id: configured, or else from `meta.properties`, or else the only one in the metadata.

        Raises MetadataStoreError if the embedded store has partitions but none of this id: all logs would be set aside.
        """
        known = {replica for state in store.image.partitions() for replica in state.replicas}
        if self.broker_id < 0 and meta is not None and meta.node_id is not None:
            self.broker_id = meta.node_id
        if self.broker_id < 0:
            self.broker_id = known.pop() if store.is_of_one_broker and len(known) == 1 else SINGLE_BROKER_ID
        elif store.is_of_one_broker and known and self.broker_id not in known:
            configured = (name for name in ("node.id", "broker.id") if self.config.is_set(name))
            given = next(configured, "node.id in meta.properties")
            raise MetadataStoreError(
                f"{given} {self.broker_id} is not the broker {', '.join(map(str, sorted(known)))} whose partitions are "
                f"in {store.name.replace('The', 'the', 1)}: correct {given}"
            )

    def _rebuilt_metadata(self, store: MetadataStore) -> RebuiltMetadata | None:
        """The metadata rebuilt from the log directories, for an empty store. None if the directories are empty too."""
        if not self.log_manager.has_partitions():
            return None
        from kcore.server.metadata_recovery import plan, refuse_lost_metadata

        if not self._rebuild_metadata:
            refuse_lost_metadata(store, self.log_manager.found_partitions())
        return plan(store, self.log_manager, self.config, self.broker_id)

    def _embedded_store(self) -> MetadataStore:
        from kcore.controller.embedded_store import FILE_NAME, EmbeddedMetadataStore

        directory = self.config.metadata_directory
        self.disk.mkdirs(directory)
        return EmbeddedMetadataStore(f"{directory}/{FILE_NAME}")

    def _start_network(self) -> None:
        """Creates the services that requests need, and binds the sockets. Nothing is read from them yet."""
        config = self.config
        self.request_channel = RequestChannel(
            config.number("queued.max.requests"), config.number("queued.max.request.bytes")
        )
        self._start_waiting()
        self._start_groups()
        self._start_replicas()
        self._start_quotas()
        self._dispatch = self._dispatch_table()
        self.socket_server = self._new_socket_server()
        self._undo.append(self._stop_network)
        self.socket_server.bind()
        self.bound_listeners = [
            Endpoint(endpoint.name, endpoint.host, port, endpoint.security_protocol)
            for endpoint, (_, _, port) in zip(
                config.listeners.endpoints, self.socket_server.bound_addresses(), strict=True
            )
        ]

    def _start_waiting(self) -> None:
        """Creates the purgatories of delayed requests."""
        self.delayed_requests = DelayedRequests(self.request_channel)
        self.fetch_purgatory = self._purgatory("Fetch", "fetch.purgatory.purge.interval.requests")
        self.produce_purgatory = self._purgatory("Produce", "producer.purgatory.purge.interval.requests")

    def _start_groups(self) -> None:
        self._group_timer = Timer(self.request_channel, "Group")
        self._undo.append(self._group_timer.shutdown)
        self.group_coordinator = GroupCoordinator(
            self.config,
            self._group_timer,
            now_ms,
            aside=self.request_channel if self.config.flag("log.flush.group.commit") else None,
        )

    def _start_replicas(self) -> None:
        self.replica_manager = ReplicaManager(self.broker_id, self.fetch_purgatory, self.produce_purgatory)
        self.fetch_session_cache = FetchSessionCache(
            self.replica_manager,
            self.config.number("max.incremental.fetch.session.cache.slots"),
            self.config.number("kcli.fetch.session.cache.max.partitions"),
        )
        self._undo.append(self.fetch_session_cache.clear)

    def _start_quotas(self) -> None:
        """Creates client quotas and connection limits."""
        config = self.config
        self.client_quotas = ClientQuotaManager(
            self.disk,
            config.number("quota.window.num"),
            config.number("quota.window.size.seconds"),
            config.number("controller.quota.window.num"),
            config.number("controller.quota.window.size.seconds"),
        )
        self.connection_quotas = ConnectionQuotas(
            self.disk, config.number("quota.window.num"), config.number("quota.window.size.seconds")
        )
        self._connection_limits = ConnectionLimits(config, self.connection_quotas)

    def _new_socket_server(self) -> SocketServer:
        config = self.config
        return SocketServer(
            [(endpoint.name, endpoint.host, endpoint.port) for endpoint in config.listeners.endpoints],
            self.disk,
            self.request_channel,
            self._dispatch,
            num_network_threads=config.number("num.network.threads"),
            max_request_bytes=config.number("socket.request.max.bytes"),
            max_idle_ms=config.number("connections.max.idle.ms"),
            send_buffer_bytes=config.number("socket.send.buffer.bytes"),
            receive_buffer_bytes=config.number("socket.receive.buffer.bytes"),
            backlog=config.number("socket.listen.backlog.size"),
            quotas=self.client_quotas,
            connection_quotas=self.connection_quotas,
        )

    def _purgatory(self, name: str, purge_interval: str) -> Purgatory:
        purgatory = Purgatory(name, self.config.number(purge_interval))
        purgatory.start()
        self._undo.append(purgatory.shutdown)
        return purgatory

    def _dispatch_table(self) -> DispatchTable:
        """The dispatch table with the request header layout of every API. Native handlers are installed later."""
        from kcore.protocol.apis import BY_KEY

        dispatch = DispatchTable()
        for entry in apis.TABLE:
            dispatch.set_first_flexible(entry.key, BY_KEY[entry.key].first_flexible)
        return dispatch

    def _join_cluster(self) -> None:
        """Starts the controller, registers this broker, and makes it the leader of its partitions."""
        assert self._store is not None
        self.controller = Controller(self._store, self.config)
        self.controller.start(self.broker_id)
        self.producer_ids = ProducerIds(self.controller.allocate_producer_ids)
        self._registration = self.controller.register_broker(
            BrokerRegistration(
                self.broker_id,
                [
                    RegisteredEndpoint(endpoint.name, endpoint.host, endpoint.port, endpoint.security_protocol)
                    for endpoint in self.registered_listeners()
                ],
                self.config.text("broker.rack"),
                features=worth_naming(self.controller.supported_features),
            )
        )
        self._undo.append(self._unregister)
        self.controller.finalize_first_levels()
        self._store.subscribe(self.metadata_cache.publish)
        publisher = MetadataPublisher(
            self.broker_id,
            self.config,
            self.log_manager,
            self.replica_manager,
            self.group_coordinator,
            self.scheduler,
            self.controller.finish_deletions,
        )
        self.metadata_cache.subscribe(lambda image, delta: self.group_coordinator.on_image(image))
        self.metadata_cache.subscribe(publisher.publish)
        self.metadata_cache.subscribe(QuotaPublisher(self.client_quotas).publish)
        self.metadata_cache.subscribe(self._connection_limits.publish)
        # Partitions in a directory that could not be read at startup, and which this broker led before it stopped.
        self.controller.fail_partitions(self.broker_id, self.log_manager.offline_partitions())
        period_ms = self.config.number("offsets.retention.check.interval.ms")
        self.scheduler.schedule("clean-up-groups", self.group_coordinator.clean_up, period_ms, period_ms)
        interval_ms = int(INTERVAL_S * 1_000)
        self.scheduler.schedule("left-out-lines", lambda: LIMITED.report(INTERVAL_S), interval_ms, interval_ms)
        if not self.log_manager.offline_directories():
            # The scan of the directories has set aside the files of deleted topics.
            self.controller.finish_deletions()

    def _serve(self) -> None:
        if self.config.flag("kcli.fast.path.enable"):
            self._install_fast_path()
        self.large_batches = LargeBatches(self.config.number("queued.max.requests"))
        self._undo.append(self.large_batches.shutdown)
        self._handlers = RequestHandlerPool(self, self.request_channel, self.config.number("num.io.threads"))
        self._handlers.start()
        self.config.on_change(["num.io.threads"], lambda: self._handlers.resize(self.config.number("num.io.threads")))
        self.config.on_change(
            ["num.network.threads"], lambda: self.socket_server.resize(self.config.number("num.network.threads"))
        )
        self._undo.append(self._stop_handlers)
        self.socket_server.start()
        self._undo.append(self._drain_network)
        self._start_request_log()
        if self._metrics is not None:
            from kcore.server.broker_metrics import BrokerMetrics

            BrokerMetrics(self).register(self._metrics)

    def _start_request_log(self) -> None:
        from kcore.server.request_log import RequestLog

        log = RequestLog(self.config, self.socket_server.request_rings, self.bound_listeners)
        log.start()
        self._undo.append(log.stop)

    def _install_fast_path(self) -> None:
        from kcore.server.fast_path.fetch import FetchPath
        from kcore.server.fast_path.heartbeat import HeartbeatPath
        from kcore.server.fast_path.produce import ProducePath

        self._produce_path = ProducePath(
            self.replica_manager, self.socket_server, self.config.number("kcli.batch.inline.decompressed.bytes")
        )
        self._produce_path.install()
        self._fetch_path = FetchPath(
            self.replica_manager, self.socket_server, self.fetch_session_cache, self.config.number("fetch.max.bytes")
        )
        self._fetch_path.install()
        self._heartbeat_path = HeartbeatPath(self.group_coordinator.sessions, self.socket_server)
        self._heartbeat_path.install()

    # Stop

    def shutdown(self) -> None:
        """Finishes requests in flight and closes everything. A second call does nothing."""
        if self.state == NOT_RUNNING:
            return
        self.state = PENDING_CONTROLLED_SHUTDOWN
        self._stop()
        LIMITED.report(0)
        LOG.info("Shut down broker %d", self.broker_id)

    def _stop(self) -> None:
        """Undoes the start, last step first. A step that fails does not prevent the others."""
        while self._undo:
            step = self._undo.pop()
            try:
                step()
            except Exception as error:
                LOG.error("A step of the shutdown failed: %s", step, cause=error)
        self.state = NOT_RUNNING

    def _drain_network(self) -> None:
        self.socket_server.stop_accepting()
        self.state = SHUTTING_DOWN
        if self.faults is not None:
            self.faults.shutdown()
        # Answer waiting fetches now, with the available records.
        self.fetch_purgatory.shutdown()
        self.socket_server.shutdown(DRAIN_TIMEOUT_MS)

    def _stop_handlers(self) -> None:
        self.request_channel.close()
        self._handlers.join()

    def _stop_network(self) -> None:
        self.request_channel.close()
        self.socket_server.shutdown(0)

    def _unregister(self) -> None:
        assert self._registration is not None
        self.controller.unregister_broker(self.broker_id, self._registration.broker_epoch)

    def _close_logs(self) -> None:
        self.log_manager.shutdown(self._registration.broker_epoch if self._registration is not None else -1)

    def _on_directory_failure(self, path: str, partitions: list[tuple[str, int]]) -> None:
        LOG.error("Log directory %s failed: %d partitions are offline", path, len(partitions))
        if self._registration is not None and self.state in (STARTING, RUNNING):
            self.controller.fail_partitions(self.broker_id, partitions)

    def _on_all_directories_failed(self) -> None:
        LOG.error("All log directories failed. The broker stops. Fix the disks and start it again")
        self.failed = True
        if self._on_fatal is not None:
            self._on_fatal()

    def missing_partition_error(self, topic: str, index: int) -> int:
        """The error code for a partition that is not served here: unknown, offline, or led by another broker."""
        if self.metadata_cache.partition(topic, index) is None:
            return int(errors.UnknownTopicOrPartitionError.code)
        if self.log_manager.is_offline(topic, index):
            return int(errors.KafkaStorageError.code)
        return int(errors.NotLeaderOrFollowerError.code)

    def fault_table(self) -> FaultTable:
        """The table of faults that tests inject. It is created on first use."""
        if self.faults is None:
            from kcore.server.faults.fault_table import FaultTable

            self.faults = FaultTable(self.request_channel, self._dispatch)
        return self.faults

    # Addresses

    def address_of(self, registration: BrokerRegistration, connection: Connection) -> tuple[str, int] | None:
        """The address of a broker for the client of a connection; None if the broker lacks the client's listener."""
        listener = connection.listener
        if registration.broker_id == self.broker_id:
            advertised = self.config.listeners.advertised.get(listener.name)
            if advertised is None:
                return connection.local_host, listener.port
            return advertised.host or connection.local_host, advertised.port or listener.port
        endpoint = registration.endpoint(listener.name)
        return None if endpoint is None else (endpoint.host, endpoint.port)

    def registered_listeners(self) -> list[Endpoint]:
        """The addresses for other brokers and clients: the advertised ones, or else the bound ones."""
        return [self._reachable(endpoint, os.uname().nodename) for endpoint in self.bound_listeners]

    def displayed_listeners(self) -> list[Endpoint]:
        """The addresses for a person on this machine."""
        return [self._reachable(endpoint, "localhost") for endpoint in self.bound_listeners]

    def _reachable(self, bound: Endpoint, own_name: str) -> Endpoint:
        """Applies `advertised.listeners`. As in Kafka, an advertised port of 0 means the bound port."""
        advertised = self.config.listeners.advertised.get(bound.name, bound)
        host = own_name if advertised.host in ANY_HOSTS else advertised.host
        return Endpoint(bound.name, host, advertised.port or bound.port, bound.security_protocol)


def real_disk() -> Disk:
    """The machine's own disk."""
    from kcore.platform.real_disk import RealDisk

    return RealDisk()


def now_ms() -> int:
    """The wall-clock time in milliseconds since the epoch."""
    return int(time.time() * 1000)


def hosted_topics(image: MetadataImage, broker_id: int) -> dict[str, HostedTopic]:
    """The topics with a replica on this broker, by name, for the log manager."""
    hosted = {}
    for topic in image.topics.values():
        partitions = [state.partition for state in topic.partitions if broker_id in state.replicas]
        if partitions:
            hosted[topic.name] = HostedTopic(topic.topic_id, partitions, image.topic_configs(topic.name))
    return hosted
