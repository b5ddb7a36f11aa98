"""The plugins of tests/plan in runs of pytest over a suite that is made for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = ("suite_size", "durations", "order")
TIMEOUT_S = 120
SPENDS_TIME = """
import time
def test_one():
    end = time.process_time() + 2.5
    while time.process_time() < end: pass
def test_two(): pass
"""
IN_TURN = """
import pathlib
def test_one(): pathlib.Path("played").open("a").write(__name__ + "\\n")
def test_two(): pass
def test_three(): pass
"""


class FakeSuite:
    """A directory with test files, and pytest over it with our plugins alone."""

    def __init__(self, directory: Path, checkout: Path) -> None:
        self.directory = directory
        self._checkout = checkout
        (directory / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *arguments: str, code: int = 0) -> str:
        plugins = [word for name in PLUGINS for word in ("-p", f"tests.plan.{name}")]
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "KCLI_"))}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugins, *arguments],
            cwd=self.directory,
            env={**environment, "PYTHONPATH": str(self._checkout)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def played(self) -> list[str]:
        return (self.directory / "played").read_text().split()


@pytest.fixture
def suite(tmp_path: Path, checkout: Path) -> FakeSuite:
    return FakeSuite(tmp_path, checkout)


@pytest.mark.parametrize("workers", [(), ("-n", "2", "--dist", "loadfile")], ids=["alone", "xdist"])
def test_durations_are_those_of_all_workers(suite: FakeSuite, workers: tuple[str, ...]) -> None:
    suite.write("test_a.py", SPENDS_TIME)
    suite.write("test_b.py", SPENDS_TIME)
    suite.write("test_short.py", "def test_it(): pass")
    suite.write("durations.json", '{"test_gone.py": [9, 9]}')
    suite.run("--record-durations", "--durations-file", "durations.json", *workers)
    found = json.loads((suite.directory / "durations.json").read_text())
    assert list(found) == ["test_a.py", "test_b.py"]
    assert all(wall_s >= cpu_s >= 2 for wall_s, cpu_s in found.values())


def test_random_order_is_repeated_by_its_seed(suite: FakeSuite) -> None:
    for number in range(9):
        suite.write(f"test_{number}.py", IN_TURN)
    output = suite.run("--random-order")
    first = suite.played()
    assert sorted(first) == [f"test_{number}" for number in range(9)]
    (line,) = [line for line in output.splitlines() if "--random-order-seed" in line]
    (suite.directory / "played").unlink()
    suite.run("--random-order-seed", line.split()[-1])
    assert suite.played() == first
    (suite.directory / "played").unlink()
    suite.run("-n", "2", "--dist", "loadfile", "--random-order-seed", line.split()[-1])
    assert sorted(suite.played()) == sorted(first)


def test_a_suite_of_small_size_leaves_out_what_is_marked(suite: FakeSuite) -> None:
    marked = "import pytest\n@pytest.mark.full_size\ndef test_long(): pass\ndef test_quick(): pass\n"
    suite.write("tests/spark/test_a.py", marked)
    suite.write("tests/unit/test_b.py", marked)
    output = suite.run("tests")
    assert "3 passed, 1 deselected" in output
    assert output.count("suite spark: small size (--suites small)") == 2, "at the head and in the summary"
    assert "4 passed" in suite.run("tests", "--suites", "full")
    assert "2 passed" in suite.run("tests/spark"), "it is named"
    assert "suite spark: in full (named on the command line)" in suite.run("tests/spark/test_a.py")
    assert "1 passed, 1 deselected" in suite.run("tests/spark", "--small-suites", "spark")
    assert "3 passed" in suite.run("tests", "-n", "2", "--dist", "loadfile")
