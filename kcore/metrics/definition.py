"""The definition of a metric: name, type, labels, unit, Kafka's MBean and documentation.

Names are those of Kafka's usual configuration of the Prometheus JMX exporter: the MBean's domain, type and name in
lower case, joined by underscores, with `_total` for counters. The MBean's other properties are labels. Metrics that
Kafka does not have begin with `kcli_`.
"""

from __future__ import annotations

COUNTER = "counter"
GAUGE = "gauge"
HISTOGRAM = "histogram"


class Metric:
    """One metric family. `mbean` is None if Kafka has no such metric."""

    __slots__ = ("documentation", "labels", "mbean", "name", "type", "unit")

    def __init__(
        self, name: str, type: str, labels: tuple[str, ...], unit: str, mbean: str | None, documentation: str
    ) -> None:
        self.name = name
        self.type = type
        self.labels = labels
        self.unit = unit
        self.mbean = mbean
        self.documentation = documentation

    def series_names(self) -> list[str]:
        """The names of the samples of this family in the text format."""
        if self.type != HISTOGRAM:
            return [self.name]
        return [f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count"]
