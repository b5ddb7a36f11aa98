"""Queries of a pipeline whose Python worker was late, which Spark gives ten seconds, on a machine that is busy."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from kspark.pipeline.definition import Pipeline, Sink
from kspark.pipeline.findings import PipelineError
from kspark.pipeline.frames import Frames
from kspark.pipeline.run import MOST_LATE_STARTS, Run, Running

LATE = "[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker failed to connect back."


class Query:
    """Ends before anybody looks; `failure` is why."""

    lastProgress = None
    isActive = False

    def __init__(self, failure: str | None) -> None:
        self._failure = failure

    def exception(self) -> Exception | None:
        return None if self._failure is None else ValueError(self._failure)

    def awaitTermination(self) -> None:
        raise PipelineError(str(self._failure))


class Watched(NamedTuple):
    run: Run
    failures: list[str | None]


def watched(monkeypatch: pytest.MonkeyPatch, *failures: str | None) -> Watched:
    """A run of one sink, whose starts come to these ends, one after another."""
    sink = Sink("out", "numbers", "console", "append", None, None, (), {})
    pipeline = Pipeline("numbers", ".", "checkpoint", None, {}, [], [], [sink])
    left = list(failures)
    frames: Any = object.__new__(Frames)
    run = Run(pipeline, frames)

    def begun(sink: Sink) -> Running:
        query: Any = Query(left.pop(0))
        return Running(sink, query)

    monkeypatch.setattr(run, "_begun", begun)
    run._running.append(begun(sink))
    return Watched(run, left)


def test_they_are_started_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    run, left = watched(monkeypatch, LATE, LATE, None)
    for _ in run.watch():
        pass
    assert not left


def test_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    run, left = watched(monkeypatch, *[LATE] * (MOST_LATE_STARTS + 2))
    with pytest.raises(PipelineError, match=r"sinks\.out: .*failed to connect back"):
        list(run.watch())
    assert len(left) == 1


def test_other_failures_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    run, left = watched(monkeypatch, "the topic is gone", None)
    with pytest.raises(PipelineError, match="the topic is gone"):
        list(run.watch())
    assert left == [None]


def test_a_run_that_is_to_end_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    run, left = watched(monkeypatch, LATE, None)
    run.end_soon()
    list(run.watch())
    assert left == [None]
