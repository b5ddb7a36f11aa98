"""The plugins of tests/plan in runs of pytest over a suite that is made for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGINS = ("suite_size", "durations", "order", "processes")
TIMEOUT_S = 120
SPENDS_TIME = """
import time
def test_one():
    end = time.process_time() + 2.2
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
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "xdist.plugin", *plugins, *arguments],
            cwd=self.directory,
            env={**environment, "PYTHONPATH": str(self._checkout), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
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
    suite.write("test_short.py", "def test_it(): pass")
    suite.write("durations.json", '{"test_gone.py": [9, 9]}')
    suite.run("--record-durations", "--durations-file", "durations.json", *workers)
    found = json.loads((suite.directory / "durations.json").read_text())
    assert list(found) == ["test_a.py"], "one is short and one is gone"
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
    named = suite.run("tests/spark/test_a.py")
    assert "suite spark: in full (named on the command line)" in named
    assert "2 passed" in named
    assert "3 passed" in suite.run("tests", "-n", "2", "--dist", "loadfile")


PROCESSES = """
import os, pathlib, subprocess, sys, threading
import pytest

COMMAND = [sys.executable, "-c", "import time; time.sleep(600)"]

def start(name):
    process = subprocess.Popen(COMMAND)
    pathlib.Path(name).write_text(str(process.pid))
    return process

def lives(name):
    return pathlib.Path("/proc", pathlib.Path(name).read_text()).exists()

@pytest.fixture(scope="module")
def of_module():
    process = start("module")
    yield process
    process.kill()
    process.wait()

@pytest.fixture
def of_test():
    return start("fixture")

def test_that_leaves_two(of_module, of_test):
    start("call")

def test_that_raises():
    with start("block"):
        raise ValueError("in the block")

def test_after_them(of_module):
    assert lives("module")
    assert not lives("call")
    assert not lives("fixture")
    assert not lives("block")
"""
DEAD = """
import pytest

class Broker:
    is_running = True
    def log(self): return "its last words"

@pytest.fixture(scope="session")
def broker(): return Broker()

@pytest.fixture(scope="session")
def client(broker): return "client"

def test_that_ends_it(broker): broker.is_running = False
def test_that_needs_it(client): raise AssertionError("it was called")
def test_that_does_not(): pass
"""


def test_processes_of_a_test_end_with_it(suite: FakeSuite) -> None:
    suite.write("test_a.py", PROCESSES)
    output = suite.run(code=1)
    assert "1 failed, 2 passed" in output
    assert "ValueError: in the block" in output


def test_a_dead_broker_of_the_session_fails_at_once(suite: FakeSuite) -> None:
    suite.write("test_a.py", DEAD)
    output = suite.run(code=1)
    assert "1 failed, 2 passed" in output
    assert "broker, which tests of this session share, has ended; the end of its log:\nits last words" in output
    assert "it was called" not in output
