"""A pipeline's queries start one after another: each when the sources of the one before are there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kspark.pipeline.definition import Pipeline, Sink
from kspark.pipeline.run import Run, Running

LOOKS = 3


class Query:
    """Its sources are there after a few looks at its status."""

    isActive = True

    def __init__(self, name: str, told: list[str]) -> None:
        self._name = name
        self._told = told
        self._looks = LOOKS
        told.append(f"{name} starts")

    @property
    def status(self) -> dict[str, str]:
        if self._looks:
            self._looks -= 1
            return {"message": "Initializing sources"}
        self._told.append(f"{self._name} has its sources")
        return {"message": "Processing new data"}


def run_of(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> Run:
    sinks = [Sink(name, "numbers", "console", "append", None, None, (), {}) for name in ("one", "two")]
    frames: Any = SimpleNamespace(of_sink=lambda sink: SimpleNamespace(isStreaming=True))
    run = Run(Pipeline("numbers", ".", "checkpoint", None, {}, [], [], sinks), frames)

    def begun(sink: Sink) -> Running:
        query: Any = Query(sink.name, told)
        return Running(sink, query)

    monkeypatch.setattr(run, "_begun", begun)
    return run


def test_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    run_of(monkeypatch, told).start()
    assert told == ["one starts", "one has its sources", "two starts", "two has its sources"]


def test_a_run_that_is_to_end_waits_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    run = run_of(monkeypatch, told)
    monkeypatch.setattr(Query, "status", property(lambda _: run.end_soon() or {"message": "Initializing sources"}))
    run.start()
    assert told == ["one starts"]
