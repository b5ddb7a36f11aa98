"""The common part of local metadata stores: preconditions, fencing, and the order of notifications.

A change is checked against the latest image, written by the subclass as one `Transaction`, applied to the image, and
passed to the listeners. The lock is held from the check to the notification, so listeners receive changes in the order
of commits. It is re-entrant, because a listener may make a change itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from threading import RLock

from kcore import errors, uuid
from kcore.controller.metadata_store import PRODUCER_ID_BLOCK_SIZE, MetadataStore, MetadataStoreError
from kcore.metadata.image import (
    TOPIC_RESOURCE,
    ConfigChange,
    FeatureChange,
    MetadataDelta,
    MetadataImage,
    QuotaChange,
    Value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcore.metadata.cache import MetadataListener
    from kcore.metadata.image import BrokerRegistration, PartitionState, TopicImage
    from kcore.metadata.quota_entity import QuotaEntity

LAST_PRODUCER_ID = 2**63 - 1


class StoredState(Value):
    """The durable state: the image without its brokers, and the counters."""

    __slots__ = ("controller_epoch", "deleted_topic_ids", "image", "next_broker_epoch", "next_producer_id")

    def __init__(
        self,
        image: MetadataImage,
        controller_epoch: int = 0,
        next_broker_epoch: int = 0,
        next_producer_id: int = 0,
        deleted_topic_ids: frozenset[bytes] = frozenset(),
    ) -> None:
        self.image = image
        self.controller_epoch = controller_epoch
        self.next_broker_epoch = next_broker_epoch
        self.next_producer_id = next_producer_id
        self.deleted_topic_ids = deleted_topic_ids

    def __hash__(self) -> int:
        raise TypeError("a state is compared, not hashed")

    def apply(self, transaction: Transaction) -> StoredState:
        """The state after a transaction."""
        delta = transaction.delta
        deleted = self.deleted_topic_ids.union(topic.topic_id for topic in delta.topics_deleted)
        return StoredState(
            self.image.apply(delta),
            _newer(transaction.controller_epoch, self.controller_epoch),
            _newer(transaction.next_broker_epoch, self.next_broker_epoch),
            _newer(transaction.next_producer_id, self.next_producer_id),
            deleted.difference(transaction.topics_forgotten),
        )


def _newer(value: int | None, previous: int) -> int:
    return previous if value is None else value


class Transaction(Value):
    """One change: the expected controller epoch (None: not checked), the counters to set, and the delta."""

    __slots__ = (
        "controller_epoch",
        "delta",
        "expected_epoch",
        "next_broker_epoch",
        "next_producer_id",
        "topics_forgotten",
    )

    def __init__(
        self,
        expected_epoch: int | None = None,
        delta: MetadataDelta | None = None,
        controller_epoch: int | None = None,
        next_broker_epoch: int | None = None,
        next_producer_id: int | None = None,
        topics_forgotten: Iterable[bytes] = (),
    ) -> None:
        self.expected_epoch = expected_epoch
        self.delta = delta if delta is not None else MetadataDelta()
        self.controller_epoch = controller_epoch
        self.next_broker_epoch = next_broker_epoch
        self.next_producer_id = next_producer_id
        self.topics_forgotten = tuple(topics_forgotten)


class LocalMetadataStore(MetadataStore):
    """Subclasses implement `_load`, `_create`, `_write`, `_release` and `set_aside`, and `name` for messages."""

    __slots__ = ("_listeners", "_lock", "_state", "_telling", "_untold")

    def __init__(self) -> None:
        self._lock = RLock()
        self._state: StoredState | None = None
        self._listeners: list[MetadataListener] = []
        self._untold: deque[tuple[MetadataImage, MetadataDelta]] = deque()
        self._telling = False

    @abstractmethod
    def _load(self) -> StoredState | None:
        """Opens the store and returns its state, or None if it is new."""

    @abstractmethod
    def _create(self, cluster_id: str) -> None:
        """Creates an empty store for a cluster."""

    @abstractmethod
    def _write(self, transaction: Transaction) -> None:
        """Makes a transaction durable, or raises and changes nothing.

        Raises StaleControllerEpochError if `expected_epoch` is not the stored one.
        """

    @abstractmethod
    def _release(self) -> None:
        """Closes what `_load` opened."""

    def open(self, cluster_id: str | None = None) -> str:
        with self._lock:
            try:
                state = self._load()
                if state is None:
                    new_cluster_id = cluster_id or uuid.to_text(uuid.random_uuid())
                    self._create(new_cluster_id)
                    state = StoredState(MetadataImage(new_cluster_id))
                elif cluster_id is not None and cluster_id != state.image.cluster_id:
                    raise MetadataStoreError(
                        f"{self.name} holds the metadata of cluster {state.image.cluster_id}, but meta.properties in "
                        f"the log directories names cluster {cluster_id}: point log.dirs and metadata.log.dir at the "
                        "data of one cluster"
                    )
            except BaseException:
                self._release()
                raise
            self._state = state
            return state.image.cluster_id

    def close(self) -> None:
        with self._lock:
            self._state = None
            self._release()

    @property
    def image(self) -> MetadataImage:
        return self._opened().image

    @property
    def is_unused(self) -> bool:
        state = self._opened()
        return state.controller_epoch == 0 and not state.image.topics

    def _opened(self) -> StoredState:
        state = self._state
        if state is None:
            raise MetadataStoreError(f"{self.name} is not open")
        return state

    def subscribe(self, listener: MetadataListener) -> None:
        with self._lock:
            image = self.image
            self._listeners.append(listener)
            listener(image, image.as_delta())

    def _commit(self, transaction: Transaction) -> None:
        """Writes and applies a change, and notifies the listeners. The caller holds the lock."""
        self._write(transaction)
        self._state = state = self._opened().apply(transaction)
        if transaction.delta == MetadataDelta():
            return
        self._untold.append((state.image, transaction.delta))
        if not self._telling:
            self._tell()

    def _tell(self) -> None:
        failure: Exception | None = None
        self._telling = True
        try:
            while self._untold:
                image, delta = self._untold.popleft()
                for listener in tuple(self._listeners):
                    try:
                        listener(image, delta)
                    except Exception as error:
                        failure = failure or error
        finally:
            self._telling = False
        if failure is not None:
            raise failure

    def claim_controller(self, broker_id: int) -> int:
        with self._lock:
            epoch = self._opened().controller_epoch + 1
            delta = MetadataDelta(controller_id=broker_id)
            self._commit(Transaction(delta=delta, controller_epoch=epoch))
            return epoch

    def register_broker(self, registration: BrokerRegistration) -> BrokerRegistration:
        with self._lock:
            epoch = self._opened().next_broker_epoch
            registered = registration.replace(broker_epoch=epoch)
            delta = MetadataDelta(brokers_registered=(registered,))
            self._commit(Transaction(delta=delta, next_broker_epoch=epoch + 1))
            return registered

    def unregister_broker(self, broker_id: int, broker_epoch: int) -> None:
        with self._lock:
            registered = self.image.brokers.get(broker_id)
            if registered is None or registered.broker_epoch != broker_epoch:
                raise errors.StaleBrokerEpochError(
                    f"Broker {broker_id} is not registered with broker epoch {broker_epoch}."
                )
            self._commit(Transaction(delta=MetadataDelta(brokers_unregistered=(broker_id,))))

    def create_topics(self, controller_epoch: int, topics: Collection[tuple[TopicImage, Mapping[str, str]]]) -> None:
        with self._lock:
            names: set[str] = set()
            for topic, _ in topics:
                if topic.name in self.image.topics or topic.name in names:
                    raise errors.TopicAlreadyExistsError(f"Topic '{topic.name}' already exists.")
                if topic.topic_id in self.image.topics_by_id:
                    raise errors.TopicAlreadyExistsError(f"Topic id {uuid.to_text(topic.topic_id)} is taken.")
                names.add(topic.name)
            configs = [ConfigChange(TOPIC_RESOURCE, topic.name, own) for topic, own in topics if own]
            delta = MetadataDelta(topics_created=[topic for topic, _ in topics], configs_changed=configs)
            self._commit(Transaction(controller_epoch, delta))

    def restore_topics(
        self, topics: Iterable[TopicImage], overrides: Mapping[str, Mapping[str, str]], next_producer_id: int
    ) -> None:
        with self._lock:
            if not self.is_unused:
                raise MetadataStoreError(f"{self.name} is not empty: topics can only be restored into an empty store")
            configs = [ConfigChange(TOPIC_RESOURCE, name, own) for name, own in overrides.items() if own]
            delta = MetadataDelta(topics_created=topics, configs_changed=configs)
            self._commit(Transaction(delta=delta, next_producer_id=next_producer_id))

    def delete_topics(self, controller_epoch: int, topic_ids: Collection[bytes]) -> None:
        with self._lock:
            topics = []
            for topic_id in dict.fromkeys(topic_ids):
                topic = self.image.topics_by_id.get(topic_id)
                if topic is None:
                    raise errors.UnknownTopicIdError(f"There is no topic with id {uuid.to_text(topic_id)}.")
                topics.append(topic)
            self._commit(Transaction(controller_epoch, MetadataDelta(topics_deleted=topics)))

    def add_partitions(self, controller_epoch: int, states: Iterable[PartitionState]) -> None:
        added = tuple(states)
        with self._lock:
            counts: dict[str, int] = {}
            for state in added:
                topic = self.image.topics.get(state.topic)
                if topic is None:
                    raise errors.UnknownTopicOrPartitionError(f"There is no topic '{state.topic}'.")
                count = counts.get(state.topic, len(topic.partitions))
                if state.partition != count:
                    raise errors.InvalidPartitionsError(
                        f"Partition {count} of topic '{state.topic}' is the next to add, not {state.partition}."
                    )
                counts[state.topic] = count + 1
            self._commit(Transaction(controller_epoch, MetadataDelta(partitions_added=added)))

    def update_partition_states(self, controller_epoch: int, states: Iterable[PartitionState]) -> None:
        changed = tuple(states)
        with self._lock:
            for state in changed:
                stored = self.image.partition(state.topic, state.partition)
                if stored is None:
                    raise errors.UnknownTopicOrPartitionError(
                        f"There is no partition {state.partition} of topic '{state.topic}'."
                    )
                if state.partition_epoch != stored.partition_epoch + 1:
                    raise errors.InvalidUpdateVersionError(
                        f"Partition {state.topic}-{state.partition} has partition epoch {stored.partition_epoch}; "
                        f"{state.partition_epoch} is not the next one."
                    )
            self._commit(Transaction(controller_epoch, MetadataDelta(partitions_changed=changed)))

    def set_configs(self, controller_epoch: int, resource_type: int, name: str, overrides: Mapping[str, str]) -> None:
        with self._lock:
            change = ConfigChange(resource_type, name, overrides)
            self._commit(Transaction(controller_epoch, MetadataDelta(configs_changed=(change,))))

    def set_client_quotas(self, controller_epoch: int, entity: QuotaEntity, quotas: Mapping[str, float]) -> None:
        with self._lock:
            change = QuotaChange(entity, quotas)
            self._commit(Transaction(controller_epoch, MetadataDelta(quotas_changed=(change,))))

    def set_features(self, controller_epoch: int, levels: Mapping[str, int]) -> None:
        with self._lock:
            epoch = self.image.features_epoch + 1
            changes = tuple(FeatureChange(name, level) for name, level in levels.items())
            delta = MetadataDelta(features_changed=changes, features_epoch=epoch)
            self._commit(Transaction(controller_epoch, delta))

    def allocate_producer_ids(self, controller_epoch: int) -> range:
        with self._lock:
            first = self._opened().next_producer_id
            end = first + PRODUCER_ID_BLOCK_SIZE
            if end > LAST_PRODUCER_ID:
                raise errors.UnknownServerError("All producer ids are used up.")
            self._commit(Transaction(controller_epoch, next_producer_id=end))
            return range(first, end)

    def deleted_topic_ids(self) -> frozenset[bytes]:
        return self._opened().deleted_topic_ids

    def forget_deleted_topics(self, controller_epoch: int, topic_ids: Iterable[bytes]) -> None:
        with self._lock:
            self._commit(Transaction(controller_epoch, topics_forgotten=topic_ids))
