"""Totals of a pipeline's queries since it was started, as metrics in Prometheus text format.

Spark reports progress once per trigger and keeps the last hundred reports. `Totals.take` adds the reports that it has
not seen yet; the pipeline calls it regularly. A scrape reads these totals and does not call Spark.
"""

from __future__ import annotations

import datetime
import threading
from collections import deque

from kcore.metrics.definition import COUNTER, GAUGE, Metric
from kcore.metrics.registry import family
from kspark.pipeline.progress import sink_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from pyspark.sql.streaming.query import StreamingQuery

    from kcore.metrics.registry import Sample
    from kspark.pipeline.progress import SinkProgress

SINK = ("pipeline", "sink")


def _metric(name: str, type: str, unit: str, documentation: str, *labels: str) -> Metric:
    return Metric(f"kcli_pipeline_{name}", type, (*SINK, *labels), unit, None, documentation)


METRICS = (
    _metric("active", GAUGE, "", "1 while the sink's query runs."),
    _metric("batches_total", COUNTER, "batches", "Completed micro-batches, without empty ones."),
    _metric("rows_in_total", COUNTER, "rows", "Rows read from the sink's streams."),
    _metric("rows_out_total", COUNTER, "rows", "Rows written."),
    _metric("batch_milliseconds_total", COUNTER, "ms", "Total duration of micro-batches, in ms."),
    _metric("batch_milliseconds", GAUGE, "ms", "Duration of the last micro-batch, in ms."),
    _metric("watermark_seconds", GAUGE, "s", "Watermark, in seconds since 1970."),
    _metric("lag_offsets", GAUGE, "offsets", "Available offsets that are not processed yet.", "topic", "partition"),
)
ACTIVE, BATCHES, ROWS_IN, ROWS_OUT, BATCH_MS_TOTAL, BATCH_MS, WATERMARK, LAG = (metric.name for metric in METRICS)
# Number of progress reports that Spark keeps.
REMEMBERED = 100


class _SinkTotals:
    def __init__(self) -> None:
        self.is_active = True
        self.batches = self.rows_in = self.rows_out = self.batch_ms = 0
        self.tells_rows_out = False
        self.last: SinkProgress | None = None
        self._seen: deque[tuple[int, str]] = deque(maxlen=REMEMBERED)

    def has_seen(self, told: Mapping[str, Any]) -> bool:
        return _key(told) in self._seen

    def add(self, told: Mapping[str, Any]) -> None:
        if self.has_seen(told):
            return
        self._seen.append(_key(told))
        progress = self.last = sink_progress(told)
        if progress.rows_in == 0 and not told.get("durationMs", {}).get("addBatch"):
            return
        self.batches += 1
        self.rows_in += progress.rows_in
        self.rows_out += progress.rows_out or 0
        self.tells_rows_out |= progress.rows_out is not None
        self.batch_ms += progress.batch_ms

    def samples(self, labels: tuple[str, str]) -> Iterator[Sample]:
        yield ACTIVE, labels, int(self.is_active)
        yield BATCHES, labels, self.batches
        yield ROWS_IN, labels, self.rows_in
        yield BATCH_MS_TOTAL, labels, self.batch_ms
        if self.tells_rows_out:
            yield ROWS_OUT, labels, self.rows_out
        if self.last is None:
            return
        yield BATCH_MS, labels, self.last.batch_ms
        if self.last.watermark is not None:
            yield WATERMARK, labels, datetime.datetime.fromisoformat(self.last.watermark).timestamp()
        for partition, lag in sorted(self.last.lag.items()):
            yield LAG, (*labels, partition.topic, str(partition.partition)), lag


def _key(told: Mapping[str, Any]) -> tuple[int, str]:
    """Identify a report. The batch id alone is not unique: a trigger without new data has that of the next batch."""
    return int(told["batchId"]), str(told["timestamp"])


class Totals:
    """Totals of a pipeline's sinks. One thread calls `take`; any thread may call `render`."""

    def __init__(self, pipeline: str) -> None:
        self._pipeline = pipeline
        self._sinks: dict[str, _SinkTotals] = {}
        self._lock = threading.Lock()

    def take(self, sink: str, query: StreamingQuery) -> None:
        """Add the reports of a sink's query that are new since the last call."""
        is_active, last = query.isActive, query.lastProgress
        totals = self._sinks.get(sink) or _SinkTotals()
        told = query.recentProgress if last is not None and not totals.has_seen(last) else []
        with self._lock:
            self._sinks[sink] = totals
            totals.is_active = is_active
            for one in told:
                totals.add(one)

    def render(self) -> bytes:
        """Return all metrics as text."""
        with self._lock:
            samples = [
                sample for name, totals in self._sinks.items() for sample in totals.samples((self._pipeline, name))
            ]
        lines = [
            line for metric in METRICS for line in family(metric, [one for one in samples if one[0] == metric.name])
        ]
        return "\n".join([*lines, ""]).encode()
