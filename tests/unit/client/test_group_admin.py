"""What the client makes of a coordinator's answers: errors that pass, groups of both protocols, and broken members."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcore.client.admin.groups import GroupAdmin, GroupDescription
from kcore.client.cluster_client import ClusterClient
from kcore.client.consumer.consumer_protocol import encode_assignment
from kcore.client.errors import BrokerUnreachable, ClientTimeout
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import CoordinatorLoadInProgressError, GroupAuthorizationFailedError, GroupIdNotFoundError
from kcore.protocol import apis
from kcore.protocol.message import Message
from tests.unit.client.peer import Answer, Fields, ScriptedPeer, metadata_of

NOT_COORDINATOR, LOADING, DENIED, NOT_FOUND = 16, 14, 30, 69
CLASSIC_APIS = (
    apis.API_VERSIONS,
    apis.METADATA,
    apis.FIND_COORDINATOR,
    apis.DESCRIBE_GROUPS,
    apis.LIST_GROUPS,
    apis.DELETE_GROUPS,
    apis.OFFSET_FETCH,
)


def versions_of(*known: Any) -> Answer:
    ranges = [{"api_key": a.key, "min_version": a.min_version, "max_version": a.max_version} for a in known]
    return lambda version, request: {"error_code": 0, "api_keys": ranges}


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    """A cluster of one broker that coordinates every group."""
    with ScriptedPeer() as peer:

        def find(version: int, request: Message) -> Fields:
            return {"error_code": 0, "node_id": 0, "host": "127.0.0.1", "port": peer.port}

        peer.answers |= {
            apis.API_VERSIONS.key: versions_of(*CLASSIC_APIS),
            apis.METADATA.key: metadata_of(peer, {}),
            apis.FIND_COORDINATOR.key: find,
        }
        yield peer


@pytest.fixture
def admin(peer: ScriptedPeer) -> Iterator[GroupAdmin]:
    with ClusterClient(peer.address, request_timeout_ms=20_000) as client:
        yield GroupAdmin(client)


def stable(group_id: str, assignment: bytes = b"", protocol_type: str = "consumer") -> Fields:
    member = {"member_id": "m", "client_id": "c", "client_host": "/h", "member_assignment": assignment}
    return {
        "group_id": group_id,
        "group_state": "Stable",
        "protocol_type": protocol_type,
        "protocol_data": "range",
        "members": [member],
    }


def described(admin: GroupAdmin, group_id: str) -> GroupDescription:
    group = admin.describe_groups([group_id])[group_id]
    assert isinstance(group, GroupDescription)
    return group


def test_a_coordinator_that_has_moved_is_looked_up_again(peer: ScriptedPeer, admin: GroupAdmin) -> None:
    codes = [NOT_COORDINATOR, LOADING]

    def describe(version: int, request: Message) -> Fields:
        code = codes.pop(0) if codes else 0
        groups = [{"group_id": name, "error_code": code if name == "moved" else 0} for name in request.groups]
        return {"groups": [{**stable(group["group_id"]), **group} for group in groups]}

    peer.answers[apis.DESCRIBE_GROUPS.key] = describe
    groups = admin.describe_groups(["moved", "there"])
    assert [group.state for group in groups.values() if isinstance(group, GroupDescription)] == ["Stable", "Stable"]
    assert [request.groups for request in peer.asked(apis.DESCRIBE_GROUPS)] == [
        ["moved", "there"],
        ["moved"],
        ["moved"],
    ]
    assert [request.key for request in peer.asked(apis.FIND_COORDINATOR)] == ["moved", "there", "moved", "moved"]


def test_a_coordinator_that_never_comes_is_a_failure_of_its_groups(peer: ScriptedPeer) -> None:
    peer.answers[apis.DESCRIBE_GROUPS.key] = lambda version, request: {
        "groups": [{"group_id": name, "error_code": LOADING} for name in request.groups]
    }
    with ClusterClient(peer.address, request_timeout_ms=1_000) as client:
        outcome = GroupAdmin(client).describe_groups(["loading"])["loading"]
    assert isinstance(outcome, CoordinatorLoadInProgressError)


def test_a_broker_without_the_consumer_protocol_is_not_asked_for_it(peer: ScriptedPeer, admin: GroupAdmin) -> None:
    place = TopicPartition("t", 3)
    peer.answers[apis.DESCRIBE_GROUPS.key] = lambda version, request: {
        "groups": [stable(name, encode_assignment([place])) for name in request.groups]
    }
    group = described(admin, "g")
    assert (group.type, group.assignor, group.epoch) == ("Classic", "range", None)
    assert [member.assignment for member in group.members] == [[place]]


def test_groups_of_both_protocols_are_described_at_once(peer: ScriptedPeer, admin: GroupAdmin) -> None:
    partitions = {"topic_partitions": [{"topic_id": bytes(16), "topic_name": "t", "partitions": [1, 0]}]}
    member = {"member_id": "m", "member_epoch": 4, "assignment": partitions, "target_assignment": partitions}

    def describe(version: int, request: Message) -> Fields:
        return {
            "groups": [
                {
                    "group_id": name,
                    "group_state": "Stable",
                    "group_epoch": 5,
                    "assignment_epoch": 5,
                    "members": [member],
                }
                if name == "new"
                else {"group_id": name, "error_code": NOT_FOUND}
                for name in request.group_ids
            ]
        }

    peer.answers |= {
        apis.API_VERSIONS.key: versions_of(*CLASSIC_APIS, apis.CONSUMER_GROUP_DESCRIBE),
        apis.CONSUMER_GROUP_DESCRIBE.key: describe,
        apis.DESCRIBE_GROUPS.key: lambda version, request: {
            "groups": [
                stable(name) if name == "old" else {"group_id": name, "error_code": NOT_FOUND}
                for name in request.groups
            ]
        },
    }
    new, old, absent = admin.describe_groups(["new", "old", "absent"]).values()
    assert isinstance(new, GroupDescription)
    assert (new.type, new.epoch, new.target_epoch) == ("Consumer", 5, 5)
    assert new.members[0].assignment == [TopicPartition("t", 0), TopicPartition("t", 1)]
    assert (new.members[0].epoch, new.members[0].is_upgraded) == (4, None)
    assert isinstance(old, GroupDescription)
    assert old.type == "Classic"
    assert isinstance(absent, GroupIdNotFoundError)
    assert [request.groups for request in peer.asked(apis.DESCRIBE_GROUPS)] == [["old", "absent"]]


@pytest.mark.parametrize(
    ("assignment", "protocol_type"),
    [(b"", "consumer"), (b"\x00\x00\xff", "consumer"), (b"\x00\x00\x7f\xff\xff\xff", "consumer"), (b"any", "connect")],
)
def test_an_assignment_that_is_none(
    peer: ScriptedPeer, admin: GroupAdmin, assignment: bytes, protocol_type: str
) -> None:
    peer.answers[apis.DESCRIBE_GROUPS.key] = lambda version, request: {
        "groups": [stable(name, assignment, protocol_type) for name in request.groups]
    }
    assert [member.assignment for member in described(admin, "g").members] == [[]]


def test_a_dead_group_of_an_older_broker_is_not_there(peer: ScriptedPeer, admin: GroupAdmin) -> None:
    peer.answers[apis.DESCRIBE_GROUPS.key] = lambda version, request: {
        "groups": [{"group_id": name, "group_state": "Dead"} for name in request.groups]
    }
    assert isinstance(admin.describe_groups(["g"])["g"], GroupIdNotFoundError)


def test_offsets_that_may_not_be_read_are_told_beside_others(peer: ScriptedPeer, admin: GroupAdmin) -> None:
    def fetch(version: int, request: Message) -> Fields:
        if request.group_id == "secret":
            return {"error_code": DENIED, "topics": []}
        partitions = [
            {"partition_index": 0, "committed_offset": 7, "committed_leader_epoch": 2, "metadata": "m"},
            {"partition_index": 1, "committed_offset": -1, "metadata": None},
        ]
        return {"error_code": 0, "topics": [{"name": "t", "partitions": partitions}]}

    peer.answers[apis.OFFSET_FETCH.key] = fetch
    secret, open_to_all = admin.committed_offsets(["secret", "open"]).values()
    assert isinstance(secret, GroupAuthorizationFailedError)
    assert open_to_all == {TopicPartition("t", 0): (7, 2, "m")}


def test_a_broker_that_cannot_list_is_told(peer: ScriptedPeer, admin: GroupAdmin) -> None:
    peer.answers[apis.LIST_GROUPS.key] = lambda version, request: {"error_code": DENIED, "groups": []}
    listed, [failure] = admin.list_groups()
    assert listed == []
    assert isinstance(failure, GroupAuthorizationFailedError)
    assert str(failure).startswith("the groups of broker 0: ")


def test_requests_that_are_not_answered_fail_each(peer: ScriptedPeer) -> None:
    peer.answers[apis.OFFSET_FETCH.key] = lambda version, request: None
    with ClusterClient(peer.address, request_timeout_ms=300) as client:
        outcomes = GroupAdmin(client).committed_offsets(["a", "b"])
    # The connection is given up with the first; of that the second may hear before its own time is over.
    assert isinstance(outcomes["a"], ClientTimeout)
    assert isinstance(outcomes["b"], ClientTimeout | BrokerUnreachable)
