"""bin/kafka-*.sh print and end as Apache Kafka's own tools of 3.9 and 4 do, on command lines of Kafka's documentation.

Every line is run once by our launchers before one broker of ours, and once by each version's tools before another one.
What may differ from run to run is named in printed.py; where 3.9 and 4 print different things, the launchers print what
4 does. The campaign `dropin` does the same before Apache Kafka's own brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.apache_kafka import NODE_ID
from tests.broker_process import BrokerProcess
from tests.dropin.command_lines import BOTH, LINES
from tests.dropin.suite import Runs, comparable, names_of, run_all
from tests.dropin.tools import JavaTools, Launchers

# The first test has all command lines run, by both.
pytestmark = [pytest.mark.needs("java", "mvn"), pytest.mark.timeout(900)]

SMALL_VERSION = "4"
RUNS = [
    pytest.param(version, name, marks=[] if version == SMALL_VERSION else [pytest.mark.full_size])
    for version in BOTH
    for name in names_of(version)
]


@pytest.fixture(scope="module")
def ours(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Runs, Path]]:
    """What the launchers print, and the log directory that came of it."""
    directory = tmp_path_factory.mktemp("drop-in")
    data = directory / "data"
    with BrokerProcess(data, {"node.id": str(NODE_ID)}) as broker:
        yield run_all(Launchers(checkout, directory), broker.bootstrap_server, directory, data), data


@pytest.fixture(scope="module")
def kafka(ours: tuple[Runs, Path], checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Runs]:
    """What a version's own tools print; each version is run once."""
    known: dict[str, Runs] = {}

    def ask(version: str) -> Runs:
        if version not in known:
            directory = tmp_path_factory.mktemp("kafka-tools")
            tools = JavaTools(checkout, version, directory)
            try:
                with BrokerProcess(directory / "data", {"node.id": str(NODE_ID)}) as broker:
                    known[version] = run_all(tools, broker.bootstrap_server, directory, ours[1], version)
            finally:
                tools.close()
        return known[version]

    return ask


@pytest.mark.parametrize(("version", "name"), RUNS)
def test_a_command_line(version: str, name: str, ours: tuple[Runs, Path], kafka: Callable[[str], Runs]) -> None:
    assert comparable(name, ours[0][name]) == comparable(name, kafka(version)[name]), LINES[name].run
