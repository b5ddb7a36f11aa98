"""Reads Spark's progress reports: rates, durations, and the lag of each partition. No output."""

from __future__ import annotations

from typing import NamedTuple

from kspark.stream_offset import StreamOffset

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kcore.client.metadata.cluster import TopicPartition

# Name of the pipeline's own row count, because most of Spark's sinks do not report one.
ROWS_OUT = "rows_out"


class SinkProgress(NamedTuple):
    """Progress of the last batch. Rates are rows per second. `lag` is in offsets, for sources that report it."""

    batch_id: int
    rows_in: int
    rows_in_per_second: float
    rows_out: int | None
    rows_out_per_second: float | None
    batch_ms: int
    watermark: str | None
    lag: dict[TopicPartition, int]


def sink_progress(progress: Mapping[str, Any]) -> SinkProgress:
    """Read a progress report of Spark (`StreamingQuery.lastProgress`)."""
    batch_ms = int(progress.get("batchDuration") or progress.get("durationMs", {}).get("triggerExecution", 0))
    rows_out = _rows_out(progress)
    lag: dict[TopicPartition, int] = {}
    for source in progress.get("sources", []):
        lag.update(_lag(source.get("endOffset"), source.get("latestOffset")))
    return SinkProgress(
        batch_id=int(progress["batchId"]),
        rows_in=int(progress.get("numInputRows") or 0),
        rows_in_per_second=float(progress.get("processedRowsPerSecond") or 0.0),
        rows_out=rows_out,
        rows_out_per_second=rows_out * 1000 / batch_ms if rows_out is not None and batch_ms else None,
        batch_ms=batch_ms,
        watermark=progress.get("eventTime", {}).get("watermark"),
        lag=lag,
    )


def _rows_out(progress: Mapping[str, Any]) -> int | None:
    told = progress.get("sink", {}).get("numOutputRows", -1)
    counted = (progress.get("observedMetrics") or {}).get(ROWS_OUT)
    if told is None or told < 0:
        return None if counted is None else int(counted[ROWS_OUT])
    return int(told)


def _lag(end: Any, latest: Any) -> dict[TopicPartition, int]:
    """Return the lag by partition; empty for sources with other kinds of offsets."""
    try:
        done, there = StreamOffset.read(_document(end)), StreamOffset.read(_document(latest))
    except ValueError:
        return {}
    return {partition: max(offset - done.offsets.get(partition, 0), 0) for partition, offset in there.offsets.items()}


def _document(offset: Any) -> Mapping[str, Any]:
    import json

    found = json.loads(offset) if isinstance(offset, str) else offset
    if not isinstance(found, dict):
        raise ValueError("no offset of this source's")
    return found
