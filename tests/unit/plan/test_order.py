"""Units of work: what takes longest comes first, and what shares a Spark session stays together."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.plan import order


def order_of(names: list[str], durations: dict[str, tuple[int, int]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(order, "read_durations", lambda: durations)
    items = [SimpleNamespace(nodeid=name) for name in names]
    order.longest_first(items)  # type: ignore[arg-type]
    return [item.nodeid for item in items]


def test_longest_files_come_first_and_tests_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a.py::two", "a.py::one", "b.py::one", "c.py::one", "c.py::two"]
    durations = {"b.py": (90, 1), "c.py": (9, 9)}
    assert order_of(names, durations, monkeypatch) == ["b.py::one", "c.py::one", "c.py::two", "a.py::two", "a.py::one"]


def test_files_of_spark_are_one_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a.py::one", "tests/spark/x.py::one", "b.py::one", "tests/spark/y.py::one"]
    durations = {"a.py": (50, 1), "tests/spark/x.py": (30, 1), "tests/spark/y.py": (30, 1)}
    found = order_of(names, durations, monkeypatch)
    assert found == ["tests/spark/x.py::one", "tests/spark/y.py::one", "a.py::one", "b.py::one"]


def test_tests_of_a_divided_file_are_units() -> None:
    (name,) = order.DIVIDED
    assert order.unit_of(f"{name}::test[a]") != order.unit_of(f"{name}::test[b]")
    assert order.unit_of("tests/unit/a.py::test[a]") == order.unit_of("tests/unit/a.py::test[b]")
