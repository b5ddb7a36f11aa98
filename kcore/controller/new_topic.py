"""Requests to the controller about topics, and their results, with one error per topic."""

from __future__ import annotations

from kcore import uuid
from kcore.metadata.image import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcore.errors import KafkaError
    from kcore.metadata.image import TopicImage

# Means the broker's default for the number of partitions or the replication factor.
USE_DEFAULT = -1


class NewTopic(Value):
    """A topic to create: numbers, or else `assignments` of (partition, broker ids), as the request has them.

    Configurations without a value are refused.
    """

    __slots__ = ("assignments", "configs", "name", "num_partitions", "replication_factor")

    def __init__(
        self,
        name: str,
        num_partitions: int = USE_DEFAULT,
        replication_factor: int = USE_DEFAULT,
        assignments: Iterable[tuple[int, Sequence[int]]] = (),
        configs: Mapping[str, str | None] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        # Pairs instead of a dict, since a request may have a partition twice.
        self.assignments = tuple(assignments)
        self.configs = configs or {}


class NewPartitions(Value):
    """Partitions to add: the new total number, and optionally the broker ids of each new partition."""

    __slots__ = ("assignments", "name", "total_count")

    def __init__(self, name: str, total_count: int, assignments: Sequence[Sequence[int]] | None = None) -> None:
        self.name = name
        self.total_count = total_count
        self.assignments = assignments


class TopicResult(Value):
    """The result for one topic of a request: an error, or the created, changed or deleted topic."""

    __slots__ = ("error", "name", "topic")

    def __init__(self, name: str, topic: TopicImage | None = None, error: KafkaError | None = None) -> None:
        self.name = name
        self.topic = topic
        self.error = error

    @property
    def topic_id(self) -> bytes:
        """The topic's id, or zero without a topic."""
        return self.topic.topic_id if self.topic is not None else uuid.ZERO
