"""A consumer group that commits offsets by hand, and remembers what it was told."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kcore.protocol import apis
from tests.invariants.history import Commit, Committed, History, Outcome, TopicPartition
from tests.raw_client import RawClient

OFFSETS_PARTITION = TopicPartition("__consumer_offsets", 0)
COORDINATOR_LOAD_IN_PROGRESS = 14
UNKNOWN_TOPIC_OR_PARTITION = 3


class NotedCommit(NamedTuple):
    """An acknowledged commit, and where the log of commits ended when it was."""

    commit: Commit
    log_end: int


class Group:
    def __init__(self, name: str, history: History, clock: Callable[[], int]) -> None:
        self.name = name
        self._history = history
        self._clock = clock

    def find_coordinator(self, client: RawClient) -> None:
        """Which makes the topic of offsets, the first time."""
        client.request(apis.FIND_COORDINATOR, 2, {"key": self.name, "key_type": 0})

    def commit(self, client: RawClient, partition: TopicPartition, offset: int, *, is_reset: bool = False) -> Commit:
        """Commits, and notes what came of it."""
        part = {"partition_index": partition.partition, "committed_offset": offset}
        fields = {"group_id": self.name, "topics": [{"name": partition.topic, "partitions": [part]}]}
        answer = client.request(apis.OFFSET_COMMIT, 7, fields)
        code = answer.topics[0].partitions[0].error_code
        outcome = Outcome.ACKED if code == 0 else Outcome.UNKNOWN
        commit = Commit(self.name, partition, offset, outcome, self._clock(), is_reset)
        self._history.commits.append(commit)
        return commit

    def ask(self, client: RawClient, partition: TopicPartition, *, must_answer: bool = True) -> int | None:
        """The committed offset as the broker has it; None without one, or without an answer."""
        topic = {"name": partition.topic, "partition_indexes": [partition.partition]}
        answer = client.request(apis.OFFSET_FETCH, 5, {"group_id": self.name, "topics": [topic]})
        if answer.error_code and not must_answer:
            return None
        assert answer.error_code == 0, answer
        part = answer.topics[0].partitions[0]
        assert part.error_code == 0, part
        offset = part.committed_offset if part.committed_offset >= 0 else None
        self._history.committed.append(Committed(self.name, partition, offset, self._clock()))
        return offset
