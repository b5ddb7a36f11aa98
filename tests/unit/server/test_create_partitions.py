"""CreatePartitions: what is there when the answer comes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_PARTITIONS = 37
INVALID_REPLICA_ASSIGNMENT = 39
INVALID_REQUEST = 42
POLICY_VIOLATION = 44


def addition(name: str, count: int, assignments: list[list[int]] | None = None) -> dict[str, object]:
    rows = None if assignments is None else [{"broker_ids": brokers} for brokers in assignments]
    return {"name": name, "count": count, "assignments": rows}


def add(client: RawClient, version: int, *topics: dict[str, object], validate_only: bool = False) -> dict[str, Message]:
    fields = {"topics": list(topics), "timeout_ms": 5000, "validate_only": validate_only}
    return {result.name: result for result in client.request(apis.CREATE_PARTITIONS, version, fields).results}


@pytest.mark.parametrize("version", range(4))
def test_partitions_serve_when_the_answer_comes(broker: Broker, client: RawClient, version: int) -> None:
    name = f"grown-{version}"
    client.create_topic(name, 2)
    result = add(client, version, addition(name, 4))[name]
    assert (result.error_code, result.error_message) == (0, None)
    assert produce(client, name, batch([b"first"]), index=3).error_code == 0
    directories = sorted(path.name for path in Path(broker.config.log_directories[0]).glob(f"{name}-*"))
    assert directories == [f"{name}-{index}" for index in range(4)]


def test_topics_fail_one_by_one(broker: Broker, client: RawClient) -> None:
    for name in ("steady", "shrinking", "doubled", "listed"):
        client.create_topic(name, 3)
    results = add(
        client,
        3,
        addition("steady", 3),
        addition("shrinking", 2),
        addition("doubled", 4),
        addition("doubled", 5),
        addition("absent", 2),
        addition("listed", 5, [[broker.broker_id], [broker.broker_id]]),
    )
    assert {name: (result.error_code, result.error_message) for name, result in results.items()} == {
        "steady": (INVALID_PARTITIONS, "Topic already has 3 partition(s)."),
        "shrinking": (
            INVALID_PARTITIONS,
            "The topic shrinking currently has 3 partition(s); 2 would not be an increase.",
        ),
        "doubled": (INVALID_REQUEST, "Duplicate topic name."),
        "absent": (UNKNOWN_TOPIC_OR_PARTITION, None),
        "listed": (0, None),
    }
    topics = broker.metadata_cache.image.topics
    assert [len(topics[name].partitions) for name in ("steady", "shrinking", "doubled", "listed")] == [3, 3, 3, 5]


@pytest.mark.parametrize("assignments", [[], [[1], [1], [1]], [[77], [1]], [[], [1]], [[1, 1], [1, 1]]])
def test_an_assignment_that_cannot_be(client: RawClient, assignments: list[list[int]]) -> None:
    name = f"misassigned-{len(str(assignments))}"
    client.create_topic(name)
    result = add(client, 3, addition(name, 3, assignments))[name]
    assert result.error_code == INVALID_REPLICA_ASSIGNMENT
    assert result.error_message


def test_validate_only_adds_nothing(broker: Broker, client: RawClient) -> None:
    client.create_topic("weighed")
    assert add(client, 1, addition("weighed", 7), validate_only=True)["weighed"].error_code == 0
    assert len(broker.metadata_cache.image.topics["weighed"].partitions) == 1


def test_a_request_adds_no_more_partitions_than_one_may_make(broker: Broker, client: RawClient) -> None:
    client.create_topic("huge")
    client.create_topic("small")
    results = add(client, 3, addition("huge", 10_002), addition("small", 2))
    assert {name: result.error_code for name, result in results.items()} == {"huge": POLICY_VIOLATION, "small": 0}
    assert len(broker.metadata_cache.image.topics["huge"].partitions) == 1
