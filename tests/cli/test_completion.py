"""What a shell is offered at the press of its tab key, and that nothing is said where nobody answers."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.cli.conftest import Kcli, run_kcli

SHELLS = ("bash", "zsh", "fish")
# For the answers of a broker on a machine that has much to do.
PATIENCE_MS = 30_000
UNREADABLE = "127.0.0.1:port"


def completed(line: str, **environment: str) -> list[str]:
    """What is offered for the last word of a command line, by the protocol of bash's script."""
    words = line.split(" ")
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_KCLI_COMPLETE": "bash_complete"}
    result = run_kcli(env={**asked, "KCLI_COMPLETION_TIMEOUT_MS": str(PATIENCE_MS), **environment})
    assert (result.code, result.stderr) == (0, "")
    return [offer.partition(",")[2] for offer in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def server(broker: BrokerProcess, kcli: Kcli) -> dict[str, str]:
    """With topics and a group."""
    for name in ("completed-a", "completed-b"):
        kcli("topics", "create", name)
    reset = ("--topic", "completed-a", "--to-latest", "--execute")
    assert kcli("groups", "reset-offsets", "--group", "completed-group", *reset).code == 0
    return {"KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server}


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("kcli top", ["topics", "top"]),
        ("kcli topics de", ["delete", "describe"]),
        ("kcli topics describe --under", ["--under-replicated-partitions", "--under-min-isr-partitions"]),
        ("kcli topics describe completed-", ["completed-a", "completed-b"]),
        ("kcli topics describe --topic completed-b", ["completed-b"]),
        ("kcli topics --describe --topic completed-b", ["completed-b"]),
        ("kcli topics delete --topic x,completed-", ["x,completed-a", "x,completed-b"]),
        ("kcli console-consumer --topic completed-a", ["completed-a"]),
        ("kcli console-consumer --group completed", ["completed-group"]),
        ("kcli groups describe completed", ["completed-group"]),
        ("kcli configs describe --entity-type topics --entity-name completed-a", ["completed-a"]),
        ("kcli configs describe --broker ", ["1"]),
        ("kcli configs alter --topic x --add-config retention.", ["retention.bytes=", "retention.ms="]),
        ("kcli configs alter --topic x --delete-config a,retention.m", ["a,retention.ms"]),
        ("kcli configs alter --broker 1 --add-config log.cleaner.thr", ["log.cleaner.threads="]),
        ("kcli quotas alter --user u --add-config prod", ["producer_byte_rate="]),
        ("kcli topics create --config flush.m", ["flush.messages=", "flush.ms="]),
    ],
)
def test_what_is_offered(line: str, offers: list[str], server: dict[str, str]) -> None:
    assert completed(line, **server) == offers


def test_contexts_are_offered_and_decide_who_is_asked(tmp_path: Path, server: dict[str, str]) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert completed("kcli context use ", **environment) == []
    for name, address in (("there", server["KCLI_BOOTSTRAP_SERVER"]), ("nowhere", "127.0.0.1:1")):
        run_kcli("context", "set", name, "--bootstrap-server", address, env=environment)
    assert completed("kcli context use ", **environment) == ["nowhere", "there"]
    assert completed("kcli topics list --context th", **environment) == ["there"]
    assert completed("kcli topics describe --context there completed-a", **environment) == ["completed-a"]
    assert completed("kcli topics describe --context nowhere completed-a", **environment) == []


@pytest.mark.parametrize(
    "environment",
    [
        {"KCLI_BOOTSTRAP_SERVER": "127.0.0.1:1"},
        {"KCLI_BOOTSTRAP_SERVER": UNREADABLE},
        {"KCLI_CONTEXT": "of-nobody"},
    ],
)
def test_nothing_is_said_where_nobody_answers(environment: dict[str, str]) -> None:
    assert completed("kcli topics describe completed-", **environment) == []
    assert completed("kcli groups describe completed-", **environment) == []


def test_nothing_is_said_where_a_broker_is_silent() -> None:
    """It accepts, and never answers: the deadline ends it."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = f"127.0.0.1:{silent.getsockname()[1]}"
        assert (
            completed("kcli topics describe completed-", KCLI_BOOTSTRAP_SERVER=server, KCLI_COMPLETION_TIMEOUT_MS="50")
            == []
        )


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_gets_its_script(shell: str, offline: Kcli) -> None:
    result = offline("completion", shell)
    assert (result.code, result.stderr) == (0, "")
    assert f"_KCLI_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize("shell", ["powershell", "", "bash_"])
def test_an_unknown_shell_is_told_nothing(shell: str) -> None:
    assert run_kcli(env={"_KCLI_COMPLETE": f"{shell}_complete"}) == (0, "", "")


def test_bash_itself_completes(tmp_path: Path, server: dict[str, str]) -> None:
    program = tmp_path / "kcli"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kcli "$@"\n')
    program.chmod(0o755)
    script = (
        'eval "$(kcli completion bash)"; COMP_WORDS=(kcli topics describe completed-); COMP_CWORD=3; '
        '_kcli_completion kcli; echo "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={
            **os.environ,
            **server,
            "KCLI_COMPLETION_TIMEOUT_MS": str(PATIENCE_MS),
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": os.devnull,
        },
    )
    assert (done.stdout, done.stderr) == ("completed-a completed-b\n", "")
