"""Offset ranges: the unit that one task reads, and their division into more or smaller tasks."""

from __future__ import annotations

from typing import NamedTuple

from kcore.client.metadata.cluster import TopicPartition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class OffsetRange(NamedTuple):
    """Offsets `start` (inclusive) to `end` (exclusive). `topic_id` is all zero if the broker has no topic ids."""

    partition: TopicPartition
    topic_id: bytes
    start: int
    end: int

    @property
    def size(self) -> int:
        """Number of offsets. Because of gaps there may be fewer records."""
        return max(self.end - self.start, 0)


def cut(
    ranges: Iterable[OffsetRange], *, least_tasks: int | None = None, most_offsets: int | None = None
) -> list[OffsetRange]:
    """Divide ranges into at least `least_tasks` ranges of at most `most_offsets` each. Empty ranges are removed.

    Large ranges are divided into more pieces than small ones, so that a skewed partition does not keep one task busy
    after the others have ended (Spark's KafkaOffsetRangeCalculator).
    """
    whole = [one for one in ranges if one.size > 0]
    if most_offsets is not None:
        whole = [piece for one in whole for piece in _pieces(one, -(-one.size // most_offsets))]
    if least_tasks is None or len(whole) >= least_tasks:
        return whole
    total = sum(one.size for one in whole)
    small = [one for one in whole if _share(one.size, total, least_tasks) == 1]
    large_total = total - sum(one.size for one in small)
    large_tasks = least_tasks - len(small)
    return [
        piece
        for one in whole
        for piece in _pieces(one, 1 if one in small else _share(one.size, large_total, large_tasks))
    ]


def _share(size: int, total: int, tasks: int) -> int:
    return max(round(size / total * tasks), 1)


def _pieces(whole: OffsetRange, count: int) -> Iterator[OffsetRange]:
    """Yield `count` pieces whose sizes differ by at most one."""
    start, rest = whole.start, whole.size
    for left in range(count, 0, -1):
        size = rest // left
        if size:
            yield whole._replace(start=start, end=start + size)
        start += size
        rest -= size
