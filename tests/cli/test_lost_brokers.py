"""Commands whose broker is not there: they fail at once, or wait for it with --wait, and warn when they lose it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from kcore.testing import EmbeddedBroker
from kcore.testing.port_reservation import PortReservation
from tests.cli.conftest import Kcli

TIMEOUT_S = 60
CONSUMER = ("console-consumer", "lost", "--from-beginning")
PRODUCER = ("console-producer", "lost")
PERF_PRODUCER = ("perf-test", "producer", "--topic", "lost", "--num-records", "9", "--record-size", "9")
PERF_CONSUMER = ("perf-test", "consumer", "--topic", "lost", "--num-records", "9", "--timeout", "60000")
PERF_E2E = (
    *("perf-test", "e2e", "--topic", "lost", "--num-records", "9"),
    "--producer-acks",
    "1",
    "--record-size",
    "9",
)
VERIFIABLE_PRODUCER = ("verifiable-producer", "--topic", "lost", "--throughput", "5")
VERIFIABLE_CONSUMER = ("verifiable-consumer", "--topic", "lost", "--group-id", "g")
WATCH = ("groups", "watch", "--all-groups", "--interval", "0.1", "--iterations", "1")
ALL = (CONSUMER, PRODUCER, PERF_PRODUCER, PERF_CONSUMER, PERF_E2E, VERIFIABLE_PRODUCER, VERIFIABLE_CONSUMER, WATCH)
LOST = r"kcli [a-z0-9 -]+: no connection to {server} since \d\d:\d\d:\d\d \(connection refused\)\. "


@contextmanager
def running(server: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command as a process, whose three streams are pipes of text lines."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KCLI_")}
    environment = {**clean, "XDG_CONFIG_HOME": os.devnull, "KCLI_BOOTSTRAP_SERVER": server}
    with subprocess.Popen(
        [sys.executable, "-m", "kcli", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def await_line(process: subprocess.Popen[str], pattern: str) -> str:
    """The next line of stderr that matches; other lines are passed over."""
    assert process.stderr is not None
    passed = []
    for line in process.stderr:
        if re.match(pattern, line):
            return line
        passed.append(line)
    raise AssertionError(f"{pattern} was not in stderr: {passed}")


def lost(broker: EmbeddedBroker) -> str:
    return LOST.format(server=re.escape(broker.bootstrap_servers))


def named(command: tuple[str, ...]) -> str:
    """The name of a command line's command."""
    return " ".join(command[:2] if command[0] in ("perf-test", "groups") else command[:1])


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_a_command_fails_at_once_where_nothing_listens(offline: Kcli, command: tuple[str, ...]) -> None:
    result = offline(*command, "--bootstrap-server", "127.0.0.1:1", stdin="one\n")
    assert (result.code, result.stderr) == (
        3,
        f"kcli {named(command)}: cannot connect to 127.0.0.1:1 (connection refused). Is the broker "
        "running? Start one with: "
        "kcli server-start\n",
    )


def test_every_server_that_refuses_is_named(offline: Kcli) -> None:
    result = offline(*PRODUCER, "--bootstrap-server", "127.0.0.1:1,127.0.0.1:2", stdin="one\n")
    assert result.code == 3
    assert "127.0.0.1:1 (connection refused)" in result.stderr
    assert "127.0.0.1:2 (connection refused)" in result.stderr


@pytest.mark.parametrize("command", [PRODUCER, PERF_PRODUCER, PERF_E2E, WATCH], ids=" ".join)
def test_a_command_that_waits_begins_once_the_broker_is_there(command: tuple[str, ...]) -> None:
    with closing(PortReservation("PLAINTEXT://127.0.0.1:0")) as reservation:
        server = reservation.listeners.partition("://")[2]
        with running(server, *command, "--wait") as process:
            await_line(process, LOST.format(server=re.escape(server)) + r"Waiting\.")
            with EmbeddedBroker({"listeners": reservation.listeners}):
                await_line(process, f"kcli [a-z0-9 -]+: reconnected to {re.escape(server)} after \\d+ s")
                process.communicate("one\n", timeout=TIMEOUT_S)
                assert process.returncode == 0


def test_a_bounded_wait_ends_as_without_one(offline: Kcli) -> None:
    result = offline(*CONSUMER, "--bootstrap-server", "127.0.0.1:1", "--wait-ms", "1")
    assert result.code == 3
    assert result.stderr.splitlines()[-1].startswith(
        "kcli console-consumer: cannot connect to 127.0.0.1:1 (connection refused). "
    )


def test_a_consumer_says_that_it_has_lost_its_broker_and_that_it_is_back() -> None:
    with EmbeddedBroker(topics=["lost"]) as broker, running(broker.bootstrap_servers, *CONSUMER) as consumer:
        assert consumer.stdout is not None
        with running(broker.bootstrap_servers, *PRODUCER) as producer:
            producer.communicate("one\n", timeout=TIMEOUT_S)
        assert consumer.stdout.readline() == "one\n"
        broker.kill()
        warning = await_line(consumer, lost(broker))
        assert warning.endswith("Reading continues after reconnecting.\n")
        # Again and again, about the same loss.
        assert await_line(consumer, lost(broker)) == warning
        broker.start()
        await_line(consumer, f"kcli [a-z0-9 -]+: reconnected to {broker.bootstrap_servers} after ")
        with running(broker.bootstrap_servers, *PRODUCER) as producer:
            producer.communicate("two\n", timeout=TIMEOUT_S)
        assert consumer.stdout.readline() == "two\n"


def test_a_producer_says_that_it_has_lost_its_broker_and_delivers_what_was_written_meanwhile(offline: Kcli) -> None:
    with EmbeddedBroker(topics=["lost"]) as broker:
        with running(broker.bootstrap_servers, *PRODUCER) as producer:
            assert producer.stdin is not None
            producer.stdin.write("one\n")
            consumed = offline(*CONSUMER, "--max-messages", "1", "--bootstrap-server", broker.bootstrap_servers)
            assert consumed.stdout == "one\n"
            broker.kill()
            producer.stdin.write("two\n")
            warning = await_line(producer, lost(broker))
            assert "or fail after 120000 ms (delivery.timeout.ms)" in warning
            broker.start()
            await_line(producer, f"kcli [a-z0-9 -]+: reconnected to {broker.bootstrap_servers} after ")
            producer.communicate(timeout=TIMEOUT_S)
            assert producer.returncode == 0
        consumed = offline(*CONSUMER, "--exit-at-end", "--bootstrap-server", broker.bootstrap_servers)
        assert consumed.stdout == "one\ntwo\n"


@pytest.mark.parametrize(
    "command",
    [
        (*PERF_PRODUCER, "--throughput", "1", "--reporting-interval", "100"),
        (*PERF_CONSUMER, "--show-detailed-stats", "--reporting-interval", "100", "--hide-header"),
        VERIFIABLE_PRODUCER,
        VERIFIABLE_CONSUMER,
    ],
    ids=" ".join,
)
def test_other_commands_say_so_too(command: tuple[str, ...]) -> None:
    with EmbeddedBroker(topics=["lost"]) as broker, running(broker.bootstrap_servers, *command) as process:
        assert process.stdout is not None
        # What each writes first, it writes once a broker has answered.
        assert process.stdout.readline()
        broker.kill()
        await_line(process, lost(broker))
        broker.start()
        await_line(process, f"kcli [a-z0-9 -]+: reconnected to {broker.bootstrap_servers} after ")
