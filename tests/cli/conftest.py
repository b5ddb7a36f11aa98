"""Runs commands as a user does, as processes; tests hold everything that they write and their exit code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.broker_process import BrokerProcess

COMMAND_TIMEOUT_S = 120
UNSTABLE = (
    (re.compile(r"(TopicId: |\"topic_id\":\")[\w-]{22}"), r"\1<uuid>"),
    (re.compile(r"(CreateTime:|\"timestamp\":)\d{13}"), r"\1<ms>"),
)


class Result(NamedTuple):
    """What a command left behind. Ids and times, which no test can foresee, are replaced in `stable`."""

    code: int
    stdout: str
    stderr: str

    @property
    def stable(self) -> str:
        text = self.stdout
        for pattern, replacement in UNSTABLE:
            text = pattern.sub(replacement, text)
        return text


Kcli = Callable[..., Result]


def run_kcli(*arguments: str | Path, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> Result:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KCLI_")}
    done = subprocess.run(
        [sys.executable, "-m", "kcli", *map(str, arguments)],
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        capture_output=True,
        timeout=COMMAND_TIMEOUT_S,
        # Where no file can be, and so no contexts of whoever runs the tests.
        env={**clean, "XDG_CONFIG_HOME": os.devnull, **(env or {})},
        check=False,
    )
    return Result(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def read_until_silence(program: Callable[..., Result], *arguments: str) -> Result:
    """Of a consumer that ends when nothing has come for a time: a time in which a busy machine has it read anything."""
    for timeout_ms in ("3000", "15000", "60000"):
        result = program(*arguments, "--timeout-ms", timeout_ms)
        if result.stdout:
            break
    return result


def missing_topic(name: str) -> str:
    """What every command says of a topic that does not exist."""
    return (
        f"topic {name} does not exist. Check the name with `kcli topics list`, or create it with `kcli topics create "
        f"{name}` (in Python: Admin.list_topics, Admin.create_topics)"
    )


@pytest.fixture(scope="session")
def offline() -> Kcli:
    """Commands that need no broker."""
    return run_kcli


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One broker for all commands of the session; tests use topics of their own."""
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as process:
        yield process


@pytest.fixture(scope="session")
def kcli(broker: BrokerProcess) -> Kcli:
    """Commands that find the session's broker through the environment."""

    def run(*arguments: str | Path, stdin: str | bytes = b"") -> Result:
        return run_kcli(*arguments, stdin=stdin, env={"KCLI_BOOTSTRAP_SERVER": broker.bootstrap_server})

    return run
