"""The interface between the controller and the store of the cluster's metadata.

Every change is one transaction: all of it becomes durable and visible, or nothing. Changes of the controller have its
epoch, and fail with STALE_CONTROLLER_EPOCH once another controller has claimed the store, so an outdated controller
cannot change anything. Partition states have a partition epoch: an update must have the epoch after the stored one
(otherwise INVALID_UPDATE_VERSION), which makes it a compare-and-set.

A broker's registration lasts as long as its session, like an ephemeral node of ZooKeeper: after a crash a broker must
register again.

Implementations: `EmbeddedMetadataStore` (SQLite, one machine), `MemoryMetadataStore` (tests and simulation). Callers
must not assume that there is only one broker or one controller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcore.metadata.cache import MetadataListener
    from kcore.metadata.image import BrokerRegistration, MetadataImage, PartitionState, TopicImage
    from kcore.metadata.quota_entity import QuotaEntity

# Kafka's `ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`.
PRODUCER_ID_BLOCK_SIZE = 1000


class MetadataStoreError(Exception):
    """The store cannot be opened or is of another cluster. The message names the file, the cause and the remedy."""


class MetadataStoreDeniedError(MetadataStoreError):
    """The operating system denies access to the store."""


class MetadataStoreDamagedError(MetadataStoreError):
    """The content of the store is damaged."""


class MetadataStore(ABC):
    """A metadata store. Thread-safe."""

    __slots__ = ()

    # Whether all partitions in the store belong to the single broker that uses it.
    is_of_one_broker = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the store in messages."""

    @property
    @abstractmethod
    def is_unused(self) -> bool:
        """Whether the open store never had a controller and has no topics: it is new, or its content was lost."""

    @abstractmethod
    def set_aside(self) -> str:
        """Renames a damaged, closed store. Returns the new name. The next `open` creates a new store."""

    @abstractmethod
    def open(self, cluster_id: str | None = None) -> str:
        """Opens the store and returns the cluster id: the stored one, or else `cluster_id`, or else a new one.

        Raises MetadataStoreError if the store is damaged or belongs to another cluster than `cluster_id`.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the session and its registrations. A second call does nothing."""

    @property
    @abstractmethod
    def image(self) -> MetadataImage:
        """The latest committed metadata."""

    @abstractmethod
    def subscribe(self, listener: MetadataListener) -> None:
        """Calls `listener` with the present metadata as a delta, then with every committed change, in commit order.

        A change that a listener makes is committed at once; listeners receive it after all have received the present
        one. An exception of a listener is raised to the caller that made the change. The change stays committed.
        """

    @abstractmethod
    def claim_controller(self, broker_id: int) -> int:
        """Makes a broker the controller and fences the previous one. Returns the new controller epoch."""

    @abstractmethod
    def register_broker(self, registration: BrokerRegistration) -> BrokerRegistration:
        """Registers a live broker. Returns the registration with its broker epoch."""

    @abstractmethod
    def unregister_broker(self, broker_id: int, broker_epoch: int) -> None:
        """Unregisters a broker. Raises StaleBrokerEpochError if it has registered again."""

    @abstractmethod
    def create_topics(self, controller_epoch: int, topics: Collection[tuple[TopicImage, Mapping[str, str]]]) -> None:
        """Adds topics with partitions and overrides, all or none. TopicAlreadyExistsError by name or id."""

    def create_topic(self, controller_epoch: int, topic: TopicImage, overrides: Mapping[str, str]) -> None:
        """Calls `create_topics` for one topic."""
        self.create_topics(controller_epoch, ((topic, overrides),))

    @abstractmethod
    def restore_topics(
        self, topics: Iterable[TopicImage], overrides: Mapping[str, Mapping[str, str]], next_producer_id: int
    ) -> None:
        """Adds all topics of a lost store in one transaction. The store must be unused."""

    @abstractmethod
    def delete_topics(self, controller_epoch: int, topic_ids: Collection[bytes]) -> None:
        """Removes topics with partitions and overrides, all or none, and adds their ids to `deleted_topic_ids`."""

    def delete_topic(self, controller_epoch: int, topic_id: bytes) -> None:
        """Calls `delete_topics` for one topic."""
        self.delete_topics(controller_epoch, (topic_id,))

    @abstractmethod
    def add_partitions(self, controller_epoch: int, states: Iterable[PartitionState]) -> None:
        """Adds partitions to one or more topics. Their numbers continue those of the topic."""

    @abstractmethod
    def update_partition_states(self, controller_epoch: int, states: Iterable[PartitionState]) -> None:
        """Replaces partition states, all or none. Each must have the partition epoch after the stored one."""

    @abstractmethod
    def set_configs(self, controller_epoch: int, resource_type: int, name: str, overrides: Mapping[str, str]) -> None:
        """Replaces all overrides of a resource."""

    @abstractmethod
    def set_client_quotas(self, controller_epoch: int, entity: QuotaEntity, quotas: Mapping[str, float]) -> None:
        """Replaces all quotas of an entity."""

    @abstractmethod
    def set_features(self, controller_epoch: int, levels: Mapping[str, int]) -> None:
        """Finalizes feature levels, all or none. Level 0 removes a feature. The features' epoch increases by 1."""

    @abstractmethod
    def allocate_producer_ids(self, controller_epoch: int) -> range:
        """Allocates a block of `PRODUCER_ID_BLOCK_SIZE` producer ids, which are never assigned again."""

    @abstractmethod
    def deleted_topic_ids(self) -> frozenset[bytes]:
        """The ids of deleted topics whose directories may still exist, for example after a crash."""

    @abstractmethod
    def forget_deleted_topics(self, controller_epoch: int, topic_ids: Iterable[bytes]) -> None:
        """Removes ids from `deleted_topic_ids`, after their directories were deleted."""
