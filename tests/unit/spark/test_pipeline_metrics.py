"""What a pipeline's metrics come to, out of what Spark tells of its queries' triggers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kspark.pipeline.metrics import METRICS, Totals


def trigger(batch: int, second: int, rows: int, lag: int, **other: Any) -> dict[str, Any]:
    return {
        "batchId": batch,
        "timestamp": f"2013-01-01T00:00:{second:02}.000Z",
        "numInputRows": rows,
        "durationMs": {"triggerExecution": 40, **({"addBatch": 30} if rows else {})},
        "eventTime": {"watermark": "2013-01-01T10:00:00.500Z"},
        "sources": [{"endOffset": '{"flights": {"0": 10}}', "latestOffset": f'{{"flights": {{"0": {10 + lag}}}}}'}],
        "sink": {"numOutputRows": -1},
        "observedMetrics": {"rows_out": {"rows_out": rows // 2}},
        **other,
    }


class Query:
    isActive = True

    def __init__(self) -> None:
        self.recentProgress: list[dict[str, Any]] = []

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        return self.recentProgress[-1] if self.recentProgress else None


def test_each_trigger_counts_once() -> None:
    query: Any = Query()
    totals = Totals('by "hour"')
    totals.take("files", query)
    assert totals.render().decode().splitlines() == [
        "# HELP kcli_pipeline_active 1 while the sink's query runs.",
        "# TYPE kcli_pipeline_active gauge",
        'kcli_pipeline_active{pipeline="by \\"hour\\"",sink="files"} 1',
        *(f'{line}{{pipeline="by \\"hour\\"",sink="files"}} 0' if line[0] != "#" else line for line in COUNTERS),
    ]
    query.recentProgress = [trigger(0, 1, 100, 50), trigger(1, 2, 40, 10)]
    totals.take("files", query)
    totals.take("files", query)
    # It found nothing; then the same batch came to be.
    query.recentProgress = [*query.recentProgress, trigger(2, 12, 0, 0), trigger(2, 14, 20, 3)]
    totals.take("files", query)
    query.isActive = False
    totals.take("files", query)
    values = {
        line.partition("{")[0].removeprefix("kcli_pipeline_"): float(line.rpartition(" ")[2])
        for line in totals.render().decode().splitlines()
        if not line.startswith("#")
    }
    assert values == {
        "active": 0,
        "batches_total": 3,
        "rows_in_total": 160,
        "rows_out_total": 80,
        "batch_milliseconds_total": 120,
        "batch_milliseconds": 40,
        "watermark_seconds": 1357034400.5,
        "lag_offsets": 3,
    }
    assert 'sink="files",topic="flights",partition="0"} 3' in totals.render().decode()


COUNTERS = [
    line
    for metric in METRICS
    if metric.name.rpartition("_")[0].endswith(("batches", "rows_in", "batch_milliseconds"))
    for line in (f"# HELP {metric.name} {metric.documentation}", f"# TYPE {metric.name} counter", metric.name)
]


def test_the_guide_has_them_all(checkout: Path) -> None:
    guide = (checkout / "docs" / "spark.md").read_text()
    assert [metric.name for metric in METRICS if f"`{metric.name}`" not in guide] == []
