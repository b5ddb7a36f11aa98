"""Apache Kafka's own `kafka-consumer-groups`, of 3.9 and of 4, prints for our broker what it prints for its own.

The same groups are prepared in both: one at work with a static member, for 4 one of the consumer protocol (KIP-848)
too, and some that only have offsets. Every command of
COMMANDS is then run against both, in this order, by one JVM a version. Member ids, hosts and ports are replaced, and
columns, whose width they decide, are separated by one space.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.apache_kafka import NODE_ID
from tests.broker_process import BrokerProcess
from tests.interop.admin_scenario.clients import JavaProgram

Answers = tuple[dict[str, Any], dict[str, Any]]

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TIMEOUT_S = 60
TOPIC = "tool-orders"
WORKING, RESTING, FORGOTTEN, MODERN = "tool-working", "tool-resting", "tool-forgotten", "tool-modern"
RECORDS = 10
# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
PASSING_CODES = {14, 15, 16}
HOUR_MS = 3_600_000
UNSTABLE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uuid>"),
    # A member id of the consumer protocol: sixteen bytes in base 64.
    (re.compile(r"(?<= )[\w+/-]{22}(?= )"), "<uuid>"),
    (re.compile(r"\b[\w.]+:\d{4,5}\b"), "<host>:<port>"),
    (re.compile(r"/127\.0\.0\.1"), "/<host>"),
    (re.compile(r" +"), " "),
)
RESET = ("--reset-offsets", "--group", RESTING, "--topic")
COMMANDS = {
    "list": ("--list",),
    "list states and types": ("--list", "--state", "--type"),
    "list some states": ("--list", "--state", "stable, EMPTY"),
    "list of a type": ("--list", "--type", "classic"),
    "list of the other type": ("--list", "--type", "consumer"),
    "describe a group at work": ("--describe", "--group", WORKING),
    "describe its members": ("--describe", "--group", WORKING, "--members", "--verbose"),
    "describe its state": ("--describe", "--group", WORKING, "--state", "--verbose"),
    "describe several": ("--describe", "--group", RESTING, "--group", FORGOTTEN, "--offsets"),
    "describe members of nobody": ("--describe", "--group", RESTING, "--members"),
    "describe the state of nobody": ("--describe", "--group", RESTING, "--state"),
    "describe an unknown group": ("--describe", "--group", "tool-unknown"),
    "describe the state of an unknown group": ("--describe", "--group", "tool-unknown", "--state"),
    "reset a group at work": ("--reset-offsets", "--group", WORKING, "--topic", TOPIC, "--to-latest", "--execute"),
    "reset to the start": (*RESET, TOPIC, "--to-earliest", "--dry-run"),
    "reset by time": (*RESET, f"{TOPIC}:0", "--to-datetime", "2026-01-01T00:30:00.000", "--execute"),
    "reset by offset": (*RESET, f"{TOPIC}:1", "--to-offset", "4", "--execute"),
    "reset by shift": (*RESET, f"{TOPIC}:0,1", "--shift-by", "-1", "--execute"),
    "reset to what is there": (*RESET, TOPIC, "--to-current", "--export", "--dry-run"),
    "reset a topic that is not there": (*RESET, "tool-unknown", "--to-latest", "--execute"),
    "reset of an unknown group": (
        *("--reset-offsets", "--group", "tool-made", "--topic", f"{TOPIC}:1", "--to-latest", "--execute"),
    ),
    "describe after resets": ("--describe", "--group", RESTING, "--group", "tool-made"),
    "delete offsets of a group at work": ("--delete-offsets", "--group", WORKING, "--topic", TOPIC),
    "delete offsets": ("--delete-offsets", "--group", RESTING, "--topic", f"{TOPIC}:1"),
    "delete offsets of an unknown topic": ("--delete-offsets", "--group", RESTING, "--topic", "tool-unknown"),
    "delete offsets of an unknown group": ("--delete-offsets", "--group", "tool-unknown", "--topic", f"{TOPIC}:0"),
    "describe after deletion": ("--describe", "--group", RESTING),
    "delete a group at work": ("--delete", "--group", WORKING),
    "delete": ("--delete", "--group", RESTING),
    "delete an unknown group": ("--delete", "--group", "tool-unknown"),
    "list what is left": ("--list", "--state"),
    "delete another": ("--delete", "--group", FORGOTTEN),
}
# For groups of the consumer protocol, while one has a member and when it has left.
MODERN_COMMANDS = {
    "list types": ("--list", "--type", "--state"),
    "list of the consumer protocol": ("--list", "--type", "consumer"),
    "describe a consumer group": ("--describe", "--group", MODERN),
    "describe offsets of a consumer group": ("--describe", "--group", MODERN, "--offsets", "--verbose"),
    "describe members of a consumer group": ("--describe", "--group", MODERN, "--members", "--verbose"),
    "describe the state of a consumer group": ("--describe", "--group", MODERN, "--state", "--verbose"),
    "describe both kinds": ("--describe", "--group", MODERN, "--group", WORKING, "--state"),
    "reset a consumer group": ("--reset-offsets", "--group", MODERN, "--topic", TOPIC, "--to-earliest", "--execute"),
    "delete offsets of a consumer group": ("--delete-offsets", "--group", MODERN, "--topic", TOPIC),
    "delete a consumer group": ("--delete", "--group", MODERN),
}
RUNS = [
    *(pytest.param("3.9", name, marks=pytest.mark.full_size) for name in COMMANDS),
    *(("4", name) for name in COMMANDS),
    *(("4", f"{name}{when}") for when in ("", ", empty") for name in MODERN_COMMANDS),
]


def prepare(server: str) -> Consumer:
    """The groups; the member of the one at work, which is to be kept."""
    admin = AdminClient({"bootstrap.servers": server})
    admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result(TIMEOUT_S)
    producer = Producer({"bootstrap.servers": server})
    new_year_ms = 1_767_225_600_000  # 2026-01-01, in UTC
    for number in range(RECORDS):
        for partition in range(2):
            producer.produce(TOPIC, b"v", partition=partition, timestamp=new_year_ms + number * HOUR_MS // 10)
    assert producer.flush(TIMEOUT_S) == 0
    commit(admin, RESTING, {0: 3, 1: 10})
    commit(admin, FORGOTTEN, {1: 0})
    return join(server, WORKING, **{"group.instance.id": "tool-instance"})


def join(server: str, group: str, **settings: str) -> Consumer:
    """A member that has the topic's partitions, and has committed an offset of one."""
    member = Consumer(
        {
            "bootstrap.servers": server,
            "group.id": group,
            "client.id": "tool-client",
            "enable.auto.commit": False,
            **settings,
        }
    )
    member.subscribe([TOPIC])
    deadline_s = time.monotonic() + TIMEOUT_S
    while not member.assignment() and time.monotonic() < deadline_s:
        member.poll(0.1)
    member.commit(offsets=[TopicPartition(TOPIC, 0, 4)], asynchronous=False)
    return member


def commit(admin: AdminClient, group: str, offsets: dict[int, int]) -> None:
    """As somebody who is in no group; Kafka's coordinator may still be loading the partition that it has just made."""
    places = [TopicPartition(TOPIC, partition, offset) for partition, offset in offsets.items()]
    deadline_s = time.monotonic() + TIMEOUT_S
    while True:
        [done] = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)]).values()
        errors = [place.error for place in done.result(TIMEOUT_S).topic_partitions if place.error is not None]
        if not errors:
            return
        assert {error.code() for error in errors} <= PASSING_CODES, errors
        assert time.monotonic() < deadline_s, errors


def run_all(program: JavaProgram, server: str, with_consumer_protocol: bool) -> dict[str, Any]:
    """What every command printed, without what differs from run to run."""

    def run(commands: dict[str, tuple[str, ...]], when: str = "") -> dict[str, Any]:
        return {
            f"{name}{when}": stable(name, program.tool(server, TOOL, [*words, "--bootstrap-server", server]))
            for name, words in commands.items()
        }

    member = prepare(server)
    try:
        printed = run(COMMANDS)
        if with_consumer_protocol:
            modern = join(server, MODERN, **{"group.protocol": "consumer"})
            try:
                printed |= run(MODERN_COMMANDS)
            finally:
                modern.close()
            printed |= run(MODERN_COMMANDS, ", empty")
        return printed
    finally:
        member.close()


def stable(name: str, answer: dict[str, Any]) -> dict[str, Any]:
    """Lines sorted too: groups are listed in the order of a hash table, and those of other tests left out."""
    if name.startswith("list"):
        answer["stdout"] = [line for line in answer["stdout"] if line.startswith(("GROUP", "tool-"))]
    return {"code": answer["code"], **{name: sorted(map(without_ids, answer[name])) for name in ("stdout", "stderr")}}


def without_ids(line: str) -> str:
    for pattern, replacement in UNSTABLE:
        line = pattern.sub(replacement, line)
    return line


@pytest.fixture(scope="module")
def answers(
    request: pytest.FixtureRequest, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Answers]:
    """What a version's tool says of our broker, and of a broker of its own version; each version is run once."""
    known: dict[str, Answers] = {}

    def ask(version: str) -> Answers:
        if version not in known:
            known[version] = compare(request, version, checkout, tmp_path_factory.mktemp("tool"))
        return known[version]

    return ask


def compare(request: pytest.FixtureRequest, version: str, checkout: Path, directory: Path) -> Answers:
    jars = subprocess.run([checkout / "bin/kafka-jars", version], stdout=subprocess.PIPE, text=True, check=True)
    program = JavaProgram(jars.stdout.strip(), directory, "ToolProgram")
    kafka = request.getfixturevalue(f"apache_kafka_{version.replace('.', '')}")
    has_consumer_protocol = version != "3.9"
    try:
        with BrokerProcess(directory / "ours", {"node.id": str(NODE_ID)}) as broker:
            ours = run_all(program, broker.bootstrap_server, has_consumer_protocol)
        return ours, run_all(program, kafka.bootstrap_server, has_consumer_protocol)
    finally:
        program.close()


@pytest.mark.parametrize(("version", "name"), RUNS)
def test_the_tool_prints_the_same(version: str, name: str, answers: Callable[[str], Answers]) -> None:
    ours, kafka = answers(version)
    assert ours[name] == kafka[name]
