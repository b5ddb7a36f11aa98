"""The registry of a broker's metrics and the sources of their values.

A source is a callable that returns the present samples of one or several metrics. Nothing is kept between scrapes. If a
source fails, the error is logged, its metrics are left out, and all others are reported.

Format: Prometheus text format 0.0.4.
"""

from __future__ import annotations

from kcore.logger import get_logger
from kcore.metrics.definition import HISTOGRAM
from kcore.metrics.table import METRICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from kcore.metrics.definition import Metric

    # (metric name, label values, value). If there are fewer values than labels, the last labels are left out.
    Sample: TypeAlias = "tuple[str, tuple[str, ...], float | HistogramValue]"
    Source: TypeAlias = "Callable[[], Iterable[Sample]]"

LOG = get_logger("kcore.metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# For label values. Documentation is not escaped.
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class HistogramValue:
    """A histogram to render. `counts` are by the buckets of kcore.metrics.histogram.

    The rendered bounds are 2**first, then every `step`-th power up to 2**last. `bound_scale` and `sum_scale` convert
    bounds and sum to the metric's unit.
    """

    __slots__ = ("bound_scale", "counts", "first", "last", "step", "sum", "sum_scale")

    def __init__(
        self,
        counts: Sequence[int],
        sum: int,
        *,
        first: int,
        last: int,
        step: int = 1,
        bound_scale: float = 1.0,
        sum_scale: float = 1.0,
    ) -> None:
        self.counts = counts
        self.sum = sum
        self.first = first
        self.last = last
        self.step = step
        self.bound_scale = bound_scale
        self.sum_scale = sum_scale

    def cumulative(self) -> Iterable[tuple[str, int]]:
        """Pairs of the label `le` and the number of values up to this bound. The last one, +Inf, counts all."""
        passed = sum(self.counts[: self.first])
        for exponent in range(self.first, self.last + 1):
            passed += self.counts[exponent]
            if (exponent - self.first) % self.step == 0:
                yield number(2**exponent * self.bound_scale), passed
        yield "+Inf", sum(self.counts)


def duration_histogram(counts: Sequence[int], sum_ns: int) -> HistogramValue:
    """A histogram of durations in microseconds, rendered in milliseconds: bounds from 4 us to 67 s."""
    return HistogramValue(counts, sum_ns, first=2, last=26, bound_scale=1e-3, sum_scale=1e-6)


def size_histogram(counts: Sequence[int], sum_bytes: int) -> HistogramValue:
    """A histogram of sizes: bounds from 64 bytes to 1 GiB, each four times the previous one."""
    return HistogramValue(counts, sum_bytes, first=6, last=30, step=2)


class Registry:
    """The metrics of a broker. Filled when the broker starts, and read by the thread of the endpoint."""

    __slots__ = ("_sources",)

    def __init__(self) -> None:
        self._sources: list[tuple[tuple[str, ...], Source]] = []

    def add(self, names: Sequence[str], source: Source) -> None:
        """Adds a source of samples for these metrics. Raises ValueError if a metric is not in the table."""
        for name in names:
            if name not in METRICS:
                raise ValueError(f"{name} is not in kcore/metrics/table.py")
        self._sources.append((tuple(names), source))

    def gauge(self, name: str, read: Callable[[], float]) -> None:
        """Adds a metric with a single value."""
        self.add((name,), lambda: [(name, (), read())])

    def names(self) -> list[str]:
        """The names of the metrics with a source."""
        return [name for names, _ in self._sources for name in names]

    def render(self) -> bytes:
        """All metrics in text format."""
        lines: list[str] = []
        for names, source in self._sources:
            try:
                samples = list(source())
            except Exception as error:
                LOG.error("%s cannot be read", names[0], cause=error)
                continue
            for name in names:
                lines += family(METRICS[name], [sample for sample in samples if sample[0] == name])
        lines.append("")
        return "\n".join(lines).encode()


def family(metric: Metric, samples: Sequence[Sample]) -> Iterable[str]:
    """The lines of one metric. None without samples."""
    if not samples:
        return
    yield f"# HELP {metric.name} {metric.documentation}"
    yield f"# TYPE {metric.name} {metric.type}"
    for _, values, value in samples:
        labels = ",".join(
            f'{label}="{text.translate(ESCAPES)}"' for label, text in zip(metric.labels, values, strict=False)
        )
        if metric.type == HISTOGRAM:
            assert isinstance(value, HistogramValue)
            yield from histogram_lines(metric.name, labels, value)
        else:
            assert not isinstance(value, HistogramValue)
            yield f"{metric.name}{braced(labels)} {number(value)}"


def histogram_lines(name: str, labels: str, value: HistogramValue) -> Iterable[str]:
    comma = "," if labels else ""
    count = 0
    for bound, count in value.cumulative():
        yield f'{name}_bucket{{{labels}{comma}le="{bound}"}} {count}'
    yield f"{name}_sum{braced(labels)} {number(value.sum * value.sum_scale)}"
    yield f"{name}_count{braced(labels)} {count}"


def braced(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


def number(value: float) -> str:
    """Formats integers without a decimal point, and others with up to 12 digits."""
    return str(int(value)) if value == int(value) else f"{value:.12g}"
