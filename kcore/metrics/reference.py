"""Generates docs/metrics.md: `python -m kcore.metrics.reference > docs/metrics.md`. A test keeps it current."""

from __future__ import annotations

from kcore.metrics.table import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from kcore.metrics.definition import Metric

INTRODUCTION = """\
# Metrics

Set `metrics.port` to serve these metrics at `http://<metrics.host>:<metrics.port>/metrics`, in Prometheus' text format
0.0.4. The same port serves `/health` and `/ready`. `kcli top` shows the metrics in the terminal.
`docs/grafana/kcli.json` is a dashboard for Grafana.

The endpoint is off by default. The broker counts natively and always.

Names are those of Kafka's usual configuration of the JMX exporter: domain, type and name of the MBean in lower case,
with `_total` for counters. Other properties of the MBean are labels. Kafka's rates are counters here; compute rates in
Prometheus. A topic metric without a label is the total of all topics, as in Kafka. Histograms have fixed buckets. Each
limit is twice the previous one, and four times for sizes. Where the JMX exporter has quantiles, use
`histogram_quantile(0.99, rate(..._bucket[1m]))`.

This file is generated from `kcore/metrics/table.py`.
"""


def pages() -> Iterator[str]:
    """The lines of docs/metrics.md."""
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
    yield f"- Kafka: `{metric.mbean}`" if metric.mbean is not None else "- Kafka: no such metric"


if __name__ == "__main__":
    print("\n".join(pages()))
