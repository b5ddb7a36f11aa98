"""Configurations of single groups (resource type GROUP) to our broker and to Apache Kafka 4: equal answers, codes and
words, equal descriptions afterwards, and the same effect on members. Java's kafka-configs works with either.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from kcore.protocol import apis
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.cli.conftest import run_kcli
from tests.integration.test_config_requests_against_kafka import (
    APPEND,
    DELETE,
    GROUP,
    SET,
    SUBTRACT,
    Resource,
    describe,
    incremental,
    replace,
)
from tests.integration.test_consumer_groups import eventually, join
from tests.integration.verifiable_consumer import KAFKA_RUN
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")
SESSION, HEARTBEAT = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
NAME = "configured"


@pytest.fixture(scope="module")
def ports(apache_kafka_4: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, int]]:
    """Kafka's and ours."""
    with BrokerProcess(tmp_path_factory.mktemp("ours") / "data", {}) as ours:
        yield apache_kafka_4.port, ours.port


@pytest.fixture
def clients(ports: tuple[int, int]) -> Iterator[list[RawClient]]:
    with RawClient(ports[0]) as kafka_client, RawClient(ports[1]) as our_client:
        yield [kafka_client, our_client]
        for client in (kafka_client, our_client):
            assert replace(client, [group()])[0][2] == 0


def group(*operations: tuple[str, int, str | None], name: str = NAME) -> Resource:
    return GROUP, name, list(operations)


@pytest.mark.parametrize(
    "resource",
    [
        group((SESSION, SET, "46000")),
        group((SESSION, SET, "46000"), (HEARTBEAT, SET, "6000")),
        group((SESSION, SET, "46000"), name=""),
        group(("x", SET, "1")),
        group((SESSION, SET, "abc")),
        group((SESSION, SET, "0")),
        group((SESSION, SET, "44999")),
        group((SESSION, SET, "60001")),
        group((HEARTBEAT, SET, "4999")),
        group((HEARTBEAT, SET, "15001")),
        group((HEARTBEAT, SET, "1"), (SESSION, SET, "1")),
        group((SESSION, SET, None)),
        group((SESSION, DELETE, None)),
        group((SESSION, APPEND, "46000")),
        group((SESSION, SUBTRACT, "46000")),
        group((SESSION, SET, "46000"), (SESSION, SET, "47000")),
    ],
    ids=lambda resource: "-".join(str(part) for operation in resource[2] for part in operation) or resource[1],
)
def test_a_group_is_configured_as_kafka_does(clients: list[RawClient], resource: Resource) -> None:
    for validate_only in (True, False):
        kafka, ours = (incremental(client, [resource], validate_only) for client in clients)
        assert ours == kafka
    if all(operation in (SET, DELETE) for _, operation, _ in resource[2]):
        kafka, ours = (replace(client, [resource], validate_only=True) for client in clients)
        assert ours == kafka


def described(client: RawClient, name: str = NAME) -> Any:
    return describe(client, GROUP, name, [HEARTBEAT, SESSION])


def test_a_group_is_described_as_kafka_does(clients: list[RawClient]) -> None:
    kafka, ours = (described(client) for client in clients)
    assert ours == kafka
    for client in clients:
        assert incremental(client, [group((HEARTBEAT, SET, "7000"), (SESSION, SET, "50000"))])[0][2] == 0
    kafka, ours = (
        eventually(lambda client=client: (found := described(client)) and "7000" in str(found) and found, "the change")
        for client in clients
    )
    assert ours == kafka
    kafka, ours = (described(client, "another") for client in clients)
    assert ours == kafka
    kafka, ours = (described(client, "") for client in clients)
    assert ours == kafka


def test_members_are_told_of_their_group_s_own_interval(clients: list[RawClient]) -> None:
    told = []
    for client in clients:
        assert incremental(client, [group((HEARTBEAT, SET, "8000"))])[0][2] == 0
        eventually(lambda client=client: "8000" in str(described(client)), "the change")
        answers = [join(client, name, "m", "nothing") for name in (NAME, "another")]
        told.append([(answer.error_code, answer.heartbeat_interval_ms) for answer in answers])
        for name, answer in zip((NAME, "another"), answers, strict=True):
            fields = {"group_id": name, "member_id": answer.member_id, "member_epoch": -1}
            assert client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields).error_code == 0
    assert told[1] == told[0] == [(0, 8000), (0, 5000)]


def configs_tool(port: int, *arguments: str) -> list[str]:
    command = [KAFKA_RUN, "4", "ConfigCommand", "--bootstrap-server", f"127.0.0.1:{port}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.full_size
def test_kafka_s_own_tool_says_the_same(ports: tuple[int, int], clients: list[RawClient]) -> None:
    alter = ("--alter", "--entity-type", "groups", "--entity-name", NAME, "--add-config", f"{SESSION}=51000")
    kafka, ours = (configs_tool(port, *alter) for port in ports)
    assert ours == kafka == [f"Completed updating config for group {NAME}."]
    eventually(lambda: all("51000" in str(described(client)) for client in clients), "the change")
    kafka, ours = (configs_tool(port, "--describe", "--group", NAME) for port in ports)
    assert ours == kafka
    assert any(f"{SESSION}=51000" in line for line in ours)


def test_our_tool_does_too(ports: tuple[int, int], clients: list[RawClient]) -> None:
    def configs(port: int, action: str, *arguments: str) -> str:
        ended = run_kcli("configs", action, "--bootstrap-server", f"127.0.0.1:{port}", "--group", NAME, *arguments)
        assert ended.code == 0, ended
        return ended.stdout

    kafka, ours = (configs(port, "alter", "--add-config", f"{SESSION}=52000") for port in ports)
    assert ours == kafka
    eventually(lambda: all("52000" in str(described(client)) for client in clients), "the change")
    kafka, ours = (configs(port, "describe") for port in ports)
    assert ours == kafka
    assert f"{SESSION}=52000" in ours
