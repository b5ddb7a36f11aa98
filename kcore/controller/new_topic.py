"""What clients ask of the controller about topics, and what it answers, one error a topic."""

from __future__ import annotations

from kcore import uuid
from kcore.metadata.image import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kcore.errors import KafkaError
    from kcore.metadata.image import TopicImage

# In place of a number of partitions or a replication factor: the broker's default.
USE_DEFAULT = -1


class NewTopic(Value):
    """A topic to create: numbers, or else `assignments`, the broker ids of each partition, as they were stated.

    A configuration without a value is refused, whichever it is.
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
        # Pairs, since a request may state a partition twice.
        self.assignments = tuple(assignments)
        self.configs = configs or {}


class NewPartitions(Value):
    """Partitions to add to a topic: how many it shall have altogether, and perhaps the broker ids of each new one."""

    __slots__ = ("assignments", "name", "total_count")

    def __init__(self, name: str, total_count: int, assignments: Sequence[Sequence[int]] | None = None) -> None:
        self.name = name
        self.total_count = total_count
        self.assignments = assignments


class TopicResult(Value):
    """What became of one topic of a request: `error`, or else the topic as it was made, changed or deleted."""

    __slots__ = ("error", "name", "topic")

    def __init__(self, name: str, topic: TopicImage | None = None, error: KafkaError | None = None) -> None:
        self.name = name
        self.topic = topic
        self.error = error

    @property
    def topic_id(self) -> bytes:
        """The topic's id, zero where there is no topic."""
        return self.topic.topic_id if self.topic is not None else uuid.ZERO
