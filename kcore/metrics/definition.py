"""The notation of a metric: its name, type, labels and unit, the MBean that Kafka has for it, and what it says.

Names are Kafka's, in the form that its usual configuration of the Prometheus JMX exporter gives them: the MBean's
domain, type and name in lower case, joined by underscores, `_total` behind counters and the MBean's other properties as
labels. What Kafka does not have begins with `kcli_`.
"""

from __future__ import annotations

COUNTER = "counter"
GAUGE = "gauge"
HISTOGRAM = "histogram"


class Metric:
    """One family of series. `mbean` is None where Kafka has nothing of the kind."""

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
        """The names of this family's samples in the exposition."""
        if self.type != HISTOGRAM:
            return [self.name]
        return [f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count"]
