"""The cluster's metadata as immutable values: brokers, topics, partitions, configurations (Kafka's `MetadataImage`).

Concurrency: nothing here changes once it is made. A `MetadataDelta` says what one transaction did, and
`MetadataImage.apply` answers a new image, so that a reader keeps a consistent picture for as long as it holds one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Self

    from kcore.metadata.quota_entity import QuotaEntity

NO_LEADER = -1
# The epoch of a partition that has just been made (Kafka's `LeaderAndIsr`).
INITIAL_LEADER_EPOCH = 0
INITIAL_PARTITION_EPOCH = 0

# Kafka's `ConfigResource.Type`; the resource of a broker is named by its id, that of all brokers by the empty string.
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4
CLIENT_METRICS_RESOURCE = 16
GROUP_RESOURCE = 32

GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset((GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC))


class Value:
    """Equality, hash and text by the fields that `__slots__` names; `replace` makes a changed copy."""

    __slots__: tuple[str, ...] = ()

    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def replace(self, **changes: object) -> Self:
        """The same value with some fields changed."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return type(self)(**{**fields, **changes})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class Endpoint(Value):
    """Where one listener of a broker is reached."""

    __slots__ = ("host", "listener", "port", "security_protocol")

    def __init__(self, listener: str, host: str, port: int, security_protocol: str = "PLAINTEXT") -> None:
        self.listener = listener
        self.host = host
        self.port = port
        self.security_protocol = security_protocol


class BrokerRegistration(Value):
    """A broker that is alive. `broker_epoch` is given by the store and differs for every registration.

    `features` are name, lowest and highest level of each feature that its software can work with.
    """

    __slots__ = ("broker_epoch", "broker_id", "endpoints", "features", "rack")

    def __init__(
        self,
        broker_id: int,
        endpoints: Iterable[Endpoint] = (),
        rack: str | None = None,
        broker_epoch: int = -1,
        features: Iterable[tuple[str, int, int]] = (),
    ) -> None:
        self.broker_id = broker_id
        self.endpoints = tuple(endpoints)
        self.rack = rack
        self.broker_epoch = broker_epoch
        self.features = tuple(features)

    def endpoint(self, listener: str) -> Endpoint | None:
        """The endpoint of a listener by name."""
        return next((endpoint for endpoint in self.endpoints if endpoint.listener == listener), None)


class PartitionState(Value):
    """Who holds and who leads a partition (Kafka's `PartitionRegistration`).

    `leader_epoch` grows with every new leader, `partition_epoch` with every change at all.
    """

    __slots__ = ("isr", "leader", "leader_epoch", "partition", "partition_epoch", "replicas", "topic")

    def __init__(
        self,
        topic: str,
        partition: int,
        replicas: Iterable[int],
        isr: Iterable[int],
        leader: int,
        leader_epoch: int = INITIAL_LEADER_EPOCH,
        partition_epoch: int = INITIAL_PARTITION_EPOCH,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.replicas = tuple(replicas)
        self.isr = tuple(isr)
        self.leader = leader
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch


class TopicImage(Value):
    """A topic and its partitions, numbered from 0 without gaps."""

    __slots__ = ("name", "partitions", "topic_id")

    def __init__(self, name: str, topic_id: bytes, partitions: Iterable[PartitionState]) -> None:
        self.name = name
        self.topic_id = topic_id
        self.partitions = tuple(partitions)

    @property
    def is_internal(self) -> bool:
        """Whether clients hide the topic from a subscription by pattern."""
        return self.name in INTERNAL_TOPICS

    @property
    def replication_factor(self) -> int:
        """The number of replicas of its first partition, as Kafka answers it."""
        return len(self.partitions[0].replicas)

    def with_partitions(self, states: Iterable[PartitionState]) -> TopicImage:
        """The topic with some partitions replaced, or added at the end."""
        partitions = dict(enumerate(self.partitions))
        partitions.update((state.partition, state) for state in states)
        return TopicImage(self.name, self.topic_id, (partitions[index] for index in range(len(partitions))))


class ConfigChange(Value):
    """All overrides that a resource has now; none means that the last one is gone."""

    __slots__ = ("name", "overrides", "resource_type")

    def __init__(self, resource_type: int, name: str, overrides: Mapping[str, str]) -> None:
        self.resource_type = resource_type
        self.name = name
        self.overrides = dict(overrides)

    def __hash__(self) -> int:
        return hash((self.resource_type, self.name, frozenset(self.overrides.items())))


class QuotaChange(Value):
    """All quotas that an entity has now; none means that the last one is gone."""

    __slots__ = ("entity", "quotas")

    def __init__(self, entity: QuotaEntity, quotas: Mapping[str, float]) -> None:
        self.entity = entity
        self.quotas = dict(quotas)

    def __hash__(self) -> int:
        return hash((self.entity, frozenset(self.quotas.items())))


class FeatureChange(Value):
    """The level at which a feature is finalized now; 0 means that it is not, as at the beginning (KIP-584)."""

    __slots__ = ("level", "name")

    def __init__(self, name: str, level: int) -> None:
        self.name = name
        self.level = level


class MetadataDelta(Value):
    """What one transaction changed. `created_partitions` and its two siblings say it per partition."""

    __slots__ = (
        "brokers_registered",
        "brokers_unregistered",
        "configs_changed",
        "controller_id",
        "features_changed",
        "features_epoch",
        "partitions_added",
        "partitions_changed",
        "quotas_changed",
        "topics_created",
        "topics_deleted",
    )

    def __init__(
        self,
        *,
        topics_created: Iterable[TopicImage] = (),
        topics_deleted: Iterable[TopicImage] = (),
        partitions_added: Iterable[PartitionState] = (),
        partitions_changed: Iterable[PartitionState] = (),
        configs_changed: Iterable[ConfigChange] = (),
        brokers_registered: Iterable[BrokerRegistration] = (),
        brokers_unregistered: Iterable[int] = (),
        quotas_changed: Iterable[QuotaChange] = (),
        controller_id: int | None = None,
        features_changed: Iterable[FeatureChange] = (),
        features_epoch: int | None = None,
    ) -> None:
        self.topics_created = tuple(topics_created)
        self.topics_deleted = tuple(topics_deleted)
        self.partitions_added = tuple(partitions_added)
        self.partitions_changed = tuple(partitions_changed)
        self.configs_changed = tuple(configs_changed)
        self.brokers_registered = tuple(brokers_registered)
        self.brokers_unregistered = tuple(brokers_unregistered)
        self.quotas_changed = tuple(quotas_changed)
        self.controller_id = controller_id
        self.features_changed = tuple(features_changed)
        self.features_epoch = features_epoch

    def created_partitions(self) -> Iterator[PartitionState]:
        """Partitions that did not exist before: those of new topics, and those added to old ones."""
        for topic in self.topics_created:
            yield from topic.partitions
        yield from self.partitions_added

    def deleted_partitions(self) -> Iterator[PartitionState]:
        """Partitions that are gone with their topic."""
        for topic in self.topics_deleted:
            yield from topic.partitions

    def changed_partitions(self) -> Iterator[PartitionState]:
        """The new states of partitions that existed before."""
        yield from self.partitions_changed


class MetadataImage(Value):
    """The whole cluster at one moment; `topics_by_id` and `topics` hold the same topics.

    `features` are the finalized levels above 0 by name; `features_epoch` grows with every change of them.
    """

    __slots__ = (
        "brokers",
        "client_quotas",
        "cluster_id",
        "configs",
        "controller_id",
        "features",
        "features_epoch",
        "topics",
        "topics_by_id",
    )

    def __init__(
        self,
        cluster_id: str = "",
        controller_id: int = -1,
        brokers: Mapping[int, BrokerRegistration] | None = None,
        topics: Mapping[str, TopicImage] | None = None,
        configs: Mapping[tuple[int, str], Mapping[str, str]] | None = None,
        topics_by_id: Mapping[bytes, TopicImage] | None = None,
        client_quotas: Mapping[QuotaEntity, Mapping[str, float]] | None = None,
        features: Mapping[str, int] | None = None,
        features_epoch: int = 0,
    ) -> None:
        self.cluster_id = cluster_id
        self.controller_id = controller_id
        self.brokers: Mapping[int, BrokerRegistration] = brokers if brokers is not None else {}
        self.topics: Mapping[str, TopicImage] = topics if topics is not None else {}
        self.configs: Mapping[tuple[int, str], Mapping[str, str]] = configs if configs is not None else {}
        if topics_by_id is None:
            topics_by_id = {topic.topic_id: topic for topic in self.topics.values()}
        self.topics_by_id: Mapping[bytes, TopicImage] = topics_by_id
        self.client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = client_quotas or {}
        self.features: Mapping[str, int] = features or {}
        self.features_epoch = features_epoch

    def __hash__(self) -> int:
        raise TypeError("an image is compared, not hashed")

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """The state of a partition, None when there is none such."""
        image = self.topics.get(topic)
        if image is None or not 0 <= partition < len(image.partitions):
            return None
        return image.partitions[partition]

    def partitions(self) -> Iterator[PartitionState]:
        """Every partition of every topic."""
        for topic in self.topics.values():
            yield from topic.partitions

    def topic_configs(self, topic: str) -> Mapping[str, str]:
        """The overrides of a topic."""
        return self.configs.get((TOPIC_RESOURCE, topic), {})

    def broker_configs(self, broker_id: int) -> Mapping[str, str]:
        """What was configured at run time for one broker."""
        return self.configs.get((BROKER_RESOURCE, str(broker_id)), {})

    def cluster_configs(self) -> Mapping[str, str]:
        """What was configured at run time for all brokers."""
        return self.configs.get((BROKER_RESOURCE, ""), {})

    def as_delta(self) -> MetadataDelta:
        """The change from an empty image to this one, with which a new subscriber begins."""
        return MetadataDelta(
            topics_created=self.topics.values(),
            configs_changed=(ConfigChange(kind, name, overrides) for (kind, name), overrides in self.configs.items()),
            brokers_registered=self.brokers.values(),
            quotas_changed=(QuotaChange(entity, quotas) for entity, quotas in self.client_quotas.items()),
            controller_id=self.controller_id,
            features_changed=(FeatureChange(name, level) for name, level in self.features.items()),
            features_epoch=self.features_epoch,
        )

    def apply(self, delta: MetadataDelta) -> MetadataImage:
        """The image after a change."""
        topics, topics_by_id = self._apply_topics(delta)
        return MetadataImage(
            self.cluster_id,
            self.controller_id if delta.controller_id is None else delta.controller_id,
            self._apply_brokers(delta),
            topics,
            self._apply_configs(delta),
            topics_by_id,
            self._apply_quotas(delta),
            self._apply_features(delta),
            self.features_epoch if delta.features_epoch is None else delta.features_epoch,
        )

    def _apply_topics(self, delta: MetadataDelta) -> tuple[Mapping[str, TopicImage], Mapping[bytes, TopicImage]]:
        states: dict[str, list[PartitionState]] = {}
        for state in (*delta.partitions_added, *delta.partitions_changed):
            states.setdefault(state.topic, []).append(state)
        if not (delta.topics_created or delta.topics_deleted or states):
            return self.topics, self.topics_by_id
        topics, topics_by_id = dict(self.topics), dict(self.topics_by_id)
        for topic in delta.topics_deleted:
            del topics[topic.name], topics_by_id[topic.topic_id]
        changed = [topics[name].with_partitions(new_states) for name, new_states in states.items()]
        for topic in (*delta.topics_created, *changed):
            topics[topic.name] = topics_by_id[topic.topic_id] = topic
        return topics, topics_by_id

    def _apply_brokers(self, delta: MetadataDelta) -> Mapping[int, BrokerRegistration]:
        if not (delta.brokers_registered or delta.brokers_unregistered):
            return self.brokers
        brokers = {key: broker for key, broker in self.brokers.items() if key not in delta.brokers_unregistered}
        brokers.update((broker.broker_id, broker) for broker in delta.brokers_registered)
        return brokers

    def _apply_configs(self, delta: MetadataDelta) -> Mapping[tuple[int, str], Mapping[str, str]]:
        if not (delta.configs_changed or delta.topics_deleted):
            return self.configs
        configs = dict(self.configs)
        for topic in delta.topics_deleted:
            configs.pop((TOPIC_RESOURCE, topic.name), None)
        for change in delta.configs_changed:
            if change.overrides:
                configs[change.resource_type, change.name] = change.overrides
            else:
                configs.pop((change.resource_type, change.name), None)
        return configs

    def _apply_quotas(self, delta: MetadataDelta) -> Mapping[QuotaEntity, Mapping[str, float]]:
        if not delta.quotas_changed:
            return self.client_quotas
        client_quotas = dict(self.client_quotas)
        for change in delta.quotas_changed:
            if change.quotas:
                client_quotas[change.entity] = change.quotas
            else:
                client_quotas.pop(change.entity, None)
        return client_quotas

    def _apply_features(self, delta: MetadataDelta) -> Mapping[str, int]:
        if not delta.features_changed:
            return self.features
        levels = {**self.features, **{change.name: change.level for change in delta.features_changed}}
        return {name: level for name, level in levels.items() if level}
