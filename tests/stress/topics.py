"""Which topics there are, as far as the clients know, and what has been told of their partitions.

A topic that is made again under its name is another one, with another id: what clients are told by name counts only as
long as nobody has begun to delete the topic.
"""

from __future__ import annotations

import random

from tests.stress.partition_history import PartitionHistory


class Topic:
    """One life of a topic."""

    def __init__(self, name: str, tag: int, topic_id: bytes, partitions: int, *, keeps_everything: bool) -> None:
        self.name = name
        self.tag = tag
        self.id = topic_id
        self.keeps_everything = keeps_everything
        self.is_going = False  # from before its deletion is asked for
        self.partitions = [
            PartitionHistory(f"{name}-{index} ({topic_id.hex()[:8]})", keeps_everything=keeps_everything)
            for index in range(partitions)
        ]


class TopicTable:
    """The topics that live. Stable ones are there from the first to the last moment, others come and go."""

    def __init__(self) -> None:
        self.stable: list[Topic] = []
        self.passing: dict[str, Topic] = {}
        self._tags: dict[str, int] = {}

    def tag(self, name: str) -> int:
        """The same for each life of a name: a producer cannot know which one it writes to."""
        return self._tags.setdefault(name, len(self._tags) + 1)

    def living(self) -> list[Topic]:
        return [*self.stable, *(topic for topic in self.passing.values() if not topic.is_going)]

    def choose(self, source: random.Random) -> tuple[Topic, int]:
        """Any topic and partition; the stable ones more often."""
        living = self.living() if source.random() < 0.3 else self.stable
        topic = source.choice(living)
        return topic, source.randrange(len(topic.partitions))
