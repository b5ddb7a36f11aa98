"""The driver's side of a stream: plans each micro-batch and tracks the query's progress.

Spark keeps one StreamReader per running query, in a separate process. For each batch it calls `latestOffset` with the
end of the previous batch, then `partitions`. `commit` is called one batch late and never for the last batch, so
`commitGroup` commits the offset that `latestOffset` receives.
"""

from __future__ import annotations

import os

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from kcore.client.clock import now_ms
from kspark import data_loss
from kspark.admission import Admission
from kspark.batch_reader import RangePartition
from kspark.cluster_view import ClusterView
from kspark.committed_offsets import CommittedOffsets
from kspark.offset_range import OffsetRange, cut
from kspark.stream_offset import StreamOffset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import pyarrow

    from kcore.client.metadata.cluster import TopicPartition
    from kspark.source_options import SourceOptions


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._admission = Admission(
            options.least_offsets_per_trigger, options.most_offsets_per_trigger, options.trigger_delay_ms
        )
        self._view: ClusterView | None = None
        self._latest: StreamOffset | None = None
        # Where a query with trigger "available now" ends.
        self._target: StreamOffset | None = None
        self._committed = CommittedOffsets(options) if options.commit_group else None

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only the options: executors need nothing else, and connections cannot be pickled."""
        return {"_options": self._options}

    def _cluster(self) -> ClusterView:
        if self._view is None:
            self._view = ClusterView(self._options)
        return self._view

    # Called by Spark

    def initialOffset(self) -> dict[str, Any]:
        ids = self._cluster().partitions()
        starts = self._cluster().starts(self._options.starting.places(ids))
        return StreamOffset(starts, _ids_of(ids)).document()

    def getDefaultReadLimit(self) -> ReadLimit:
        if self._options.most_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.most_offsets_per_trigger)
        if self._options.least_offsets_per_trigger is not None:
            return ReadMinRows(self._options.least_offsets_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        self._cluster().forget()
        self._target = self._look()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        begin = StreamOffset.read(start)
        if self._committed is not None:
            self._committed.commit(begin)
        if self._options.drain_file is not None and os.path.exists(self._options.drain_file):
            return start
        target = self._target or self._look()
        self._latest = target
        latest = self._without_loss(begin, target)
        starts = self._starts(begin, latest)
        if isinstance(limit, ReadAllAvailable):
            ends = latest.offsets
        elif self._target is not None:
            # Without minOffsetsPerTrigger: the query would wait forever for records after its target.
            ends = Admission(None, self._options.most_offsets_per_trigger, 0).end_of_batch(starts, latest.offsets, 0)
        else:
            ends = self._admission.end_of_batch(starts, latest.offsets, now_ms())
        return StreamOffset(ends, latest.topic_ids).document()

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the latest offset without the query's limits, for its progress reports."""
        return None if self._latest is None else self._latest.document()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        begin, until = StreamOffset.read(start), StreamOffset.read(end)
        starts = self._starts(begin, until)
        ranges = [
            OffsetRange(partition, until.topic_ids.get(partition.topic, bytes(16)), starts[partition], offset)
            for partition, offset in sorted(until.offsets.items())
        ]
        pieces = cut(ranges, least_tasks=self._options.least_tasks, most_offsets=self._options.most_offsets_per_task)
        return [RangePartition(one) for one in pieces]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        from kspark.range_reader import read_range

        return read_range(self._options, partition.value)

    def stop(self) -> None:
        for kept in (self._view, self._committed):
            if kept is not None:
                kept.close()

    # Planning

    def _look(self) -> StreamOffset:
        """Return the current end of every partition."""
        ids = self._cluster().partitions()
        return StreamOffset(self._cluster().latest(ids), _ids_of(ids))

    def _starts(self, begin: StreamOffset, end: StreamOffset) -> dict[TopicPartition, int]:
        """Return where a batch begins in each partition of `end`.

        New partitions and those of re-created topics begin at their earliest offset.
        """
        known = {
            partition: offset
            for partition, offset in begin.offsets.items()
            if partition in end.offsets and not _is_another(partition.topic, begin, end)
        }
        new = [partition for partition in end.offsets if partition not in known]
        found = self._cluster().earliest(new)
        for partition, offset in found.items():
            if offset > 0:
                self._report(f"{partition} is new to the query, but its records before offset {offset} are deleted")
        return {**known, **{partition: min(offset, end.offsets[partition]) for partition, offset in found.items()}}

    def _without_loss(self, begin: StreamOffset, latest: StreamOffset) -> StreamOffset:
        """Return `latest` adjusted so that no partition ends before `begin`. Missing data is reported first."""
        gone = sorted(begin.offsets.keys() - latest.offsets.keys())
        if gone:
            self._report(f"{', '.join(map(str, gone))} no longer exist")
        offsets = dict(latest.offsets)
        for topic in sorted({partition.topic for partition in offsets}):
            if _is_another(topic, begin, latest):
                self._report(f"topic {topic} was deleted and re-created; unread records of the old topic are lost")
        for partition, offset in latest.offsets.items():
            before = begin.offsets.get(partition)
            if before is not None and offset < before and not _is_another(partition.topic, begin, latest):
                self._report(f"{partition} ends at offset {offset}, but the query has already read up to {before}")
                offsets[partition] = before
        return StreamOffset(offsets, latest.topic_ids)

    def _report(self, text: str) -> None:
        data_loss.report(text, fails=self._options.fail_on_data_loss)


def _is_another(topic: str, one: StreamOffset, other: StreamOffset) -> bool:
    """Return whether a topic name is known to refer to two different topics."""
    ids = one.topic_ids.get(topic), other.topic_ids.get(topic)
    return None not in ids and ids[0] != ids[1]


def _ids_of(ids: Mapping[TopicPartition, bytes]) -> dict[str, bytes]:
    return {partition.topic: topic_id for partition, topic_id in ids.items()}
