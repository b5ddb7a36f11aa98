"""Whom administrators' requests are sent to, on scripted brokers: controllers, leaders that move, brokers that die."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kcore.client.admin.admin import Admin
from kcore.client.admin.log_dirs import LogDirDescription
from kcore.client.admin.results import failures, succeeded
from kcore.client.admin.topics import CreatedTopic, NewTopic
from kcore.client.errors import BrokerUnreachable, ClientError, UnknownPartition, UnknownTopic, UnsupportedByBroker
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.unit.client.peer import CLOSE, SUPPORTED, Fields, ScriptedPeer

ASKED = (apis.FIND_COORDINATOR, apis.DELETE_GROUPS, apis.DESCRIBE_LOG_DIRS, apis.CREATE_TOPICS)
NOT_LEADER_OR_FOLLOWER, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, NOT_CONTROLLER = 6, 15, 16, 41


def versions(version: int, request: Message) -> Fields:
    every = {api.key: api for api in (*SUPPORTED, *ASKED)}.values()
    ranges = [{"api_key": a.key, "min_version": a.min_version, "max_version": a.max_version} for a in every]
    return {"error_code": 0, "api_keys": ranges}


class ScriptedCluster:
    """Two brokers, 0 and 1; `leaders` are those of topic t's partitions."""

    def __init__(self) -> None:
        self.peers = [ScriptedPeer(), ScriptedPeer()]
        self.leaders = [0, 1, 0, -1]
        self.controller = 1
        for peer in self.peers:
            peer.answers[apis.API_VERSIONS.key] = versions
            peer.answers[apis.METADATA.key] = self.describe

    def describe(self, version: int, request: Message) -> Fields:
        brokers = [
            {"node_id": number, "host": "127.0.0.1", "port": peer.port, "rack": None}
            for number, peer in enumerate(self.peers)
        ]
        names = [topic.name for topic in request.topics] if request.topics is not None else ["t"]
        return {
            "brokers": brokers,
            "cluster_id": "scripted",
            "controller_id": self.controller,
            "topics": [self.topic(name) for name in names],
        }

    def topic(self, name: str) -> Fields:
        if name != "t":
            return {"name": name, "error_code": 3, "partitions": []}
        partitions = [
            {"partition_index": index, "leader_id": leader, "leader_epoch": 1, "error_code": 5 if leader < 0 else 0}
            for index, leader in enumerate(self.leaders)
        ]
        return {"name": name, "error_code": 0, "partitions": partitions}

    def list_offsets(self, number: int, *refusals: int) -> None:
        """A broker answers with 100 and the partition, after so many refusals of everything."""
        remaining = list(refusals)

        def answer(version: int, request: Message) -> Fields:
            code = remaining.pop(0) if remaining else 0
            topics = [
                {
                    "name": topic.name,
                    "partitions": [
                        {
                            "partition_index": part.partition_index,
                            "error_code": code,
                            "offset": -1 if code else 100 + part.partition_index,
                        }
                        for part in topic.partitions
                    ],
                }
                for topic in request.topics
            ]
            return {"topics": topics}

        self.peers[number].answers[apis.LIST_OFFSETS.key] = answer


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    cluster = ScriptedCluster()
    with cluster.peers[0], cluster.peers[1]:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[Admin]:
    settings = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 2, "retries": 3, "client.id": "scripted"}
    with Admin({"bootstrap.servers": cluster.peers[0].address, **settings}) as admin:
        yield admin


def places(*numbers: int) -> dict[TopicPartition, int]:
    return {TopicPartition("t", number): -1 for number in numbers}


def test_what_only_the_controller_can_do_is_asked_of_it(cluster: ScriptedCluster, admin: Admin) -> None:
    def refuse(version: int, request: Message) -> Fields:
        return {"topics": [{"name": topic.name, "error_code": NOT_CONTROLLER} for topic in request.topics]}

    def create(version: int, request: Message) -> Fields:
        return {"topics": [{"name": topic.name, "num_partitions": 3} for topic in request.topics]}

    cluster.peers[0].answers[apis.CREATE_TOPICS.key] = refuse
    cluster.peers[1].answers[apis.CREATE_TOPICS.key] = create
    created = admin.create_topics([NewTopic("a"), NewTopic("b")])
    assert [made.partitions for made in created.values() if isinstance(made, CreatedTopic)] == [3, 3]
    assert len(cluster.peers[1].asked(apis.CREATE_TOPICS)) == 1


def test_results_come_as_they_were_asked_for(cluster: ScriptedCluster, admin: Admin) -> None:
    def create(version: int, request: Message) -> Fields:
        """Backwards, and not all."""
        return {"topics": [{"name": topic.name} for topic in reversed(request.topics) if topic.name != "b"]}

    cluster.peers[0].answers[apis.CREATE_TOPICS.key] = create
    created = admin.create_topics([NewTopic("a"), NewTopic("b"), NewTopic("c")])
    assert list(created) == ["a", "b", "c"]
    assert {name: str(failure) for name, failure in failures(created).items()} == {
        "b": "b: the broker's response does not contain it"
    }


def test_each_leader_is_asked_once_about_its_own_partitions(cluster: ScriptedCluster, admin: Admin) -> None:
    cluster.list_offsets(0)
    cluster.list_offsets(1)
    wanted = {**places(2, 1, 0, 3, 9), TopicPartition("nowhere", 0): -1}
    listed = admin.list_offsets(wanted)
    assert list(listed) == list(wanted)
    assert {place.partition: found.offset for place, found in succeeded(listed).items()} == {0: 100, 1: 101, 2: 102}
    kinds = [type(failure) for failure in failures(listed).values()]
    assert issubclass(kinds[0], KafkaError)
    assert kinds[1:] == [UnknownPartition, UnknownTopic]
    assert [len(peer.asked(apis.LIST_OFFSETS)) for peer in cluster.peers] == [1, 1]


def test_a_leader_that_has_moved_is_asked_where_it_is_now(cluster: ScriptedCluster, admin: Admin) -> None:
    cluster.list_offsets(1)
    refused = cluster.peers[0].answers

    def move(version: int, request: Message) -> Fields:
        cluster.leaders = [1, 1, 1, -1]
        parts = [{"partition_index": number, "error_code": NOT_LEADER_OR_FOLLOWER} for number in (0, 2)]
        return {"topics": [{"name": "t", "partitions": parts}]}

    refused[apis.LIST_OFFSETS.key] = move
    listed = admin.list_offsets(places(0, 1, 2))
    assert [found.offset for found in succeeded(listed).values()] == [100, 101, 102]


def test_a_leader_that_never_settles_is_a_failure(cluster: ScriptedCluster, admin: Admin) -> None:
    cluster.list_offsets(0, *[NOT_LEADER_OR_FOLLOWER] * 100)
    [failure] = failures(admin.list_offsets(places(0))).values()
    assert isinstance(failure, KafkaError)
    assert failure.code == NOT_LEADER_OR_FOLLOWER
    assert len(cluster.peers[0].asked(apis.LIST_OFFSETS)) == 5


def test_a_broker_that_dies_takes_only_its_own_part_along(cluster: ScriptedCluster, admin: Admin) -> None:
    cluster.list_offsets(0)
    cluster.peers[1].answers[apis.LIST_OFFSETS.key] = lambda version, request: CLOSE
    listed = admin.list_offsets(places(0, 1, 2))
    assert {place.partition for place in succeeded(listed)} == {0, 2}
    assert isinstance(listed[TopicPartition("t", 1)], BrokerUnreachable)


def test_a_cluster_is_described_by_brokers_that_know_no_other_way_than_metadata(
    cluster: ScriptedCluster, admin: Admin
) -> None:
    described = admin.describe_cluster()
    assert (described.cluster_id, described.controller_id) == ("scripted", 1)
    assert [broker.port for broker in described.brokers] == [peer.port for peer in cluster.peers]
    assert described.authorized_operations is None


def test_a_broker_that_knows_no_topic_ids_is_named_as_such(cluster: ScriptedCluster, admin: Admin) -> None:
    def old_versions(version: int, request: Message) -> Fields:
        return {"error_code": 0, "api_keys": [{"api_key": 3, "min_version": 0, "max_version": 9}]}

    cluster.peers[0].answers[apis.API_VERSIONS.key] = old_versions
    with pytest.raises(UnsupportedByBroker, match="too old for topic ids"):
        admin.describe_topics_by_id([b"\x01" * 16])


def test_each_broker_tells_of_its_own_directories(cluster: ScriptedCluster, admin: Admin) -> None:
    def describe(version: int, request: Message) -> Fields:
        return {"results": [{"log_dir": "/data", "error_code": 0, "topics": []}]}

    cluster.peers[0].answers[apis.DESCRIBE_LOG_DIRS.key] = describe
    cluster.peers[1].answers[apis.DESCRIBE_LOG_DIRS.key] = lambda version, request: CLOSE
    described = admin.describe_log_dirs()
    assert described[0] == [LogDirDescription(0, "/data", None, -1, -1, [])]
    assert isinstance(described[1], ClientError)


def test_what_passes_is_repeated_as_often_as_retries_say(cluster: ScriptedCluster, admin: Admin) -> None:
    def unavailable(version: int, request: Message) -> Fields:
        return {"error_code": COORDINATOR_NOT_AVAILABLE, "node_id": -1, "host": "", "port": -1}

    cluster.peers[0].answers[apis.FIND_COORDINATOR.key] = unavailable
    [failure] = failures(admin.delete_groups(["g"])).values()
    assert isinstance(failure, KafkaError)
    assert failure.code == COORDINATOR_NOT_AVAILABLE
    # Once and three times again, for the look-up and for the call around it.
    assert len(cluster.peers[0].asked(apis.FIND_COORDINATOR)) <= 16
    assert len(cluster.peers[0].asked(apis.FIND_COORDINATOR)) >= 4


def test_a_coordinator_that_has_moved_is_looked_up_again(cluster: ScriptedCluster, admin: Admin) -> None:
    coordinators = [0, 1]

    def find(version: int, request: Message) -> Fields:
        number = coordinators.pop(0) if len(coordinators) > 1 else coordinators[0]
        return {"error_code": 0, "node_id": number, "host": "127.0.0.1", "port": cluster.peers[number].port}

    def deleted(code: int) -> Fields:
        return {"results": [{"group_id": "g", "error_code": code}]}

    cluster.peers[0].answers[apis.FIND_COORDINATOR.key] = find
    cluster.peers[1].answers[apis.FIND_COORDINATOR.key] = find
    cluster.peers[0].answers[apis.DELETE_GROUPS.key] = lambda version, request: deleted(NOT_COORDINATOR)
    cluster.peers[1].answers[apis.DELETE_GROUPS.key] = lambda version, request: deleted(0)
    assert admin.delete_groups(["g"]) == {"g": None}
    assert [len(peer.asked(apis.DELETE_GROUPS)) for peer in cluster.peers] == [1, 1]
