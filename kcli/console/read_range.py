"""Bounds of reading in each partition: `--from`, `--to` and `--exit-at-end`.

The bounds are offsets, looked up when a partition is first read: from the first record of a time or later, up to the
first record of another time or later, at most to the log end at that moment.
"""

from __future__ import annotations

from kcore.client.consumer.rebalance_callback import RebalanceListener
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcore.client.consumer.consumer import Consumer


class ReadRange(RebalanceListener):
    """Follows the assignments of a group; without a group, the caller calls `begin`."""

    def __init__(self, consumer: Consumer, from_ms: int | None, to_ms: int | None, *, ends: bool) -> None:
        self._consumer = consumer
        self._from_ms = from_ms
        self._to_ms = to_ms
        self._ends = ends
        # The end offset of each partition that is still being read.
        self._open: dict[TopicPartition, int] = {}
        self._begun: set[TopicPartition] = set()
        self._has_assignment = False

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.begin(partitions)

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self._open.pop(partition, None)

    def begin(self, partitions: Iterable[TopicPartition]) -> None:
        """A partition that is assigned again continues at the group's offset, up to an end that is looked up again."""
        wanted = list(partitions)
        fresh = [partition for partition in wanted if partition not in self._begun]
        self._has_assignment = True
        self._begun.update(fresh)
        if fresh and self._from_ms is not None:
            self._consumer.seek_to_time(self._from_ms, fresh)
        if wanted and self._ends:
            self._open.update(self._ends_of(wanted))

    def _ends_of(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        ends = self._consumer.end_offsets(partitions)
        if self._to_ms is not None:
            found = self._consumer.offsets_for_times(dict.fromkeys(partitions, self._to_ms))
            ends.update({p: min(where.offset, ends[p]) for p, where in found.items() if where is not None})
        return ends

    def end_of(self, topic: str, partition: int) -> int | None:
        """The end offset, which is not read; None without a bound."""
        return self._open.get(TopicPartition(topic, partition)) if self._open else None

    def close(self, partition: TopicPartition) -> None:
        """The end is reached. The position goes back to it, if more was fetched."""
        end = self._open.pop(partition)
        self._consumer.seek(partition, end)
        self._consumer.pause([partition])

    def is_over(self) -> bool:
        """Whether every partition is read to its end. Positions may pass markers and gaps without a record."""
        if not self._ends or not self._has_assignment:
            return False
        for partition, end in list(self._open.items()):
            if self._consumer.position(partition) >= end:
                self.close(partition)
        return not self._open
