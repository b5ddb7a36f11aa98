"""Starts what a seed runs against: one broker with a fuzzer, or two brokers with the comparison of both paths."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tests.fuzz.requests.both_paths import PathComparison
from tests.fuzz.requests.broker import Build, FuzzedBroker
from tests.fuzz.requests.fuzzing import Fuzzer


class Runner(Protocol):
    def run(self, seed: int, count: int = ..., only: Sequence[int] | None = None) -> int:
        """The number of requests sent; raises Finding."""

    def finish(self) -> None:
        """Ends the brokers in good order; raises Finding."""

    def close(self) -> None: ...


@contextmanager
def arena(build: Build) -> Iterator[Runner]:
    """New brokers on an empty directory; they are killed at the end."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kcli-fuzz-")))
        runner: Runner
        if build.both_paths:
            builds = {"native": replace(build, native=True), "python": replace(build, native=False)}
            for name in builds:
                (directory / name).mkdir()
            brokers = [stack.enter_context(FuzzedBroker(directory / name, each)) for name, each in builds.items()]
            runner = PathComparison(*brokers)
        else:
            runner = Fuzzer(stack.enter_context(FuzzedBroker(directory, build)))
        stack.callback(runner.close)
        yield runner
