"""How long each test file takes: `--record-durations` updates tests/durations.json with the files that were played.

An entry is [wall-clock seconds, CPU seconds] with setup and teardown. CPU time is that of the pytest process and of its
children that have ended; brokers and JVMs that outlive a file are not in it. Files under two seconds have no entry.
Figures are rounded. An entry stays while the new figure is within a third of it, so that a refresh changes few lines.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

from tests.plan.suite_size import is_small

ROOT = Path(__file__).resolve().parents[2]
DURATIONS = ROOT / "tests" / "durations.json"
SHORT_S = 2.0
# A file without an entry counts as this.
UNKNOWN_S = 1.0
STAYS_WITHIN = 1 / 3

Entry = tuple[int, int]


def read_durations(path: Path = DURATIONS) -> dict[str, Entry]:
    """By the file's path in the checkout."""
    if not path.exists():
        return {}
    return {name: (wall_s, cpu_s) for name, (wall_s, cpu_s) in json.loads(path.read_text()).items()}


def write_durations(durations: Mapping[str, Entry], path: Path = DURATIONS) -> None:
    """One sorted line per file."""
    lines = [f"  {json.dumps(name)}: {json.dumps(list(durations[name]))}" for name in sorted(durations)]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def rounded(seconds: float) -> int:
    """Two digits at most."""
    step = 1 if seconds < 20 else 5 if seconds < 100 else 10
    return round(seconds / step) * step


def merged(
    old: Mapping[str, Entry], measured: Mapping[str, tuple[float, float]], root: Path = ROOT
) -> dict[str, Entry]:
    """The old entries with the new measurements; entries of files that no longer exist are dropped."""
    result = {name: entry for name, entry in old.items() if (root / name).exists()}
    for name, (wall_s, cpu_s) in measured.items():
        if wall_s < SHORT_S:
            result.pop(name, None)
        elif name not in result or not is_close(result[name][0], wall_s):
            result[name] = (rounded(wall_s), rounded(cpu_s))
    return result


def is_close(old_s: float, new_s: float) -> bool:
    return abs(new_s - old_s) <= max(1.0, old_s * STAYS_WITHIN)


def cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-durations",
        action="store_true",
        help="update tests/durations.json with how long each played test file took",
    )
    parser.addoption("--durations-file", default=str(DURATIONS), help="a file to update instead")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record-durations"):
        config.pluginmanager.register(ProcessorTime(), "kcli-processor-time")
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recorder(), "kcli-durations")


class ProcessorTime:
    """Adds the CPU time of each phase of a test to its report, which pytest-xdist carries to the main process."""

    def __init__(self) -> None:
        self._before = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        now = cpu_seconds()
        report.__dict__["cpu_s"], self._before = now - self._before, now
        return report


class Recorder:
    """Adds up the reports of all workers."""

    def __init__(self) -> None:
        self._wall_s: dict[str, float] = defaultdict(float)
        self._cpu_s: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("::")[0]
        self._wall_s[name] += report.duration
        self._cpu_s[name] += getattr(report, "cpu_s", 0.0)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        # An interrupted run has played only parts of some files.
        if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            return
        # A suite of small size says nothing about its full size.
        measured = {
            name: (wall_s, self._cpu_s[name])
            for name, wall_s in self._wall_s.items()
            if not is_small(session.config, name)
        }
        path = Path(session.config.getoption("--durations-file"))
        write_durations(merged(read_durations(path), measured, session.config.rootpath), path)
