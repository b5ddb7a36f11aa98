"""ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments with the one broker there is."""

from __future__ import annotations

import pytest

from kcore.protocol import apis
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, produce

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_REPLICA_ASSIGNMENT = 39
INVALID_REQUEST = 42
ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
ELECTION_NOT_NEEDED = 84
NO_REASSIGNMENT_IN_PROGRESS = 85
PREFERRED, UNCLEAN = 0, 1

Outcomes = dict[tuple[str, int], int]


def elect(
    client: RawClient, version: int, topics: dict[str, list[int]] | None, kind: int = PREFERRED
) -> tuple[int, Outcomes]:
    """The error of the whole, and those of the partitions."""
    rows = None if topics is None else [{"topic": name, "partitions": indexes} for name, indexes in topics.items()]
    fields = {"topic_partitions": rows, **({"election_type": kind} if version else {})}
    response = client.request(apis.ELECT_LEADERS, version, fields)
    outcomes = {
        (topic.topic, part.partition_id): part.error_code
        for topic in response.replica_election_results
        for part in topic.partition_result
    }
    return response.error_code, outcomes


@pytest.mark.parametrize("version", range(3))
def test_a_leader_that_is_there_is_kept(client: RawClient, version: int) -> None:
    name = f"led-{version}"
    client.create_topic(name, 2)
    code, outcomes = elect(client, version, {name: [0, 9], "absent": [0]})
    assert code == 0
    assert outcomes == {
        (name, 0): ELECTION_NOT_NEEDED,
        (name, 9): UNKNOWN_TOPIC_OR_PARTITION,
        ("absent", 0): UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert produce(client, name, batch([b"still"])).error_code == 0


def test_all_partitions_name_only_those_that_need_one(broker: Broker, client: RawClient) -> None:
    client.create_topic("fine")
    client.create_topic("leaderless")
    broker.controller.fail_partitions(broker.broker_id, [("leaderless", 0)])
    code, outcomes = elect(client, 2, None, UNCLEAN)
    assert code == 0
    assert outcomes == {("leaderless", 0): ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_a_kind_of_election_that_does_not_exist(client: RawClient) -> None:
    client.create_topic("elected")
    assert elect(client, 2, {"elected": [0]}, 7) == (INVALID_REQUEST, {("elected", 0): INVALID_REQUEST})


def test_the_same_replicas_are_a_change_that_is_done(broker: Broker, client: RawClient) -> None:
    client.create_topic("assigned-again", 4)
    replicas = {0: [broker.broker_id], 1: None, 2: [77], 3: [], 9: [broker.broker_id]}
    partitions = [{"partition_index": index, "replicas": ids} for index, ids in replicas.items()]
    topics = [{"name": "assigned-again", "partitions": partitions}]
    response = client.request(apis.ALTER_PARTITION_REASSIGNMENTS, 0, {"topics": topics})
    assert response.error_code == 0
    assert {part.partition_index: part.error_code for part in response.responses[0].partitions} == {
        0: 0,
        1: NO_REASSIGNMENT_IN_PROGRESS,
        2: INVALID_REPLICA_ASSIGNMENT,
        3: INVALID_REPLICA_ASSIGNMENT,
        9: UNKNOWN_TOPIC_OR_PARTITION,
    }
    listed = client.request(apis.LIST_PARTITION_REASSIGNMENTS, 0, {"topics": None})
    assert (listed.error_code, listed.topics) == (0, [])
