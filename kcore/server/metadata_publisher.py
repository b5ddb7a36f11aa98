"""Applies metadata changes to this broker: logs, leadership and group coordination (BrokerMetadataPublisher).

It receives every committed change in order, on the thread that made the change and before the client is answered. So a
topic is writable as soon as its creation is acknowledged. If a log cannot be created, its partition stays offline and
the reason is logged; the change stays committed, and other partitions are not affected. If the disk is full or
descriptors are exhausted, the creation is retried every `replica.high.watermark.checkpoint.interval.ms`.

Concurrency: `_lock` separates these retries from changes. It is below the metadata cache's lock.

Broker configurations are applied first, since topics take their defaults from them. When a default changes, every log
is reconfigured, as in Kafka.
"""

from __future__ import annotations

from threading import RLock

from kcore.config.topic import TopicConfig
from kcore.config.topic_keys import TOPIC_DEFAULT_KEYS
from kcore.errors import KafkaError
from kcore.logger import get_logger
from kcore.metadata.image import BROKER_RESOURCE, GROUP_METADATA_TOPIC, TOPIC_RESOURCE, MetadataImage
from kcore.storage.log_dirs import LogShortageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kcore.config.broker import BrokerConfig
    from kcore.coordinator.group.coordinator import GroupCoordinator
    from kcore.metadata.image import MetadataDelta, PartitionState, TopicImage
    from kcore.replication.partition import Partition
    from kcore.replication.replica_manager import ReplicaManager
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log_manager import LogManager
    from kcore.storage.scheduler import ScheduledTask, Scheduler

LOG = get_logger("kcore.server.metadata")

FINISH_DELAY_MS = 1000


class MetadataPublisher:
    """Subscribe `publish` to the metadata cache. The first call has the state at startup."""

    __slots__ = (
        "_broker_id",
        "_config",
        "_finish",
        "_finish_deletions",
        "_finished_deletions",
        "_groups",
        "_image",
        "_lock",
        "_logs",
        "_replicas",
        "_retry",
        "_scheduler",
        "_started",
        "_without_log",
    )

    def __init__(
        self,
        broker_id: int,
        config: BrokerConfig,
        logs: LogManager,
        replicas: ReplicaManager,
        groups: GroupCoordinator,
        scheduler: Scheduler,
        finish_deletions: Callable[[Collection[bytes]], None],
    ) -> None:
        self._broker_id = broker_id
        self._config = config
        self._logs = logs
        self._replicas = replicas
        self._groups = groups
        self._scheduler = scheduler
        self._started = False
        self._image = MetadataImage()
        self._lock = RLock()
        # Led partitions whose log could not be created yet, and whether they are new.
        self._without_log: dict[TopicPartition, bool] = {}
        self._retry: ScheduledTask | None = None
        # Ids of deleted topics whose directories are gone for good: the controller can forget them.
        self._finished_deletions: set[bytes] = set()
        self._finish_deletions = finish_deletions
        self._finish: ScheduledTask | None = None
        config.on_change(TOPIC_DEFAULT_KEYS, self._reconfigure_all)

    def publish(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Applies a change. Deletions come before creations: one change may delete and re-create a topic."""
        with self._lock:
            self._publish(image, delta)

    def _publish(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self._image = image
        if any(change.resource_type == BROKER_RESOURCE for change in delta.configs_changed):
            self._config.update_dynamic(image.cluster_configs(), image.broker_configs(self._broker_id))
        minimums: dict[str, int] = {}
        if delta.topics_deleted:
            self._delete(delta.topics_deleted)
        for state in delta.created_partitions():
            self._take(image, state, minimums, is_new=self._started)
        for state in delta.changed_partitions():
            self._take(image, state, minimums, is_new=False)
        self._reconfigure(
            image, [change.name for change in delta.configs_changed if change.resource_type == TOPIC_RESOURCE]
        )
        if self._started:
            log_changes(delta)
        self._started = True

    def _take(self, image: MetadataImage, state: PartitionState, minimums: dict[str, int], *, is_new: bool) -> None:
        """Opens and leads a partition if the metadata says so. `minimums` caches min.insync.replicas by topic."""
        if self._broker_id not in state.replicas:
            self._without_log.pop((state.topic, state.partition), None)
            return
        if state.leader != self._broker_id:
            self._give_up(state)
            return
        topic = image.topics[state.topic]
        overrides = image.topic_configs(state.topic)
        key = state.topic, state.partition
        is_new = is_new or self._without_log.get(key, False)
        try:
            partition = self._replicas.partition(*key)
            if partition is None:
                log = self._logs.get_or_create_log(*key, topic.topic_id, overrides, is_new=is_new)
                self._without_log.pop(key, None)
                partition = self._replicas.add(*key, topic.topic_id, log, topic.is_internal)
            led_before = partition.leader_id == self._broker_id
            if state.topic not in minimums:
                minimums[state.topic] = TopicConfig(self._config, overrides).number("min.insync.replicas")
            partition.make_leader(state.leader_epoch, list(state.replicas), list(state.isr), minimums[state.topic])
            if state.topic == GROUP_METADATA_TOPIC and not led_before:
                self._coordinate(partition, len(topic.partitions))
        except LogShortageError as error:
            if key not in self._without_log:
                LOG.error("Partition %s-%d is offline until its log can be created: %s", *key, error)
                self._without_log[key] = is_new
                self._try_again_later()
        except (OSError, KafkaError) as error:
            self._without_log.pop(key, None)
            LOG.error("Partition %s-%d is offline: %s", *key, error)

    def _try_again_later(self) -> None:
        if self._retry is None:
            delay_ms = self._config.number("replica.high.watermark.checkpoint.interval.ms")
            self._retry = self._scheduler.schedule("make-missing-logs", self._make_missing_logs, delay_ms)

    def _make_missing_logs(self) -> None:
        """Retries in the order of the failures. If one fails again, the others would too."""
        with self._lock:
            self._retry = None
            minimums: dict[str, int] = {}
            for key in tuple(self._without_log):
                # Partitions that were deleted or lost their leadership have been removed from the table.
                self._take(self._image, self._image.topics[key[0]].partitions[key[1]], minimums, is_new=False)
                if key in self._without_log:
                    self._try_again_later()
                    return
                if self._replicas.partition(*key) is not None:
                    LOG.info("Partition %s-%d is online: its log was created", *key)

    def _give_up(self, state: PartitionState) -> None:
        """Closes a partition that was deleted, is led by another broker, or is in a failed directory."""
        self._without_log.pop((state.topic, state.partition), None)
        self._replicas.remove(state.topic, state.partition)
        if state.topic == GROUP_METADATA_TOPIC:
            self._groups.unload(state.partition)

    def _coordinate(self, partition: Partition, partition_count: int) -> None:
        """Loads the groups of a partition of `__consumer_offsets`: at once if it is empty, else in the background."""
        self._groups.announce(partition.index, partition_count)
        if partition.log.end_offset == partition.log.start_offset:
            self._groups.load(partition)
        else:
            self._scheduler.schedule(f"load-offsets-{partition.index}", lambda: self._groups.load(partition))

    def _delete(self, topics: Iterable[TopicImage]) -> None:
        """Deletes the topics of one change together, which pays the fixed costs once."""
        held = [state for topic in topics for state in topic.partitions if self._broker_id in state.replicas]
        for state in held:
            self._give_up(state)
        names = frozenset(topic.name for topic in topics)
        self._scheduler.schedule("forget-offsets", self._groups.forgetting(names))
        if self._logs.delete_logs([(state.topic, state.partition) for state in held]):
            self._finish_later(topic.topic_id for topic in topics)

    def _finish_later(self, topic_ids: Iterable[bytes]) -> None:
        """Reports all topics deleted within a second in one metadata change, after the clients were answered."""
        self._finished_deletions.update(topic_ids)
        if self._finish is None:
            self._finish = self._scheduler.schedule("finish-deletions", self._forget_finished, FINISH_DELAY_MS)

    def _forget_finished(self) -> None:
        """Calls the controller without `_lock`, since its locks come first. A failed write is retried next time."""
        with self._lock:
            self._finish = None
            finished = frozenset(self._finished_deletions)
        self._finish_deletions(finished)
        with self._lock:
            self._finished_deletions -= finished

    def _reconfigure_all(self) -> None:
        self._reconfigure(self._image, self._image.topics)

    def _reconfigure(self, image: MetadataImage, names: Iterable[str]) -> None:
        """Applies the configurations of topics in one pass over the logs."""
        overrides = {name: image.topic_configs(name) for name in names if name in image.topics}
        if not overrides:
            return
        self._logs.update_topic_configs(overrides)
        default = TopicConfig(self._config)
        for name, own in overrides.items():
            minimum = (TopicConfig(self._config, own) if own else default).number("min.insync.replicas")
            for state in image.topics[name].partitions:
                partition = self._replicas.partition(name, state.partition)
                if partition is not None:
                    partition.set_min_in_sync(minimum)


def log_changes(delta: MetadataDelta) -> None:
    """Logs one line per topic that was created, deleted or extended, regardless of the number of partitions."""
    for topic in delta.topics_deleted:
        LOG.info("Deleted topic %s with %d partitions", topic.name, len(topic.partitions))
    for topic in delta.topics_created:
        LOG.info("Created topic %s with %d partitions", topic.name, len(topic.partitions))
    added: dict[str, int] = {}
    for state in delta.partitions_added:
        added[state.topic] = added.get(state.topic, 0) + 1
    for name, count in added.items():
        LOG.info("Added %d partitions to topic %s", count, name)
