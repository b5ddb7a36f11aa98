"""Groups over the wire: their end, their commits, and the partition of `__consumer_offsets` that they are in."""

from __future__ import annotations

import threading

import pytest

from kcore.coordinator.group.records import GroupMetadata, MemberMetadata, group_metadata
from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.record.encoder import encode_batch
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_broker_life import MakeBroker, make_broker

__all__ = ["make_broker"]

NOT_COORDINATOR = 16
OFFSET_METADATA_TOO_LARGE = 12
ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS = 22, 25, 27
UNCOMMITTED = -1


@pytest.fixture
def started(make_broker: MakeBroker) -> Broker:
    broker = make_broker(offsets_topic_num_partitions="3")
    broker.startup()
    return broker


def connect(broker: Broker) -> RawClient:
    return RawClient(broker.bound_listeners[0].port)


def run_what_is_scheduled(broker: Broker) -> None:
    """Offsets are read back, and those of deleted topics forgotten, by the scheduler, one task after another."""
    is_done = threading.Event()
    broker.scheduler.schedule("last", is_done.set)
    assert is_done.wait(30)


def coordinator(client: RawClient, group_id: str) -> Message:
    return client.request(apis.FIND_COORDINATOR, 2, {"key": group_id, "key_type": 0})


def join_fields(group_id: str, member_id: str = "") -> dict[str, object]:
    return {
        "group_id": group_id,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }


def join(client: RawClient, group_id: str) -> tuple[str, int]:
    """A member without a generation's assignment; version 2 asks for no member id first."""
    answer = client.request(apis.JOIN_GROUP, 2, join_fields(group_id))
    assert answer.error_code == 0
    assignment = {"member_id": answer.member_id, "assignment": b"all"}
    fields = {"group_id": group_id, "member_id": answer.member_id, "generation_id": answer.generation_id}
    assert client.request(apis.SYNC_GROUP, 2, {**fields, "assignments": [assignment]}).error_code == 0
    return answer.member_id, answer.generation_id


def leave(client: RawClient, group_id: str, member_id: str) -> None:
    assert client.request(apis.LEAVE_GROUP, 2, {"group_id": group_id, "member_id": member_id}).error_code == 0


def commit(
    client: RawClient,
    group_id: str,
    topic: str,
    offset: int,
    member_id: str = "",
    generation: int = -1,
    metadata: str = "",
) -> int:
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": metadata}
    member = {"member_id": member_id, "generation_id_or_member_epoch": generation}
    fields = {"group_id": group_id, **member, "topics": [{"name": topic, "partitions": [partition]}]}
    return int(client.request(apis.OFFSET_COMMIT, 6, fields).topics[0].partitions[0].error_code)


def committed(client: RawClient, group_id: str, topic: str) -> int:
    fields = {"group_id": group_id, "topics": [{"name": topic, "partition_indexes": [0]}]}
    answer = client.request(apis.OFFSET_FETCH, 5, fields)
    assert answer.error_code == 0
    return int(answer.topics[0].partitions[0].committed_offset)


def test_group_without_members_and_offsets_comes_to_its_end(started: Broker) -> None:
    with connect(started) as client:
        client.create_topic("read")
        coordinator(client, "visitors")
        member_id, generation = join(client, "visitors")
        started.group_coordinator.clean_up()
        assert commit(client, "visitors", "read", 1, "stranger", generation) == UNKNOWN_MEMBER_ID
        leave(client, "visitors", member_id)
        started.group_coordinator.clean_up()
        assert commit(client, "visitors", "read", 1, member_id, generation) == ILLEGAL_GENERATION
        assert join(client, "visitors")[1] == 1


def test_group_with_offsets_outlives_its_members(started: Broker) -> None:
    with connect(started) as client:
        client.create_topic("read")
        coordinator(client, "readers")
        member_id, generation = join(client, "readers")
        assert commit(client, "readers", "read", 7, member_id, generation) == 0
        leave(client, "readers", member_id)
        started.group_coordinator.clean_up()
        assert commit(client, "readers", "read", 8, member_id, generation) == UNKNOWN_MEMBER_ID
        assert join(client, "readers")[1] > generation
        assert committed(client, "readers", "read") == 7


def test_the_length_of_metadata_is_counted_in_characters(started: Broker) -> None:
    with connect(started) as client:
        client.create_topic("read")
        coordinator(client, "annotators")
        assert commit(client, "annotators", "read", 1, metadata="é" * 4096) == 0
        assert commit(client, "annotators", "read", 2, metadata="é" * 4097) == OFFSET_METADATA_TOO_LARGE
        assert committed(client, "annotators", "read") == 1


def test_groups_stay_in_their_partition_when_the_configured_number_changes(make_broker: MakeBroker) -> None:
    broker = make_broker(offsets_topic_num_partitions="3")
    broker.startup()
    groups = [f"group-{number}" for number in range(8)]
    with connect(broker) as client:
        client.create_topic("read")
        for number, group_id in enumerate(groups):
            coordinator(client, group_id)
            assert commit(client, group_id, "read", number) == 0
    broker.shutdown()
    again = make_broker(offsets_topic_num_partitions="50")
    again.startup()
    run_what_is_scheduled(again)
    with connect(again) as client:
        assert [committed(client, group_id, "read") for group_id in groups] == list(range(8))


def test_member_that_waits_is_told_when_the_groups_go_elsewhere(started: Broker) -> None:
    with connect(started) as client, connect(started) as admin:
        coordinator(client, "waiting")
        member_id, generation = join(client, "waiting")
        heartbeat = {"group_id": "waiting", "member_id": member_id, "generation_id": generation}
        with connect(started) as newcomer:
            newcomer.send(apis.JOIN_GROUP, 2, join_fields("waiting"))
            while client.request(apis.HEARTBEAT, 2, heartbeat).error_code != REBALANCE_IN_PROGRESS:
                pass  # until the broker has the request
            admin.request(apis.DELETE_TOPICS, 1, {"topic_names": ["__consumer_offsets"], "timeout_ms": 1000})
            assert newcomer.receive(apis.JOIN_GROUP, 2).error_code == NOT_COORDINATOR
        assert client.request(apis.HEARTBEAT, 2, heartbeat).error_code == NOT_COORDINATOR


def test_record_that_cannot_be_read_hides_no_other(make_broker: MakeBroker) -> None:
    broker = make_broker(offsets_topic_num_partitions="1")
    broker.startup()
    with connect(broker) as client:
        client.create_topic("read")
        coordinator(client, "readers")
        partition = broker.replica_manager.partition("__consumer_offsets", 0)
        for key in (b"", b"\x00", b"\x00\x01\x7f\xff", b"\x00\x09"):
            assert partition.append_records(encode_batch([(key, b"\x00")], timestamp=0), -1, internal=True).error == 0
        assert commit(client, "readers", "read", 5) == 0
    broker.shutdown()
    again = make_broker(offsets_topic_num_partitions="1")
    again.startup()
    run_what_is_scheduled(again)
    with connect(again) as client:
        assert committed(client, "readers", "read") == 5


def test_members_kept_in_the_log_are_members_after_a_restart(make_broker: MakeBroker) -> None:
    broker = make_broker(offsets_topic_num_partitions="1")
    broker.startup()
    member = MemberMetadata("m-1", None, "client", "/127.0.0.1", 60_000, 10_000, b"topics", b"all")
    group = GroupMetadata("consumer", 7, "range", "m-1", 1_600_000_000_000, [member])
    with connect(broker) as client:
        client.create_topic("read")
        coordinator(client, "readers")
        partition = broker.replica_manager.partition("__consumer_offsets", 0)
        batch = encode_batch([group_metadata("readers", group)], timestamp=0)
        assert partition.append_records(batch, -1, internal=True).error == 0
    broker.shutdown()
    again = make_broker(offsets_topic_num_partitions="1")
    again.startup()
    run_what_is_scheduled(again)
    with connect(again) as client:
        heartbeat = {"group_id": "readers", "member_id": "m-1", "generation_id": 7}
        assert client.request(apis.HEARTBEAT, 2, heartbeat).error_code == 0
        assert commit(client, "readers", "read", 5, "m-1", 7) == 0
        assert client.request(apis.SYNC_GROUP, 2, {**heartbeat, "assignments": []}).assignment == b"all"


def test_offsets_go_with_their_topic(started: Broker) -> None:
    with connect(started) as client:
        for name in ("kept", "gone"):
            client.create_topic(name)
        coordinator(client, "readers")
        assert commit(client, "readers", "kept", 1) == commit(client, "readers", "gone", 2) == 0
        client.request(apis.DELETE_TOPICS, 1, {"topic_names": ["gone"], "timeout_ms": 1000})
        run_what_is_scheduled(started)
        client.create_topic("gone")
        assert (committed(client, "readers", "kept"), committed(client, "readers", "gone")) == (1, UNCOMMITTED)
