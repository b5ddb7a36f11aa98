"""Views of a running pipeline, one after each batch."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from rich.console import RenderableType

    from kspark.pipeline.run import Run, Running


def views(running: Run) -> Iterator[dict[str, Any]]:
    for queries in running.watch():
        yield {"sinks": [view(one) for one in queries]}


def view(one: Running) -> dict[str, Any]:
    """The view of a sink. Fields of batches are missing before the first batch."""
    from kspark.pipeline.progress import sink_progress

    last = one.query.lastProgress
    found: dict[str, Any] = {"sink": one.sink.name, "state": one.query.status["message"]}
    if last is None:
        return found
    progress = sink_progress(last)
    return {
        **found,
        "batch": progress.batch_id,
        "rows_in": progress.rows_in,
        "rows_in_per_second": round(progress.rows_in_per_second, 1),
        "rows_out": progress.rows_out,
        "rows_out_per_second": None if progress.rows_out_per_second is None else round(progress.rows_out_per_second, 1),
        "batch_ms": progress.batch_ms,
        "watermark": progress.watermark,
        "lag": {str(partition): lag for partition, lag in sorted(progress.lag.items())},
    }


def screen(found: dict[str, Any]) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("SINK", "BATCH", "IN/S", "OUT/S", "MS", "LAG", "WATERMARK", "STATE"):
        table.add_column(heading, justify="left" if heading in ("SINK", "STATE", "WATERMARK") else "right")
    for sink in found["sinks"]:
        lag = sink.get("lag") or {}
        table.add_row(
            sink["sink"],
            _shown(sink.get("batch")),
            _shown(sink.get("rows_in_per_second")),
            _shown(sink.get("rows_out_per_second")),
            _shown(sink.get("batch_ms")),
            f"{sum(lag.values()):,} in {len(lag)}" if lag else "-",
            sink.get("watermark") or "-",
            sink["state"],
        )
    return table


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,}"
