"""Batch reads: plans the ranges between the starting and ending offsets once, and reads them."""

from __future__ import annotations

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from kspark.cluster_view import ClusterView
from kspark.offset_policy import Place
from kspark.offset_range import OffsetRange, cut
from kspark.options import OptionError
from kspark.pushed_filters import PushedFilters, take_filters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow

    from kcore.client.metadata.cluster import TopicPartition
    from kspark.source_options import SourceOptions


class RangePartition(InputPartition):
    def __init__(self, wanted: OffsetRange) -> None:
        super().__init__(wanted)


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._filters = PushedFilters()

    def partitions(self) -> list[InputPartition]:
        view = ClusterView(self._options)
        try:
            ranges = planned(view, self._options, self._filters)
        finally:
            view.close()
        return [RangePartition(one) for one in ranges]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        from kspark.range_reader import read_range

        # If there are no partitions, Spark reads one partition whose value is None.
        return iter(()) if partition.value is None else read_range(self._options, partition.value)


class FilteringReader(BatchReader):
    """For sessions with spark.sql.python.filterPushdown.enabled: without it, Spark rejects readers with pushFilters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        self._filters, left = take_filters(filters)
        return left


def _check_order(starts: dict[TopicPartition, int], ends: dict[TopicPartition, int], options: SourceOptions) -> None:
    """Raise OptionError if a partition's end is before its start. Otherwise records would be missing silently."""
    wrong = [partition for partition in sorted(starts) if starts[partition] > ends[partition]]
    if wrong:
        first = wrong[0]
        raise OptionError(
            f"{options.starting.option} is beyond {options.ending.option} in {', '.join(map(str, wrong))}: "
            f"{starts[first]} and {ends[first]} in {first}. Correct one of them"
        )


def planned(view: ClusterView, options: SourceOptions, filters: PushedFilters) -> list[OffsetRange]:
    ids = view.partitions()
    starts = view.starts(options.starting.places(ids))
    ends = view.ends(options.ending.places(ids))
    _check_order(starts, ends, options)
    wanted = sorted(partition for partition in ids if filters.wants(partition))
    if filters.since_ms is not None:
        since = view.ends(dict.fromkeys(wanted, Place(None, filters.since_ms)))
        starts = {partition: max(starts[partition], since[partition]) for partition in wanted}
    ranges = [
        filters.within(OffsetRange(partition, ids[partition], starts[partition], ends[partition]))
        for partition in wanted
    ]
    return cut(ranges, least_tasks=options.least_tasks, most_offsets=options.most_offsets_per_task)
