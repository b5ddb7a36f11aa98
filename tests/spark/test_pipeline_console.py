"""README's pipeline, as a user runs it: the rows of its console sink are seen, and its mistakes are found."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from tests.leftovers import Leftovers
from tests.spark.session import modest_settings, own_name
from tests.terminal import Terminal

EXAMPLE = re.compile(r"^```toml\n(\[sources\.flights\].*?)^```$", re.MULTILINE | re.DOTALL)
FLIGHTS = [("AA", 20), ("UA", 3), ("UA", 16), ("AA", 90), ("UA", "NA"), ("AA", 33)]
# Of the flights, as the example counts them: Spark's own table.
ROWS = {"|carrier|flights|", "|     AA|      3|", "|     UA|      1|"}
TIMEOUT_S = 800.0

pytestmark = pytest.mark.needs("java")


class Example:
    """README's file in a directory of its own, with a topic of a few flights."""

    def __init__(self, broker: EmbeddedBroker, checkout: Path, directory: Path) -> None:
        self.leftovers = Leftovers(directory)
        self.path = directory / "flights.toml"
        self.topic = own_name("flights")
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for carrier, delay in FLIGHTS:
                producer.send(
                    self.topic,
                    f"2013,1,1,517,515,{'NA' if delay is None else delay},830".encode(),
                    key=carrier.encode(),
                )
        (example,) = EXAMPLE.findall((checkout / "README.md").read_text())
        example = example.replace("localhost:9092", broker.bootstrap_servers)
        example = example.replace('subscribe = "flights"', f'subscribe = "{self.topic}"')
        settings = "\n".join(f'"{key}" = "{value}"' for key, value in modest_settings(self.leftovers.temporary).items())
        self.text = f'master = "local[2]"\n[spark]\n{settings}\n{example}'
        self.path.write_text(self.text)

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "kcli", "pipeline", arguments[0], str(self.path), *arguments[1:]]


@pytest.fixture
def example(broker: EmbeddedBroker, checkout: Path, tmp_path: Path) -> Example:
    return Example(broker, checkout, tmp_path)


@pytest.mark.full_size
@pytest.mark.timeout(900)  # A JVM comes and goes, on whatever machine.
def test_rows_are_above_the_live_view_on_a_terminal(example: Example) -> None:
    master, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (30, 120))
    running = subprocess.Popen(
        example.command("run"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**example.leftovers.environment, "TERM": "xterm-256color"},
        process_group=0,
    )
    os.close(terminal)
    shown = b""
    is_interrupted = False
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
            # The view of the batch that wrote them comes behind the rows.
            if not is_interrupted and re.search(rb"console +0 ", shown):
                is_interrupted = True
                os.killpg(running.pid, signal.SIGINT)
    except OSError:
        pass  # the terminal ends with its last writer
    finally:
        os.close(master)
        running.kill()
    screen = Terminal()
    screen.feed(shown.decode())
    lines = screen.lines()
    assert running.wait(TIMEOUT_S) == 130, lines
    assert set(lines) >= ROWS, lines
    views = [number for number, line in enumerate(lines) if line.startswith("SINK ")]
    assert len(views) == 1, "the view is drawn in place"
    assert max(map(lines.index, ROWS)) < views[0]
    assert "flights: stopped; all batches are finished" in lines
    example.leftovers.await_ends()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("output", ["table", pytest.param("jsonl", marks=pytest.mark.full_size)])
def test_rows_are_printed_where_there_is_no_terminal(example: Example, output: str) -> None:
    example.path.write_text(example.text + 'trigger = "available-now"\n')
    done = subprocess.run(
        example.command("run", "-o", output),
        env=example.leftovers.environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed, other = (done.stdout, done.stderr) if output == "table" else (done.stderr, done.stdout)
    assert set(printed.splitlines()) >= ROWS
    assert not ROWS & set(other.splitlines())
    if output == "jsonl":
        views = [json.loads(line) for line in done.stdout.splitlines()]
        assert views[-1]["sinks"][0]["sink"] == "console"
    example.leftovers.await_ends()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("command", ["check", pytest.param("run", marks=pytest.mark.full_size)])
def test_all_mistakes_are_reported_in_one_run(broker: EmbeddedBroker, example: Example, command: str) -> None:
    missing = f"{example.topic}s"
    for right, wrong in (
        ("startingOffsets", "startingOffset"),
        (f'subscribe = "{example.topic}"', f'subscribe = "{missing}"'),
        ("dep_delay >", "dep_dealy >"),
        ('mode = "complete"', 'mode = "compleet"'),
    ):
        assert example.text.count(right) == 1
        example.text = example.text.replace(right, wrong)
    example.path.write_text(example.text)
    done = subprocess.run(
        example.command(command),
        env=example.leftovers.environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    place = f"kcli pipeline {command}: {example.path}: "
    *others, column = done.stderr.splitlines()
    assert others == [
        f"{place}sinks.console.mode: must be one of append, complete, update, not 'compleet'; did you mean 'complete'?",
        f"{place}sources.flights.options.startingOffset: unknown option; did you mean 'startingOffsets'?",
        f"{place}sources.flights.options.subscribe: topic {missing} does not exist at {broker.bootstrap_servers}; did "
        f"you mean '{example.topic}'? Create it with: kcli topics create --topic {missing}",
    ], "no stack, and no step or sink behind a broken one"
    assert column.startswith(f"{place}steps.late.sql: unknown column dep_dealy; did you mean 'dep_delay'?")
    assert not example.path.with_name("flights-checkpoint").exists(), "nothing was started"
    example.leftovers.await_ends()
