"""Runs and presents any measurement: workers, live view, comparison, result file."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from typing import NamedTuple

import click

from kcli.failures import UsageFailure
from kcli.output import TABLE, write_object
from kcli.performance.outcome import Outcome
from kcli.performance.tally import Tally, Window
from kcli.performance.workers import run_workers, shares_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any

    from kcli.performance.live_screen import LiveScreen
    from kcli.performance.tally import Done
    from kcli.performance.workers import Work

    OnWindow = Callable[[Window], None]
    # The outcome for a bootstrap server and the number of a round.
    Measure = Callable[[str, int], Outcome]

LIVE_INTERVAL_S = 0.5
# An interval that is shorter by clock and scheduling errors still counts as full.
FULL_INTERVAL = 0.99
DEFAULT_ROUNDS = 3


class Measuring(NamedTuple):
    """The options that all measurements share."""

    output: str
    threads: int = 1
    processes: int = 1
    warm_up_records: int = 0
    live: bool | None = None
    result_file: str | None = None
    against: str | None = None
    rounds: int = DEFAULT_ROUNDS

    @property
    def workers(self) -> int:
        return max(self.threads, self.processes)

    @property
    def is_live(self) -> bool:
        """Live by default if stderr is a terminal and the output is a table."""
        return self.live if self.live is not None else self.output == TABLE and sys.stderr.isatty()

    def interval_s(self, reporting_interval_ms: int) -> float:
        """How often workers report, in seconds."""
        interval_s = reporting_interval_ms / 1000.0
        return min(LIVE_INTERVAL_S, interval_s) if self.is_live else interval_s

    def run(
        self, title: str, work: Work, records: int, throughput: float = -1.0, on_window: OnWindow | None = None
    ) -> Outcome:
        """Measures once. Windows go to the live view if there is one, otherwise to `on_window`."""
        outcome = Outcome(self.warm_up_records)
        shares = shares_of(self.workers, records, self.warm_up_records, throughput)
        with self._screen(title, records) as screen:

            def emit(event: Window | Done) -> None:
                outcome.take(event)
                if screen is not None:
                    screen.take(event)
                elif on_window is not None and isinstance(event, Window):
                    on_window(event)

            run_workers(work, shares, emit, in_processes=self.processes > 1)
        return outcome

    def _screen(self, title: str, records: int) -> AbstractContextManager[LiveScreen | None]:
        if not self.is_live:
            return nullcontext()
        from kcli.performance.live_screen import LiveScreen

        return LiveScreen(title, records)

    def present(self, server: str, measure: Measure, print_result: Callable[[Outcome], None]) -> Outcome | None:
        """Measures one cluster, or two in turn, and prints the result. Returns None for a comparison."""
        if self.against is not None:
            self._compare([server, self.against], measure)
            return None
        outcome = measure(server, 0)
        if self.output == TABLE:
            print_result(outcome)
        else:
            write_object(outcome.summary())
        self._write_result({**outcome.summary(), "failures": outcome.failures, "curve": outcome.curve})
        return outcome

    def _compare(self, servers: list[str], measure: Measure) -> None:
        from kcli.performance import comparison

        def summary(server: str, number: int) -> dict[str, Any]:
            judged = measure(server, number).judged()
            figures = f"{judged['records_per_s']:,.0f} records/s, p99 {judged['latency_ms']['p99']:.2f} ms"
            click.echo(f"round {number + 1} of {self.rounds}: {server}: {figures}", err=True)
            return judged

        rounds = comparison.alternate(summary, servers, self.rounds)
        result = comparison.as_json(servers, rounds)
        self._write_result(result)
        if self.output != TABLE:
            write_object(result)
            return
        from rich.console import Console

        Console(file=sys.stdout).print(comparison.table(servers, rounds))

    def _write_result(self, result: dict[str, Any]) -> None:
        if self.result_file is None:
            return
        import json

        with open(self.result_file, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


def measuring_of(warm_up_records: int, *, rounds: int | None, **given: Any) -> Measuring:
    """The measuring options of a command line, checked before the run. Raises UsageFailure or OSError."""
    if rounds is not None and given["against"] is None:
        raise UsageFailure("--rounds needs a second cluster to compare with: add --against HOST:PORT")
    if given["result_file"] is not None:
        _check_writable(given["result_file"])
    return Measuring(warm_up_records=warm_up_records, rounds=rounds or DEFAULT_ROUNDS, **given)


def _check_writable(path: str) -> None:
    """Opens the file, which keeps its content, or creates and removes it."""
    exists = os.path.exists(path)
    with open(path, "a", encoding="utf-8"):
        pass
    if not exists:
        os.remove(path)


class ProgressLines:
    """Adds the windows of all workers and prints a line per interval; warm-up and steady state are separate."""

    def __init__(
        self,
        interval_s: float,
        line: Callable[[Tally, float], str],
        echo: Callable[[str], object],
        steady_notice: str | None = None,
    ) -> None:
        self._interval_s = interval_s * FULL_INTERVAL
        self._line = line
        self._echo = echo
        self._steady_notice = steady_notice
        self._is_steady = False
        self._tally = Tally()
        self._began_s: float | None = None

    def take(self, window: Window) -> None:
        if self._began_s is None:
            self._began_s = window.began_s
        self._is_steady = self._is_steady or window.steady.records > 0
        self._tally.merge(window.steady if self._is_steady else window.all)
        elapsed_s = window.ended_s - self._began_s
        if elapsed_s < self._interval_s or not self._tally.records:
            return
        if self._is_steady and self._steady_notice is not None:
            self._echo(self._steady_notice)
            self._steady_notice = None
        self._echo(self._line(self._tally, elapsed_s))
        self._tally, self._began_s = Tally(), window.ended_s
