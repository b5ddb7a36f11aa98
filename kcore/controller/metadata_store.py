"""The one interface between the controller and whatever keeps the cluster's metadata.

Every change is one transaction: it is durable and visible as a whole, or nothing of it is. Changes of the controller
carry its epoch and fail with STALE_CONTROLLER_EPOCH once another controller has claimed the store, so that a controller
that lost its office can do no harm. Partition states carry their partition epoch: an update has to name the epoch that
follows the stored one (INVALID_UPDATE_VERSION otherwise), which makes it a compare-and-set.

Registrations of brokers live as long as their session, as ZooKeeper's ephemeral nodes do: after a crash a broker is not
registered until it says so again.

Implementations: `EmbeddedMetadataStore` (SQLite, one machine), `MemoryMetadataStore` (tests and simulation). No caller
may assume that it runs the only broker or the only controller.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kcore.metadata.cache import MetadataListener
    from kcore.metadata.image import BrokerRegistration, MetadataImage, PartitionState, TopicImage
    from kcore.metadata.quota_entity import QuotaEntity

# `ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE` of Kafka.
PRODUCER_ID_BLOCK_SIZE = 1000


class MetadataStoreError(Exception):
    """The store cannot be opened or does not belong here; the message names the file, the cause and the remedy."""


class MetadataStoreDeniedError(MetadataStoreError):
    """The operating system denies access to the store."""


class MetadataStoreDamagedError(MetadataStoreError):
    """What the store holds is not what was written."""


class MetadataStore(ABC):
    """Safe to use from several threads."""

    __slots__ = ()

    # Whether every partition that the store knows is on the one broker that uses it.
    is_of_one_broker = False

    @property
    @abstractmethod
    def name(self) -> str:
        """What messages call the store."""

    @property
    @abstractmethod
    def is_unused(self) -> bool:
        """Whether nobody was ever controller in the open store, and it has no topic: it is new, or was lost."""

    @abstractmethod
    def set_aside(self) -> str:
        """Keeps a damaged store, closed, under another name, which is answered: the next `open` makes a new one."""

    @abstractmethod
    def open(self, cluster_id: str | None = None) -> str:
        """Opens the store and answers the cluster's id: the stored one, else `cluster_id`, else a new one.

        Raises MetadataStoreError when the store is damaged, or belongs to another cluster than `cluster_id`.
        """

    @abstractmethod
    def close(self) -> None:
        """Ends the session; registrations made in it are gone. Closing twice does nothing."""

    @property
    @abstractmethod
    def image(self) -> MetadataImage:
        """The newest committed metadata."""

    @abstractmethod
    def subscribe(self, listener: MetadataListener) -> None:
        """Tells `listener` of everything there is, as created, then of every committed change, in order of commit.

        A change that a listener makes while it is being told is committed at once and told when everyone has heard of
        the present one. What a listener raises reaches whoever made the change, which is committed all the same.
        """

    @abstractmethod
    def claim_controller(self, broker_id: int) -> int:
        """Makes a broker the controller, fences the one before, answers the new controller epoch."""

    @abstractmethod
    def register_broker(self, registration: BrokerRegistration) -> BrokerRegistration:
        """Announces a broker as alive; the answer carries the broker epoch that was given to it."""

    @abstractmethod
    def unregister_broker(self, broker_id: int, broker_epoch: int) -> None:
        """Unregisters a broker, unless it has registered again (STALE_BROKER_EPOCH)."""

    @abstractmethod
    def create_topics(self, controller_epoch: int, topics: Collection[tuple[TopicImage, Mapping[str, str]]]) -> None:
        """Adds topics with all their partitions and overrides, all or none. TOPIC_ALREADY_EXISTS by name or id."""

    def create_topic(self, controller_epoch: int, topic: TopicImage, overrides: Mapping[str, str]) -> None:
        """`create_topics` of one."""
        self.create_topics(controller_epoch, ((topic, overrides),))

    @abstractmethod
    def restore_topics(
        self, topics: Iterable[TopicImage], overrides: Mapping[str, Mapping[str, str]], next_producer_id: int
    ) -> None:
        """Makes all topics of a lost store known again, in one transaction, while the store is unused."""

    @abstractmethod
    def delete_topics(self, controller_epoch: int, topic_ids: Collection[bytes]) -> None:
        """Removes topics, their partitions and overrides, all or none, and adds their ids to `deleted_topic_ids`."""

    def delete_topic(self, controller_epoch: int, topic_id: bytes) -> None:
        """`delete_topics` of one."""
        self.delete_topics(controller_epoch, (topic_id,))

    @abstractmethod
    def add_partitions(self, controller_epoch: int, states: Iterable[PartitionState]) -> None:
        """Adds partitions to one or more topics, each numbered on from the present last one."""

    @abstractmethod
    def update_partition_states(self, controller_epoch: int, states: Iterable[PartitionState]) -> None:
        """Replaces states of partitions, all or none; each names the partition epoch that follows the stored one."""

    @abstractmethod
    def set_configs(self, controller_epoch: int, resource_type: int, name: str, overrides: Mapping[str, str]) -> None:
        """Replaces all overrides of a resource."""

    @abstractmethod
    def set_client_quotas(self, controller_epoch: int, entity: QuotaEntity, quotas: Mapping[str, float]) -> None:
        """Replaces all quotas of an entity."""

    @abstractmethod
    def set_features(self, controller_epoch: int, levels: Mapping[str, int]) -> None:
        """Finalizes features at levels, 0 for none, all or nothing; the epoch of the finalized features grows by 1."""

    @abstractmethod
    def allocate_producer_ids(self, controller_epoch: int) -> range:
        """A block of `PRODUCER_ID_BLOCK_SIZE` producer ids that nobody was given before or will be given again."""

    @abstractmethod
    def deleted_topic_ids(self) -> frozenset[bytes]:
        """Ids of deleted topics whose directories may still exist, because a crash came between the two."""

    @abstractmethod
    def forget_deleted_topics(self, controller_epoch: int, topic_ids: Iterable[bytes]) -> None:
        """Says that nothing is left of deleted topics on any log directory."""
