"""docs/metrics.md, from the table: `python -m kcore.metrics.reference > docs/metrics.md`; a test keeps it current."""

from __future__ import annotations

from kcore.metrics.table import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.metrics.definition import Metric

INTRODUCTION = """\
# Metrics

Set `metrics.port`, and the broker serves what follows at `http://<metrics.host>:<metrics.port>/metrics`, in Prometheus'
text format 0.0.4, with `/health` and `/ready` beside it. `kcli top` shows it in the terminal, and
`docs/grafana/kcli.json` is a dashboard for Grafana.

Counting is native and always on; the endpoint is off by default, and costs nothing then.

Names are Kafka's, as its usual configuration of the JMX exporter forms them: domain, type and name of the MBean in
lower case, `_total` behind counters, the MBean's other properties as labels. Where Kafka has a rate there is a counter,
of which Prometheus takes the rate itself. A metric of topics without a label stands for all topics together, as Kafka's
MBean without one does. Histograms have fixed buckets, each bound twice the one before (for sizes, four times); where
the JMX exporter gives quantiles, ask `histogram_quantile(0.99, rate(..._bucket[1m]))`.

This file is generated from `kcore/metrics/table.py`.
"""


def pages() -> Iterator[str]:
    """The lines of the file."""
    yield INTRODUCTION.rstrip("\n")
    for title, metrics in SECTIONS.items():
        yield ""
        yield f"## {title}"
        for metric in metrics:
            yield ""
            yield from entry(metric)


def entry(metric: Metric) -> Iterator[str]:
    yield f"### `{metric.name}`"
    yield ""
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    yield f"{metric.documentation}"
    yield ""
    yield f"- type: {metric.type}, unit: {metric.unit}, labels: {labels}"
    yield f"- Kafka: `{metric.mbean}`" if metric.mbean is not None else "- Kafka: nothing of the kind"


if __name__ == "__main__":
    print("\n".join(pages()))
