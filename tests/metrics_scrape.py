"""A broker's metrics as its endpoint serves them, read by Prometheus' own parser."""

from __future__ import annotations

import re
import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from tests.broker_process import BrokerProcess


class Metrics:
    """One scrape. `value(name, label=...)` is that series', 0 where there is none yet."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self.samples = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in self.families.values()
            for sample in family.samples
        }

    def value(self, name: str, **labels: str) -> float:
        return self.samples.get((name, frozenset(labels.items())), 0.0)

    def total(self, name: str, **labels: str) -> float:
        """Over all series with these labels and any others."""
        wanted = labels.items()
        return sum(value for (found, others), value in self.samples.items() if found == name and wanted <= others)


def metrics_url(broker: BrokerProcess) -> str:
    """Where a broker started with metrics.port=0 serves them."""
    found = re.findall(r"Metrics are served at (\S+)", broker.log())
    assert found, "the broker was not started with metrics.port"
    return str(found[-1])


def scrape(broker: BrokerProcess) -> Metrics:
    with urllib.request.urlopen(metrics_url(broker), timeout=30) as answer:
        return Metrics(answer.read().decode())
