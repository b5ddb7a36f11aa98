"""docs/metrics.md says what the table says, and a broker has every metric of the table."""

from __future__ import annotations

import re
from pathlib import Path

from kcore.metrics.reference import pages
from kcore.metrics.table import METRICS, SECTIONS


def test_the_reference_is_current(checkout: Path) -> None:
    written = (checkout / "docs" / "metrics.md").read_text()
    assert written == "\n".join(pages()) + "\n", "run: python -m kcore.metrics.reference > docs/metrics.md"


def test_names_are_unique_and_in_prometheus_form() -> None:
    assert len(METRICS) == sum(len(section) for section in SECTIONS.values())
    for metric in METRICS.values():
        assert re.fullmatch(r"(kafka|kcli|process)_[a-z0-9_]+", metric.name)
        assert (metric.type == "counter") == metric.name.endswith("_total"), metric.name
        assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", label) for label in metric.labels)
