"""The controller: the only component that changes topics, leaders and ISRs (Kafka's `QuorumController`).

It plans changes with pure functions, and writes each one to the `MetadataStore` as a transaction with its controller
epoch. Brokers learn of changes through the store's subscription. The controller's only own state is the epoch, so a
crash loses nothing that was answered.

Concurrency: called by several handler threads. Its lock is held from reading the image to the commit. It is never taken
under a lock of the data plane.
"""

from __future__ import annotations

from threading import RLock

from kcore import errors
from kcore.config.definition import ConfigException
from kcore.config.topic import TopicConfig, parse_overrides, validate_overrides
from kcore.config.topic_keys import TOPIC_KEYS
from kcore.controller.features import SUPPORTED_FEATURES, check_finalized, check_name, check_update, first_levels
from kcore.controller.internal_topics import internal_topic
from kcore.controller.leader_election import elect_leader, elect_preferred, elect_unclean, with_isr
from kcore.controller.new_topic import NewTopic, TopicResult
from kcore.controller.topic_name import TopicNames
from kcore.controller.topic_plan import (
    EXCESSIVE_PARTITIONS,
    MAX_PARTITIONS_PER_REQUEST,
    plan_partitions,
    plan_topic,
    planned_partitions,
)
from kcore.errors import KafkaError
from kcore.logger import WARN, get_logger
from kcore.metadata.image import INTERNAL_TOPICS, TOPIC_RESOURCE
from kcore.metadata.quota_entity import IP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kcore.config.broker import BrokerConfig
    from kcore.controller.features import FeatureUpdate
    from kcore.controller.metadata_store import MetadataStore
    from kcore.controller.new_topic import NewPartitions
    from kcore.controller.quota_plan import QuotaAlteration
    from kcore.metadata.image import BrokerRegistration, MetadataImage, PartitionState, TopicImage
    from kcore.metadata.quota_entity import QuotaEntity

    # Called with the number of partitions of each topic before anything changes. Raises the error of the topic.
    ApplyQuota = Callable[[int], None]
    ConfigValidator = Callable[[Mapping[str, str]], object]

LOG = get_logger("kcore.controller")
UNUSED = "Topic configurations without effect in this version"
UNCOMPACTED = "Logs are not compacted in this version. All records are kept of the topics with cleanup.policy=compact"


def unlimited(partitions: int) -> None:
    """The quota of clients without a limit: does nothing."""


class Controller:
    """The controller of a cluster.

    `validate_configs` raises ConfigException for invalid overrides of a topic. `supported_features` has the lowest and
    highest level that this controller supports for each feature.
    """

    __slots__ = ("_config", "_epoch", "_lock", "_store", "_validate_configs", "supported_features")

    def __init__(
        self,
        store: MetadataStore,
        config: BrokerConfig,
        validate_configs: ConfigValidator = validate_overrides,
        supported_features: Mapping[str, tuple[int, int]] = SUPPORTED_FEATURES,
    ) -> None:
        self._store = store
        self._config = config
        self._validate_configs = validate_configs
        self._epoch = -1
        self._lock = RLock()
        self.supported_features = supported_features

    @property
    def epoch(self) -> int:
        """The controller epoch, -1 before `start`."""
        return self._epoch

    @property
    def image(self) -> MetadataImage:
        """The newest committed metadata."""
        return self._store.image

    def start(self, broker_id: int) -> None:
        """Makes this the active controller on a broker, and fences the previous one."""
        with self._lock:
            self._epoch = self._store.claim_controller(broker_id)
            topics = {name: self.image.topic_configs(name) for name in self.image.topics}
        _warn_of_compaction(topics)

    # Brokers and leaders

    def register_broker(self, registration: BrokerRegistration) -> BrokerRegistration:
        """Registers a started broker, and elects it for partitions without a live leader. The result has its epoch.

        Partitions that it led before get a new leader epoch as well. Raises UnsupportedVersionError if the broker does
        not support a finalized feature level.
        """
        with self._lock:
            check_finalized(self.image.features.items(), registration)
            registered = self._store.register_broker(registration)
            broker_id = registered.broker_id
            alive = self.image.brokers
            self._elect(
                (
                    state
                    for state in self.image.partitions()
                    if broker_id in state.replicas and (state.leader == broker_id or state.leader not in alive)
                ),
                alive,
            )
            return registered

    def unregister_broker(self, broker_id: int, broker_epoch: int) -> None:
        """Unregisters a stopping broker, after electing other leaders where possible.

        A partition without another in-sync replica keeps its leader in the metadata: it will lead again.
        """
        with self._lock:
            alive = frozenset(self.image.brokers) - {broker_id}
            self._elect(
                (
                    state
                    for state in self.image.partitions()
                    if broker_id in state.isr and any(replica in alive for replica in state.isr)
                ),
                alive,
            )
            self._store.unregister_broker(broker_id, broker_epoch)

    def fail_partitions(self, broker_id: int, partitions: Iterable[tuple[str, int]]) -> None:
        """Elects other leaders, or none, for partitions whose log directory failed on a broker."""
        with self._lock:
            image = self.image
            states = (image.partition(topic, partition) for topic, partition in partitions)
            led = (state for state in states if state is not None and state.leader == broker_id)
            self._elect(led, frozenset(image.brokers) - {broker_id})

    def _elect(self, states: Iterable[PartitionState], alive: Collection[int]) -> None:
        changed = [elect_leader(state, alive, self._allows_unclean_election(state.topic)) for state in states]
        if changed:
            self._store.update_partition_states(self._epoch, changed)

    def _allows_unclean_election(self, topic: str) -> bool:
        override = self.image.topic_configs(topic).get("unclean.leader.election.enable")
        if override is None:
            return self._config.flag("unclean.leader.election.enable")
        return bool(parse_overrides({"unclean.leader.election.enable": override})["unclean.leader.election.enable"])

    def elect_leader(self, topic: str, partition: int, *, unclean: bool = False) -> None:
        """Elects the preferred replica, or with `unclean` any live replica for a partition without a leader.

        An unclean leader may lack records. Raises ElectionNotNeededError if there is nothing to elect.
        """
        with self._lock:
            found = self.image.topics.get(topic)
            if found is None:
                raise errors.UnknownTopicOrPartitionError(f"No such topic as {topic}")
            state = self.image.partition(topic, partition)
            if state is None:
                raise errors.UnknownTopicOrPartitionError(f"No such partition as {topic}-{partition}")
            elect = elect_unclean if unclean else elect_preferred
            self._store.update_partition_states(self._epoch, (elect(state, self.image.brokers),))

    def reassign_partition(self, topic: str, partition: int, replicas: Sequence[int] | None) -> None:
        """Changes the replicas of a partition, if possible at once. None cancels a reassignment in progress."""
        from kcore.controller.reassignment import reassign

        with self._lock:
            if topic not in self.image.topics:
                raise errors.UnknownTopicOrPartitionError(f"Unable to find a topic named {topic}.")
            state = self.image.partition(topic, partition)
            if state is None:
                raise errors.UnknownTopicOrPartitionError(f"Unable to find partition {topic}:{partition}.")
            if replicas is None:
                raise errors.NoReassignmentInProgressError()
            changed = reassign(state, replicas, self.image.brokers)
            if changed is not None:
                self._store.update_partition_states(self._epoch, (changed,))

    def alter_partition(
        self,
        broker_id: int,
        topic: str,
        partition: int,
        *,
        leader_epoch: int,
        partition_epoch: int,
        isr: Sequence[int],
    ) -> PartitionState:
        """Changes the ISR as its leader requests (AlterPartition, KIP-497). Returns the new state."""
        with self._lock:
            state = self.image.partition(topic, partition)
            if state is None:
                raise errors.UnknownTopicOrPartitionError()
            if leader_epoch < state.leader_epoch:
                raise errors.FencedLeaderEpochError()
            if leader_epoch > state.leader_epoch:
                raise errors.NotControllerError()
            if partition_epoch != state.partition_epoch:
                raise errors.InvalidUpdateVersionError()
            if state.leader != broker_id or broker_id not in isr or not set(isr) <= set(state.replicas):
                raise errors.InvalidRequestError(
                    f"Broker {broker_id} may not set the ISR of {topic}-{partition} to {list(isr)}: it must lead the "
                    "partition, be in the ISR itself, and name replicas only."
                )
            if any(replica not in self.image.brokers for replica in isr):
                raise errors.IneligibleReplicaError()
            changed = with_isr(state, isr)
            self._store.update_partition_states(self._epoch, (changed,))
            return changed

    # Topics

    def create_topics(
        self, topics: Iterable[NewTopic], validate_only: bool = False, apply_quota: ApplyQuota = unlimited
    ) -> list[TopicResult]:
        """Creates the topics of a request in one transaction. Duplicate names are refused.

        The transaction needs one copy of the image and one sync for any number of topics. It omits refused topics.
        """
        requested = list(topics)
        counts: dict[str, int] = {}
        for new in requested:
            counts[new.name] = counts.get(new.name, 0) + 1
        duplicate = errors.InvalidRequestError("Duplicate topic name.")
        refused = [TopicResult(name, error=duplicate) for name, count in counts.items() if count > 1]
        with self._lock:
            if sum(planned_partitions(new, self._config) for new in requested) > MAX_PARTITIONS_PER_REQUEST:
                excess = errors.PolicyViolationError(EXCESSIVE_PARTITIONS)
                return [TopicResult(name, error=excess) for name in counts]
            names = TopicNames(self.image.topics)
            planned = [self._plan_topic(new, names, apply_quota) for new in requested if counts[new.name] == 1]
            if not validate_only:
                planned = self._commit_topics(planned)
        return [result for result, _ in planned] + refused

    def _plan_topic(
        self, new: NewTopic, names: TopicNames, apply_quota: ApplyQuota
    ) -> tuple[TopicResult, Mapping[str, str]]:
        """The planned topic and its overrides, or its error. The caller holds the lock."""
        try:
            names.check(new.name)
            configs = self._checked_configs(new.configs)
            topic = plan_topic(new, self.image, self._config)
            apply_quota(len(topic.partitions))
        except KafkaError as error:
            return TopicResult(new.name, error=error), {}
        names.add(new.name)
        return TopicResult(new.name, topic), configs

    def _commit_topics(
        self, planned: list[tuple[TopicResult, Mapping[str, str]]]
    ) -> list[tuple[TopicResult, Mapping[str, str]]]:
        """Writes the planned topics. Returns their results. The caller holds the lock."""
        accepted = [(result.topic, configs) for result, configs in planned if result.topic is not None]
        try:
            if accepted:
                self._store.create_topics(self._epoch, accepted)
                _warn_of_compaction({topic.name: configs for topic, configs in accepted})
        except KafkaError as error:
            return [(TopicResult(result.name, error=result.error or error), configs) for result, configs in planned]
        return planned

    def auto_create_topics(self, names: Iterable[str], apply_quota: ApplyQuota = unlimited) -> list[TopicResult]:
        """Creates topics on first use: internal ones with required settings, others with the broker's defaults."""
        topics = (internal_topic(name, self._config) or NewTopic(name) for name in names)
        return self.create_topics(topics, apply_quota=apply_quota)

    def create_partitions(
        self, additions: Iterable[NewPartitions], validate_only: bool = False, apply_quota: ApplyQuota = unlimited
    ) -> list[TopicResult]:
        """Adds partitions to topics, one transaction per topic, up to MAX_PARTITIONS_PER_REQUEST altogether."""
        left = MAX_PARTITIONS_PER_REQUEST
        results = []
        for new in additions:
            try:
                # The number of new partitions depends on the current one, so one lock covers the plan and the commit.
                with self._lock:
                    states = plan_partitions(new, self.image, left)
                    left -= len(states)
                    apply_quota(len(states))
                    if not validate_only:
                        self._store.add_partitions(self._epoch, states)
                    results.append(TopicResult(new.name, self.image.topics[new.name]))
            except KafkaError as error:
                results.append(TopicResult(new.name, error=error))
        return results

    def delete_topics(
        self, names: Iterable[str] = (), topic_ids: Iterable[bytes] = (), apply_quota: ApplyQuota = unlimited
    ) -> list[TopicResult]:
        """Deletes topics by name or id in one transaction. Results are in the order of names, then ids."""
        with self._lock:
            image = self.image
            wanted: list[tuple[str, TopicImage | None, type[KafkaError]]] = [
                (name, image.topics.get(name), errors.UnknownTopicOrPartitionError) for name in names
            ]
            wanted += [("", image.topics_by_id.get(topic_id), errors.UnknownTopicIdError) for topic_id in topic_ids]
            deleted: dict[bytes, TopicImage] = {}
            results = [self._plan_deletion(*each, deleted, apply_quota) for each in wanted]
            try:
                if deleted:
                    self._store.delete_topics(self._epoch, deleted)
            except KafkaError as error:
                return [TopicResult(result.name, result.topic, result.error or error) for result in results]
        return results

    def _plan_deletion(
        self,
        name: str,
        topic: TopicImage | None,
        missing: type[KafkaError],
        deleted: dict[bytes, TopicImage],
        apply_quota: ApplyQuota,
    ) -> TopicResult:
        """Adds a topic to `deleted`, or returns its error. The caller holds the lock."""
        try:
            if not self._config.flag("delete.topic.enable"):
                raise errors.TopicDeletionDisabledError()
            if topic is None or topic.topic_id in deleted:
                raise missing()
            apply_quota(len(topic.partitions))
        except KafkaError as error:
            return TopicResult(name, topic, error)
        deleted[topic.topic_id] = topic
        return TopicResult(topic.name, topic)

    def change_configs(
        self,
        resource_type: int,
        name: str,
        change: Callable[[Mapping[str, str]], Mapping[str, str]],
        validate_only: bool = False,
    ) -> None:
        """Replaces all overrides of a resource by the result of `change`, which raises KafkaError for invalid changes.

        The lock is held from reading the current overrides to the commit.
        """
        with self._lock:
            if resource_type == TOPIC_RESOURCE and name not in self.image.topics:
                raise errors.UnknownTopicOrPartitionError(f"The topic '{name}' does not exist.")
            current = self.image.configs.get((resource_type, name), {})
            overrides = change(current)
            if resource_type == TOPIC_RESOURCE:
                self._check_configs(overrides)
            if not validate_only and overrides != current:
                self._store.set_configs(self._epoch, resource_type, name, overrides)
                if resource_type == TOPIC_RESOURCE:
                    _warn_of_compaction({name: overrides})

    def topic_config(self, topic: str) -> TopicConfig:
        """The effective configuration of a topic: its overrides and the broker's defaults."""
        return TopicConfig(self._config, self.image.topic_configs(topic))

    def _checked_configs(self, overrides: Mapping[str, str | None]) -> dict[str, str]:
        missing = [name for name, value in overrides.items() if value is None]
        if missing:
            raise errors.InvalidConfigError(f"Null value not supported for topic configs: {','.join(missing)}")
        configs = {name: value for name, value in overrides.items() if value is not None}
        self._check_configs(configs)
        return configs

    def _check_configs(self, overrides: Mapping[str, str]) -> None:
        try:
            self._validate_configs(overrides)
        except ConfigException as error:
            raise errors.InvalidConfigError(str(error)) from error
        unused = [name for name in overrides if name in TOPIC_KEYS and not TOPIC_KEYS[name].is_used]
        if unused:
            LOG.limited(WARN, "any", UNUSED, "%s: %s", UNUSED, ", ".join(unused))

    def finish_deletions(self, topic_ids: Collection[bytes] | None = None) -> None:
        """Removes the records of deleted topics whose files are gone. None means all deleted topics."""
        with self._lock:
            deleted = self._store.deleted_topic_ids()
            topic_ids = deleted if topic_ids is None else deleted.intersection(topic_ids)
            if topic_ids:
                self._store.forget_deleted_topics(self._epoch, topic_ids)

    # Client quotas

    def alter_client_quotas(
        self, alterations: Iterable[QuotaAlteration], validate_only: bool = False
    ) -> dict[QuotaEntity, KafkaError | None]:
        """Sets and removes quotas, one transaction per entity. Returns each entity's error, or None.

        As in Kafka, an entity that is listed twice is altered by its first entry, and its result is an error.
        """
        from kcore.controller.quota_plan import duplicate_entity

        results: dict[QuotaEntity, KafkaError | None] = {}
        for alteration in alterations:
            entity = alteration.entity
            if entity in results:
                results[entity] = duplicate_entity(entity)
            else:
                results[entity] = self._alter_client_quotas(entity, alteration, validate_only)
        return results

    def _alter_client_quotas(
        self, entity: QuotaEntity, alteration: QuotaAlteration, validate_only: bool
    ) -> KafkaError | None:
        from kcore.controller.quota_plan import plan_quotas, resolves

        # Outside the lock: resolving a name may take seconds.
        found = {name: resolves(name) for kind, name in entity.parts if kind == IP and name}
        try:
            with self._lock:
                current = self.image.client_quotas.get(entity, {})
                planned = plan_quotas(alteration, current, found.__getitem__)
                if planned != current and not validate_only:
                    self._store.set_client_quotas(self._epoch, entity, planned)
            return None
        except KafkaError as error:
            return error

    # Features

    def finalize_first_levels(self) -> None:
        """Finalizes the initial feature levels of a cluster in which no feature was ever finalized."""
        with self._lock:
            for name, level in first_levels(self.image, self.supported_features):
                self._store.set_features(self._epoch, {name: level})

    def update_features(
        self, updates: Iterable[FeatureUpdate], validate_only: bool = False
    ) -> dict[str, KafkaError | None]:
        """Finalizes feature levels, one transaction per feature. Returns each feature's error, or None."""
        results: dict[str, KafkaError | None] = {}
        with self._lock:
            for update in updates:
                try:
                    check_update(update, self.image, self.image.controller_id, self.supported_features)
                    self._finalize([update], validate_only)
                    results[update.name] = None
                except KafkaError as error:
                    results[update.name] = error
        return results

    def update_all_features(self, updates: Collection[FeatureUpdate], validate_only: bool = False) -> None:
        """Finalizes feature levels, all or none. Raises the first error, with Kafka 4's message."""
        with self._lock:
            for update in updates:
                check_update(update, self.image, self.image.controller_id, self.supported_features)
                check_name(update, self.supported_features)
            self._finalize(updates, validate_only)

    def _finalize(self, updates: Iterable[FeatureUpdate], validate_only: bool) -> None:
        """Writes checked updates. The caller has held the lock since the check."""
        current = self.image.features
        levels = {update.name: update.level for update in updates if update.level != current.get(update.name, 0)}
        if levels and not validate_only:
            self._store.set_features(self._epoch, levels)

    # Producer ids

    def allocate_producer_ids(self) -> range:
        """Allocates a block of producer ids (KIP-730)."""
        return self._store.allocate_producer_ids(self._epoch)


def _warn_of_compaction(topics: Mapping[str, Mapping[str, str]]) -> None:
    """Logs the topics whose overrides ask for compaction; internal topics always do."""
    names = [
        name
        for name, configs in topics.items()
        if name not in INTERNAL_TOPICS and "compact" in configs.get("cleanup.policy", "").replace(" ", "").split(",")
    ]
    if names:
        LOG.limited(WARN, "any", UNCOMPACTED, "%s: %s", UNCOMPACTED, ", ".join(sorted(names)))
