"""What administrators are told of groups, and may do to them, in every state: as Apache Kafka 3.9 answers it, field by
field and in every version of the requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kcore.protocol import apis
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.integration.group_script import REBALANCE_IN_PROGRESS, Stage, wait_for_groups
from tests.integration.group_script import TOPIC as READ
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

Script = Callable[[Stage], None]

OTHER = "grp-other"
LATEST_DESCRIBE = 5  # of Apache Kafka 3.9
SCRIPTS: list[Script] = []


def script(function: Script) -> Script:
    SCRIPTS.append(function)
    return function


def describe(stage: Stage) -> None:
    for version in range(LATEST_DESCRIBE + 1):
        asked: dict[str, Any] = {"include_authorized_operations": True} if version >= 3 else {}
        stage.look("describe", apis.DESCRIBE_GROUPS, version, {"groups": [stage.group_id], **asked})


def list_groups(stage: Stage) -> None:
    for version in range(6):
        stage.look("list", apis.LIST_GROUPS, version, {})
    for states in (["Stable"], ["empty"], ["PREPARINGREBALANCE"], ["CompletingRebalance", "Dead"], ["no such state"]):
        stage.look(f"list {states}", apis.LIST_GROUPS, 4, {"states_filter": states})
        stage.look(f"list {states}", apis.LIST_GROUPS, 5, {"states_filter": states, "types_filter": ["Classic"]})
    stage.look("list the others", apis.LIST_GROUPS, 5, {"types_filter": ["consumer"]})


def delete_offsets(stage: Stage) -> None:
    """Of a topic that members read, of another one, and of what is not there.

    Last of all where nobody is in the group: 3.9 ends it with its last offset, Kafka 4 some time later, as we do.
    """
    topics = [
        {"name": READ, "partitions": [{"partition_index": 0}, {"partition_index": 7}]},
        {"name": OTHER, "partitions": [{"partition_index": 0}]},
        {"name": "grp-unknown", "partitions": [{"partition_index": 0}]},
    ]
    stage.look("delete offsets", apis.OFFSET_DELETE, 0, {"group_id": stage.group_id, "topics": topics})


def delete(stage: Stage) -> None:
    for version in range(3):
        stage.look("delete", apis.DELETE_GROUPS, version, {"groups_names": [stage.group_id, "grp-nobody"]})


def administer(stage: Stage) -> None:
    """Everything that leaves a group with members as it is."""
    describe(stage)
    list_groups(stage)
    delete_offsets(stage)
    delete(stage)


@script
def a_group_that_is_not_there(stage: Stage) -> None:
    administer(stage)


@script
def a_group_without_a_name(stage: Stage) -> None:
    stage.group_id = ""
    administer(stage)


@script
def a_group_that_only_has_offsets(stage: Stage) -> None:
    stage.commit("a", generation=-1)
    describe(stage)
    list_groups(stage)
    delete(stage)
    administer(stage)
    stage.commit("a", generation=-1)
    delete_offsets(stage)


@script
def a_member_that_was_only_told_its_id(stage: Stage) -> None:
    stage.join("a", version=4)
    describe(stage)
    list_groups(stage)
    delete_offsets(stage)


@script
def a_group_in_every_state(stage: Stage) -> None:
    stage.join("a", protocols="range,sticky")
    administer(stage)
    stage.sync("a", None, {"a": "all"})
    administer(stage)
    stage.send_join("b", protocols="range,sticky")
    stage.heartbeat_until("a", REBALANCE_IN_PROGRESS)
    administer(stage)
    stage.join("a", "a", protocols="range,sticky")
    stage.hear("b")
    administer(stage)
    stage.leave("a", ("a", None), ("b", None))
    describe(stage)
    list_groups(stage)
    delete(stage)
    administer(stage)


@script
def a_static_member(stage: Stage) -> None:
    stage.join("i", version=9, instance="instance")
    stage.sync("i", None, {"i": "all"}, version=5, instance="instance")
    administer(stage)


@script
def a_group_of_connect(stage: Stage) -> None:
    stage.stable("a", kind="connect", protocols="range")
    administer(stage)
    stage.leave("a", ("a", None))
    describe(stage)
    list_groups(stage)
    delete_offsets(stage)


@script
def a_group_that_is_deleted_is_new(stage: Stage) -> None:
    stage.stable("a")
    stage.commit("a", "a")
    stage.leave("a", ("a", None))
    delete(stage)
    stage.heartbeat("a")
    stage.stable("b")
    describe(stage)


@pytest.fixture(scope="module")
def ports(apache_kafka_39: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[int]]:
    """Apache Kafka's port and ours, both ready for groups and with two topics."""
    with BrokerProcess(tmp_path_factory.mktemp("groups") / "data") as ours:
        for port in (apache_kafka_39.port, ours.port):
            with RawClient(port) as client:
                for topic in (READ, OTHER):
                    client.create_topic(topic)
            wait_for_groups(port, ["", *(play.__name__ for play in SCRIPTS)])
        yield [apache_kafka_39.port, ours.port]


@pytest.mark.parametrize("play", SCRIPTS, ids=lambda play: play.__name__)
def test_answers_are_equal(ports: list[int], play: Script) -> None:
    transcripts = []
    for port in ports:
        stage = Stage(port, play.__name__)
        try:
            play(stage)
        finally:
            stage.close()
        transcripts.append(stage.transcript)
    theirs, ours = transcripts
    assert theirs
    assert len(ours) == len(theirs)
    for our_answer, their_answer in zip(ours, theirs, strict=True):
        assert our_answer == their_answer
