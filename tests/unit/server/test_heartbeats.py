"""Heartbeats over the wire, answered by processors or by handlers: the same bytes, and the same members."""

from __future__ import annotations

import itertools
import socket
import uuid
from collections.abc import Callable

import pytest

from kcore.coordinator.group.state import Group
from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.headers import encode_response
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_produce_and_fetch import batch, fetch_fields, produce

ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, INVALID_GROUP_ID = 22, 25, 24
REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID, MEMBER_ID_REQUIRED = 27, 82, 79
VERSIONS = range(5)
FIRST_WITH_INSTANCE = 3
NUMBERS = itertools.count()

Identity = dict[str, object]


def join_fields(group_id: str, instance_id: str | None = None, member_id: str = "") -> dict[str, object]:
    return {
        "group_id": group_id,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "group_instance_id": instance_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }


def become_stable(client: RawClient, instance_id: str | None = None) -> Identity:
    """A group of one member; answers what its heartbeats say."""
    group_id = f"stable-{next(NUMBERS)}"
    while client.request(apis.FIND_COORDINATOR, 2, {"key": group_id, "key_type": 0}).error_code:
        pass  # until the partition has been made
    answer = client.request(apis.JOIN_GROUP, 5, join_fields(group_id, instance_id))
    if answer.error_code:
        answer = client.request(apis.JOIN_GROUP, 5, join_fields(group_id, instance_id, answer.member_id))
    assert answer.error_code == 0
    identity: Identity = {
        "group_id": group_id,
        "member_id": answer.member_id,
        "generation_id": answer.generation_id,
        "group_instance_id": instance_id,
    }
    assignments = [{"member_id": answer.member_id, "assignment": b"all"}]
    assert client.request(apis.SYNC_GROUP, 3, {**identity, "assignments": assignments}).error_code == 0
    return identity


def beat(client: RawClient, identity: Identity, version: int = 4, **changed: object) -> int:
    return int(client.request(apis.HEARTBEAT, version, {**identity, **changed}).error_code)


def test_stable_members_are_answered_without_handlers(broker: Broker, client: RawClient, fast_path: bool) -> None:
    """Else the rest of this file would test handlers twice."""
    identity = become_stable(client)
    assert broker._dispatch.is_native(apis.HEARTBEAT.key, 4) == fast_path
    table = broker.group_coordinator.sessions
    group_id, member_id = str(identity["group_id"]), str(identity["member_id"])
    assert table.heard_ms(group_id, member_id) is None
    assert beat(client, identity) == 0
    assert (table.heard_ms(group_id, member_id) is not None) == fast_path


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("instance_id", [None, "seat-1"])
def test_answer_has_the_bytes_that_the_codec_makes(client: RawClient, version: int, instance_id: str | None) -> None:
    identity = become_stable(client, instance_id)
    said = identity if version >= FIRST_WITH_INSTANCE else {**identity, "group_instance_id": None}
    correlation_id = client.send(apis.HEARTBEAT, version, said)
    expected = encode_response(apis.HEARTBEAT, version, correlation_id, {"error_code": 0})
    assert client.receive_frame() == expected


def test_who_is_no_member_of_the_generation_is_told(client: RawClient) -> None:
    identity = become_stable(client)
    assert beat(client, identity, member_id="stranger") == UNKNOWN_MEMBER_ID
    assert beat(client, identity, group_id="nowhere") == UNKNOWN_MEMBER_ID
    assert beat(client, identity, group_id="") == INVALID_GROUP_ID
    assert beat(client, identity, generation_id=2) == ILLEGAL_GENERATION
    assert beat(client, identity, group_instance_id="nobody") == UNKNOWN_MEMBER_ID
    assert beat(client, identity) == 0


def test_static_member_is_who_it_says(client: RawClient) -> None:
    identity = become_stable(client, "seat-1")
    assert beat(client, identity) == 0
    assert beat(client, identity, group_instance_id=None) == 0
    assert beat(client, identity, group_instance_id="seat-2") == UNKNOWN_MEMBER_ID
    assert beat(client, identity, member_id="another") == FENCED_INSTANCE_ID


def test_replaced_static_member_is_fenced_at_once(broker: Broker, client: RawClient) -> None:
    identity = become_stable(client, "seat-1")
    assert beat(client, identity) == 0
    with RawClient(broker.bound_listeners[0].port) as successor:
        answer = successor.request(apis.JOIN_GROUP, 5, join_fields(str(identity["group_id"]), "seat-1"))
        assert answer.error_code == 0
        assert beat(client, identity) == FENCED_INSTANCE_ID


def test_rebalance_is_heard_of_and_the_next_generation_counts(broker: Broker, client: RawClient) -> None:
    identity = become_stable(client)
    assert beat(client, identity) == 0
    group_id = str(identity["group_id"])
    with RawClient(broker.bound_listeners[0].port) as newcomer:
        # Version 3 is asked for no member id first: its request waits for the rebalance.
        newcomer.send(apis.JOIN_GROUP, 3, join_fields(group_id))
        while beat(client, identity) != REBALANCE_IN_PROGRESS:
            pass  # until the broker has the request
        rejoined = client.request(apis.JOIN_GROUP, 5, join_fields(group_id, None, str(identity["member_id"])))
        assert newcomer.receive(apis.JOIN_GROUP, 3).error_code == 0
        assert beat(client, identity) == ILLEGAL_GENERATION
        assert beat(client, identity, generation_id=rejoined.generation_id) == 0


def test_who_left_is_no_member(client: RawClient) -> None:
    identity = become_stable(client)
    assert beat(client, identity) == 0
    leaving = {"group_id": identity["group_id"], "member_id": identity["member_id"]}
    assert client.request(apis.LEAVE_GROUP, 2, leaving).error_code == 0
    assert beat(client, identity) == UNKNOWN_MEMBER_ID


def test_answered_heartbeats_are_counted(broker: Broker, client: RawClient) -> None:
    identity = become_stable(client)
    assert beat(client, identity) == 0
    # An answer is counted when its last byte has left, which may be after it was read, but before the next request is.
    client.request(apis.API_VERSIONS, 0, {})
    before = broker.socket_server.request_totals()[apis.HEARTBEAT.key]
    assert [beat(client, identity) for _ in range(3)] == [0, 0, 0]
    assert beat(client, identity, generation_id=9) == ILLEGAL_GENERATION
    client.request(apis.API_VERSIONS, 0, {})
    after = broker.socket_server.request_totals()[apis.HEARTBEAT.key]
    assert after.requests - before.requests == 4
    assert after.errors[0] - before.errors[0] == 3
    assert after.errors[ILLEGAL_GENERATION] - before.errors.get(ILLEGAL_GENERATION, 0) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_torn_request_ends_its_connection(broker: Broker, client: RawClient, version: int) -> None:
    identity = become_stable(client)
    whole = apis.HEARTBEAT.request.encode(version, {**identity, "group_instance_id": None})
    for size in range(len(whole)):
        with RawClient(broker.bound_listeners[0].port) as torn:
            header_version = apis.HEARTBEAT.request_header_version(version)
            header = b"\x00\x0c" + version.to_bytes(2, "big") + b"\x00\x00\x00\x01" + b"\xff\xff"
            torn.send_frame(header + b"\x00" * (header_version - 1) + whole[:size])
            assert torn.is_closed_by_broker(), size
    assert beat(client, identity) == 0


# --- clients that closed their connections before they were heard ---------------------------------------------------


def session_end(broker: Broker, group_id: str, member_id: str) -> int:
    """When the coordinator would give the member up, heartbeats that only processors know of included."""
    coordinator = broker.group_coordinator
    shard = coordinator._shard(group_id)
    with shard.lock:
        group = shard.groups[group_id]
        if isinstance(group, Group):
            shard.sessions.catch_up(group, member_id)
            return group.members[member_id].session_deadline_ms
        return int(group.deadlines[member_id])


def classic_heartbeat(client: RawClient) -> tuple[str, str, Api, int, dict[str, object]]:
    identity = become_stable(client)
    return str(identity["group_id"]), str(identity["member_id"]), apis.HEARTBEAT, 4, dict(identity)


def classic_commit(client: RawClient) -> tuple[str, str, Api, int, dict[str, object]]:
    identity = become_stable(client)
    topic = f"committed-in-{identity['group_id']}"
    client.create_topic(topic)
    partition = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    fields = {
        "group_id": identity["group_id"],
        "generation_id_or_member_epoch": identity["generation_id"],
        "member_id": identity["member_id"],
        "group_instance_id": None,
        "topics": [{"name": topic, "partitions": [partition]}],
    }
    return str(identity["group_id"]), str(identity["member_id"]), apis.OFFSET_COMMIT, 8, fields


def consumer_heartbeat(client: RawClient) -> tuple[str, str, Api, int, dict[str, object]]:
    group_id, member_id = f"consumer-{next(NUMBERS)}", str(uuid.uuid4())
    while client.request(apis.FIND_COORDINATOR, 2, {"key": group_id, "key_type": 0}).error_code:
        pass  # until the partition has been made
    fields: dict[str, object] = {
        "group_id": group_id,
        "member_id": member_id,
        "member_epoch": 0,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": 60_000,
        "subscribed_topic_names": ["not-there"],
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": [],
    }
    answer = client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields)
    assert answer.error_code == 0
    later = {
        "member_epoch": answer.member_epoch,
        "rebalance_timeout_ms": -1,
        "subscribed_topic_names": None,
        "topic_partitions": None,
    }
    return group_id, member_id, apis.CONSUMER_GROUP_HEARTBEAT, 1, {**fields, **later}


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "open"])
@pytest.mark.parametrize("sign_of_life", [classic_heartbeat, classic_commit, consumer_heartbeat])
def test_sign_of_life_that_is_read_after_its_client_closed_the_connection_extends_no_session(
    broker: Broker,
    client: RawClient,
    sign_of_life: Callable[[RawClient], tuple[str, str, Api, int, dict[str, object]]],
    is_closed: bool,
) -> None:
    group_id, member_id, api, version, fields = sign_of_life(client)
    before = session_end(broker, group_id, member_id)
    now_ms = broker.group_coordinator.sessions.now_ms
    began_ms = now_ms()
    while now_ms() <= began_ms + 1:
        pass  # until a session that is extended ends later
    with RawClient(broker.bound_listeners[0].port) as late:
        # The broker takes nothing up behind a fetch that waits: what follows is read once that is answered.
        topic = f"awaited-{group_id}"
        client.create_topic(topic)
        late.send(apis.FETCH, 12, fetch_fields(client, topic, max_wait_ms=60_000))
        late.send(api, version, fields)
        if is_closed:
            late.socket.shutdown(socket.SHUT_WR)
        assert produce(client, topic, batch([b"value"])).error_code == 0
        assert late.receive_frame() is not None
        answer = late.receive(api, version)
    if api is apis.OFFSET_COMMIT:
        assert answer.topics[0].partitions[0].error_code == 0
    else:
        assert answer.error_code == 0
    after = session_end(broker, group_id, member_id)
    assert after == before if is_closed else after > before


@pytest.mark.parametrize("is_closed", [True, False], ids=["closed", "open"])
def test_who_closed_the_connection_before_joining_is_not_waited_for(
    broker: Broker, client: RawClient, is_closed: bool
) -> None:
    group_id = str(become_stable(client)["group_id"])
    topic = f"awaited-by-{group_id}"
    client.create_topic(topic)
    with RawClient(broker.bound_listeners[0].port) as late:
        late.send(apis.FETCH, 12, fetch_fields(client, topic, max_wait_ms=60_000))
        late.send(apis.JOIN_GROUP, 5, join_fields(group_id))
        if is_closed:
            late.socket.shutdown(socket.SHUT_WR)
        assert produce(client, topic, batch([b"value"])).error_code == 0
        assert late.receive_frame() is not None
        error_code = late.receive(apis.JOIN_GROUP, 5).error_code
    group = broker.group_coordinator._shard(group_id).groups[group_id]
    assert isinstance(group, Group)
    assert error_code == (REBALANCE_IN_PROGRESS if is_closed else MEMBER_ID_REQUIRED)
    assert len(group.members.pending_ids) == (0 if is_closed else 1)
