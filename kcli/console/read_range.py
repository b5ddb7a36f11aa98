"""Where reading begins and ends in each partition, where that is bounded: `--from`, `--to` and `--exit-at-end`.

A range is one of offsets, settled when a partition begins to be read: it begins with the first record of a time or
later, and ends before the first record of another time or later, at the latest where the log ended then.
"""

from __future__ import annotations

from kcore.client.consumer.rebalance_callback import RebalanceListener
from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcore.client.consumer.consumer import Consumer


class ReadRange(RebalanceListener):
    """Follows what a group gives and takes; without one, `begin` is told what is read."""

    def __init__(self, consumer: Consumer, from_ms: int | None, to_ms: int | None, *, ends: bool) -> None:
        self._consumer = consumer
        self._from_ms = from_ms
        self._to_ms = to_ms
        self._ends = ends
        # Of partitions that are being read: the offset to end before. Those that were read to it are in no list.
        self._open: dict[TopicPartition, int] = {}
        self._begun: set[TopicPartition] = set()
        self._has_assignment = False

    def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self.begin(partitions)

    def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
        for partition in partitions:
            self._open.pop(partition, None)

    def begin(self, partitions: Iterable[TopicPartition]) -> None:
        """A partition that comes back goes on where the group is with it, to an end that is settled anew."""
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
        """The offset to end before; None where nothing bounds it."""
        return self._open.get(TopicPartition(topic, partition)) if self._open else None

    def close(self, partition: TopicPartition) -> None:
        """It was read to its end, or beyond: what is behind that was not read."""
        end = self._open.pop(partition)
        self._consumer.seek(partition, end)
        self._consumer.pause([partition])

    def is_over(self) -> bool:
        """Whether every partition was read to its end; what stands there may be no records (markers, or a gap)."""
        if not self._ends or not self._has_assignment:
            return False
        for partition, end in list(self._open.items()):
            if self._consumer.position(partition) >= end:
                self.close(partition)
        return not self._open
