"""Filters that Spark pushes down: topics, partitions and offsets that need not be read.

Filters on topic, partition and offset are applied here completely. A filter on the timestamp only determines where
reading starts. Spark applies it again, because records are not ordered by timestamp.
"""

from __future__ import annotations

from typing import NamedTuple

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from kspark.offset_range import OffsetRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime
    from typing import Any

    from kcore.client.metadata.cluster import TopicPartition

Comparison = (EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual)


class PushedFilters(NamedTuple):
    """What to read. None: no restriction.

    Offsets are `first` (inclusive) to `end` (exclusive). Records before the first one at or after `since_ms` are not
    needed.
    """

    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    first: int | None = None
    end: int | None = None
    since_ms: int | None = None

    def wants(self, partition: TopicPartition) -> bool:
        return (self.topics is None or partition.topic in self.topics) and (
            self.partitions is None or partition.partition in self.partitions
        )

    def within(self, whole: OffsetRange) -> OffsetRange:
        """Return the part of a range that is needed."""
        start = whole.start if self.first is None else max(whole.start, self.first)
        end = whole.end if self.end is None else min(whole.end, self.end)
        return whole._replace(start=start, end=max(start, end))


def take_filters(filters: Iterable[Filter]) -> tuple[PushedFilters, list[Filter]]:
    """Return the filters applied here, and those that Spark must apply."""
    taken, left = PushedFilters(), []
    for one in filters:
        found = _taken(taken, one)
        if found is None or _column(one) == "timestamp":
            left.append(one)
        taken = found or taken
    return taken, left


def _column(one: Filter) -> str | None:
    attribute: tuple[str, ...] = getattr(one, "attribute", ())
    return attribute[0].lower() if len(attribute) == 1 else None


def _taken(before: PushedFilters, one: Filter) -> PushedFilters | None:
    """Return `before` with one more filter; None if this filter is not supported."""
    column = _column(one)
    if column in ("topic", "partition"):
        values = _values(one)
        if values is None:
            return None
        if column == "topic":
            return before._replace(topics=_both(before.topics, values))
        return before._replace(partitions=_both(before.partitions, values))
    if not isinstance(one, Comparison):
        return None
    if column == "offset":
        return _within(before, one)
    if column == "timestamp" and not isinstance(one, (LessThan, LessThanOrEqual)):
        return before._replace(since_ms=max(before.since_ms or 0, _ms(one.value)))
    return None


def _both(known: frozenset[Any] | None, values: frozenset[Any]) -> frozenset[Any]:
    return values if known is None else known & values


def _values(one: Filter) -> frozenset[Any] | None:
    if isinstance(one, EqualTo):
        return frozenset([one.value])
    return frozenset(one.value) if isinstance(one, In) else None


def _within(before: PushedFilters, one: Any) -> PushedFilters:
    first, end = before.first, before.end
    if isinstance(one, (EqualTo, GreaterThanOrEqual)):
        first = max(first or 0, one.value)
    elif isinstance(one, GreaterThan):
        first = max(first or 0, one.value + 1)
    if isinstance(one, (EqualTo, LessThanOrEqual)):
        end = one.value + 1 if end is None else min(end, one.value + 1)
    elif isinstance(one, LessThan):
        end = one.value if end is None else min(end, one.value)
    return before._replace(first=first, end=end)


def _ms(moment: datetime) -> int:
    """Milliseconds, rounded down: Spark's timestamps have microseconds."""
    return max(int(moment.timestamp() * 1000), 0)
