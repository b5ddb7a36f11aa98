"""Apache Kafka for all workers of a run: one process, which ends with the last of its users, however they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.apache_kafka import ApacheKafka
from tests.leftovers import Leftovers
from tests.shared_kafka import shared_kafka

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

USER = """
import pathlib, sys
from tests.shared_kafka import shared_kafka
with shared_kafka(pathlib.Path(sys.argv[1]), "4") as kafka:
    print(kafka.port, flush=True)
    sys.stdin.read()
"""


def start_user(leftovers: Leftovers, directory: Path, checkout: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", USER, str(directory)],
        cwd=checkout,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=leftovers.environment,
    )


def port_of(user: subprocess.Popen[str]) -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


def test_it_is_started_once_and_ends_with_its_last_user(tmp_path: Path, checkout: Path) -> None:
    leftovers = Leftovers(tmp_path)
    directory = tmp_path / "run"
    with start_user(leftovers, directory, checkout) as first, start_user(leftovers, directory, checkout) as second:
        port = port_of(first)
        assert port_of(second) == port
        # The one that started it may be either; both end without a word.
        first.kill()
        first.wait()
        with shared_kafka(directory, "4") as kafka:
            assert (kafka.port, kafka.is_running) == (port, True)
            second.kill()
    leftovers.await_ends()
    assert not kafka.is_running
    with start_user(leftovers, directory, checkout) as third:
        assert ApacheKafka("4", directory / "none").is_running is False
        assert port_of(third) != 0, "after it has ended, it is started again"
        third.kill()
    leftovers.await_ends()


def test_why_it_does_not_start_is_said(tmp_path: Path) -> None:
    with (
        pytest.raises(AssertionError, match=r"(?s)the shared Apache Kafka 4 did not start.*KeyError: 'no such kind'"),
        shared_kafka(tmp_path, "4", "no such kind"),
    ):
        pass
