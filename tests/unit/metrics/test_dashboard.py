"""The dashboard for Grafana asks for metrics and labels that there are, and for every section of the table."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from kcore.metrics.table import METRICS, SECTIONS

SERIES = {series: metric for metric in METRICS.values() for series in metric.series_names()}
# Of PromQL, and of Grafana.
FUNCTIONS = {"avg", "count", "deriv", "histogram_quantile", "label_values", "max", "rate", "sum", "time"}
OTHER_LABELS = {"instance", "le"}
SELECTOR = re.compile(r"([a-z_][a-z0-9_]*)\{([^}]*)\}")
# What is left of an expression without selectors, texts, ranges and groupings are functions and numbers.
IGNORED = re.compile(r'\{[^}]*\}|"[^"]*"|\[[^]]*\]|by \([^)]*\)')


@pytest.fixture(scope="module")
def dashboard(checkout: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((checkout / "docs" / "grafana" / "kcli.json").read_text())
    return found


def expressions(dashboard: dict[str, Any]) -> list[str]:
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]


def test_every_metric_and_label_that_is_asked_for_exists(dashboard: dict[str, Any]) -> None:
    asked = expressions(dashboard)
    assert len(asked) > 50
    for expression in asked:
        assert SELECTOR.search(expression), expression
        for name, matchers in SELECTOR.findall(expression):
            assert name in SERIES, f"{name} in {expression}"
            for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers):
                assert label in {*SERIES[name].labels, *OTHER_LABELS}, f"{label} in {expression}"
        words = re.findall(r"[a-z_]+", IGNORED.sub(" ", expression))
        assert {word for word in words if word not in SERIES} <= FUNCTIONS, expression


def test_grouping_and_legends_name_labels_that_are_there(dashboard: dict[str, Any]) -> None:
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            [first, *_] = SELECTOR.findall(target["expr"])
            known = {*SERIES[first[0]].labels, *OTHER_LABELS}
            grouped = [
                label.strip() for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in group.split(",")
            ]
            assert set(grouped) <= known, target
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= (set(grouped) if grouped else known), (
                target
            )


def test_variables_come_from_metrics_that_exist(dashboard: dict[str, Any]) -> None:
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            found = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"])
            assert found is not None
            assert found[2] in {*SERIES[found[1]].labels, "instance"}
            used = f"${variable['name']}"
            assert any(used in expression for expression in expressions(dashboard))


def test_every_metric_is_on_a_panel(dashboard: dict[str, Any]) -> None:
    asked = {SERIES[name].name for expression in expressions(dashboard) for name, _ in SELECTOR.findall(expression)}
    for title, section in SECTIONS.items():
        assert {metric.name for metric in section} <= asked, title


def test_counters_are_shown_as_rates(dashboard: dict[str, Any]) -> None:
    for expression in expressions(dashboard):
        for match in SELECTOR.finditer(expression):
            if match[1].endswith(("_total", "_bucket", "_count")) and SERIES[match[1]].type != "gauge":
                assert expression[: match.start()].endswith("rate("), expression


def test_panels_have_a_place_and_a_number_of_their_own(dashboard: dict[str, Any]) -> None:
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for panel in panels:
        assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above
