"""The broker's metadata cache (Kafka's `MetadataCache`): the newest image, and the subscribers of changes.

Concurrency: `image` is one reference that is exchanged as a whole; a reader takes it once and asks it everything it
needs. Changes are published one after another, and a subscriber sees them in that order, each after the image it made
has become current. A subscriber that fails does not keep the change from the others: the metadata is committed already,
so everyone is told, and the first failure is raised afterwards.
"""

from __future__ import annotations

from threading import RLock

from kcore.metadata.image import NO_LEADER, MetadataImage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kcore.metadata.image import BrokerRegistration, MetadataDelta, PartitionState, TopicImage

    MetadataListener = Callable[[MetadataImage, MetadataDelta], None]


class MetadataCache:
    """Hang it on a store with `store.subscribe(cache.publish)`."""

    __slots__ = ("_image", "_listeners", "_lock")

    def __init__(self, image: MetadataImage | None = None) -> None:
        self._image = image if image is not None else MetadataImage()
        self._listeners: list[MetadataListener] = []
        self._lock = RLock()

    @property
    def image(self) -> MetadataImage:
        """The newest image."""
        return self._image

    def subscribe(self, listener: MetadataListener) -> None:
        """Tells `listener` of everything there is, as created, and then of every change."""
        with self._lock:
            self._listeners.append(listener)
            image = self._image
            listener(image, image.as_delta())

    def publish(self, image: MetadataImage, delta: MetadataDelta) -> None:
        """Makes `image` current and notifies the subscribers of the change."""
        failure: Exception | None = None
        with self._lock:
            self._image = image
            for listener in tuple(self._listeners):
                try:
                    listener(image, delta)
                except Exception as error:
                    failure = failure or error
        if failure is not None:
            raise failure

    def topic(self, name: str) -> TopicImage | None:
        """A topic by name."""
        return self._image.topics.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicImage | None:
        """A topic by its 16-byte id."""
        return self._image.topics_by_id.get(topic_id)

    def partition(self, topic: str, partition: int) -> PartitionState | None:
        """The state of a partition, None when there is none such."""
        return self._image.partition(topic, partition)

    def topic_configs(self, topic: str) -> Mapping[str, str]:
        """The overrides of a topic."""
        return self._image.topic_configs(topic)

    def broker(self, broker_id: int) -> BrokerRegistration | None:
        """A broker that is alive, by id."""
        return self._image.brokers.get(broker_id)

    def leader_of(self, topic: str, partition: int) -> BrokerRegistration | None:
        """The broker that leads a partition; None when there is no such partition, no leader, or it is not alive."""
        state = self._image.partition(topic, partition)
        if state is None or state.leader == NO_LEADER:
            return None
        return self._image.brokers.get(state.leader)
