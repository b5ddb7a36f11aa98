"""bin/kafka-consumer-groups.sh prints and ends as Apache Kafka 4's own tool does.

The groups and command lines are those of tests/interop/test_consumer_groups_tool.py, where the tool is one and the
brokers are two; here the tools are two, each before a broker of ours with the same groups.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.apache_kafka import NODE_ID
from tests.broker_process import BrokerProcess
from tests.dropin.printed import Printed
from tests.dropin.tools import JavaTools, Launchers
from tests.interop.test_consumer_groups_tool import COMMANDS, prepare
from tests.interop.test_consumer_groups_tool import without_ids as group_line

# The first test has all command lines run, by both.
pytestmark = [pytest.mark.needs("java", "mvn"), pytest.mark.full_size, pytest.mark.timeout(900)]

VERSION = "4"
TOOL = "kafka-consumer-groups.sh"
Runs = dict[str, Printed]


def run_all(tools: Launchers | JavaTools, directory: Path) -> Runs:
    with BrokerProcess(directory / "data", {"node.id": str(NODE_ID)}) as broker:
        server = broker.bootstrap_server
        member = prepare(server)
        try:
            return {name: tools.run(TOOL, [*words, "--bootstrap-server", server]) for name, words in COMMANDS.items()}
        finally:
            member.close()


@pytest.fixture(scope="module")
def ours(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    directory = tmp_path_factory.mktemp("launchers")
    return run_all(Launchers(checkout, directory), directory)


@pytest.fixture(scope="module")
def kafka(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    directory = tmp_path_factory.mktemp("kafka-tools")
    tools = JavaTools(checkout, VERSION, directory)
    try:
        return run_all(tools, directory)
    finally:
        tools.close()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_launcher_does_as_the_tool(name: str, ours: Runs, kafka: Runs) -> None:
    assert comparable(name, ours[name]) == comparable(name, kafka[name]), COMMANDS[name]


def comparable(name: str, printed: Printed) -> tuple[int, list[str], str]:
    """Columns one space apart; groups are listed in the order of a hash table, and those of others left out."""
    lines = [group_line(line).strip() for line in printed.stdout.splitlines()]
    if name.startswith("list"):
        lines = [line for line in lines if line.startswith(("GROUP", "tool-"))]
    return printed.code, sorted(lines), group_line(printed.stable().stderr)
