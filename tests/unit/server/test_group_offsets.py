"""Committed offsets over the wire: fetched for several groups, deleted, expired, part of a transaction, read back."""

from __future__ import annotations

import threading

import pytest

from kcore.coordinator.group.committer import Committer
from kcore.protocol import apis
from kcore.protocol.records import CONSUMER_PROTOCOL_SUBSCRIPTION
from kcore.server.broker import Broker
from tests.raw_client import RawClient
from tests.unit.server.test_broker_life import MakeBroker, make_broker
from tests.unit.server.test_groups import (
    UNCOMMITTED,
    commit,
    committed,
    connect,
    coordinator,
    join,
    join_fields,
    leave,
    run_what_is_scheduled,
)

__all__ = ["make_broker"]

NONE, UNKNOWN_TOPIC_OR_PARTITION, ILLEGAL_GENERATION = 0, 3, 22
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC, UNSTABLE_OFFSET_COMMIT = 68, 69, 86, 88
PRODUCER_ID = 4000


def started(make_broker: MakeBroker) -> Broker:
    broker = make_broker(offsets_topic_num_partitions="1")
    broker.startup()
    run_what_is_scheduled(broker)
    return broker


@pytest.fixture
def broker(make_broker: MakeBroker) -> Broker:
    broker = started(make_broker)
    with connect(broker) as client:
        client.create_topic("read")
        client.create_topic("seen")
        coordinator(client, "readers")
    return broker


def delete(client: RawClient, group_id: str, *places: tuple[str, int]) -> tuple[int, list[int]]:
    topics = [{"name": topic, "partitions": [{"partition_index": index}]} for topic, index in places]
    answer = client.request(apis.OFFSET_DELETE, 0, {"group_id": group_id, "topics": topics})
    return answer.error_code, [topic.partitions[0].error_code for topic in answer.topics]


def fetch_stable(client: RawClient, group_id: str, topics: list[str] | None) -> list[tuple[int, int]]:
    wanted = None if topics is None else [{"name": name, "partition_indexes": [0]} for name in topics]
    fields = {"groups": [{"group_id": group_id, "topics": wanted}], "require_stable": True}
    (group,) = client.request(apis.OFFSET_FETCH, 9, fields).groups
    assert group.error_code == NONE
    return [(part.error_code, part.committed_offset) for topic in group.topics for part in topic.partitions]


def commit_in_transaction(broker: Broker, offset: int, group_id: str = "readers") -> int:
    committer = Committer("", None, -1, knows_epochs=False, is_transactional=True)
    commits = {("read", 0): (offset, -1, None)}
    return broker.group_coordinator.commit_transactional(group_id, committer, commits, PRODUCER_ID, 0)["read", 0]


def end_transaction(broker: Broker, is_commit: bool) -> int:
    return broker.group_coordinator.complete_transaction(0, PRODUCER_ID, 0, 0, is_commit)


def test_several_groups_are_asked_at_once(broker: Broker) -> None:
    with connect(broker) as client:
        assert commit(client, "readers", "read", 3, metadata="note") == NONE
        assert commit(client, "others", "seen", 4) == NONE
        topics = [{"name": "read", "partition_indexes": [0, 1]}]
        groups = [{"group_id": "readers", "topics": topics}, {"group_id": "others", "topics": None}, {"group_id": "?"}]
        answer = client.request(apis.OFFSET_FETCH, 8, {"groups": groups}).groups
        found = [
            [
                (topic.name, [(part.committed_offset, part.metadata) for part in topic.partitions])
                for topic in group.topics
            ]
            for group in answer
        ]
        assert [group.group_id for group in answer] == ["readers", "others", "?"]
        assert found == [[("read", [(3, "note"), (-1, "")])], [("seen", [(4, "")])], []]


def test_offset_that_is_deleted_is_gone_for_good(make_broker: MakeBroker, broker: Broker) -> None:
    with connect(broker) as client:
        assert commit(client, "readers", "read", 3) == commit(client, "readers", "seen", 4) == NONE
        answer = delete(client, "readers", ("read", 0), ("read", 9), ("nowhere", 0))
        assert answer == (NONE, [NONE, UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_OR_PARTITION])
        assert (committed(client, "readers", "read"), committed(client, "readers", "seen")) == (UNCOMMITTED, 4)
    broker.shutdown()
    with connect(started(make_broker)) as client:
        assert (committed(client, "readers", "read"), committed(client, "readers", "seen")) == (UNCOMMITTED, 4)


def test_commits_for_a_topic_that_is_created_again_outlive_the_deletion_of_the_first(broker: Broker) -> None:
    """Offsets of deleted topics are removed on the scheduler's thread, which may be late."""
    released = threading.Event()

    def hold_up() -> None:
        released.wait(30)

    with connect(broker) as client:
        assert commit(client, "readers", "read", 3) == commit(client, "others", "read", 5) == NONE
        broker.scheduler.schedule("hold-up", hold_up)
        client.request(apis.DELETE_TOPICS, 1, {"topic_names": ["read"], "timeout_ms": 1000})
        client.create_topic("read")
        assert commit(client, "readers", "read", 1) == NONE
        released.set()
        run_what_is_scheduled(broker)
        assert (committed(client, "readers", "read"), committed(client, "others", "read")) == (1, UNCOMMITTED)


def test_offsets_of_what_members_read_are_not_deleted(broker: Broker) -> None:
    with connect(broker) as client:
        assert delete(client, "readers", ("read", 0)) == (GROUP_ID_NOT_FOUND, [])
        assert commit(client, "readers", "read", 3) == commit(client, "readers", "seen", 4) == NONE
        metadata = CONSUMER_PROTOCOL_SUBSCRIPTION.encode(0, {"topics": ["read"]})
        fields = {**join_fields("readers"), "protocols": [{"name": "range", "metadata": metadata}]}
        member = client.request(apis.JOIN_GROUP, 2, fields)
        assert delete(client, "readers", ("read", 0), ("seen", 0)) == (NONE, [GROUP_SUBSCRIBED_TO_TOPIC, NONE])
        assert (committed(client, "readers", "read"), committed(client, "readers", "seen")) == (3, UNCOMMITTED)
        leave(client, "readers", member.member_id)
        assert delete(client, "readers", ("read", 0)) == (NONE, [NONE])


def test_offsets_of_a_group_that_is_no_group_of_consumers_stay_while_it_has_members(broker: Broker) -> None:
    with connect(broker) as client:
        fields = {**join_fields("workers"), "protocol_type": "connect"}
        client.request(apis.JOIN_GROUP, 2, fields)
        assert delete(client, "workers", ("read", 0)) == (NON_EMPTY_GROUP, [])


def test_stranger_to_an_unknown_group_is_told_so_in_the_words_of_his_version(broker: Broker) -> None:
    with connect(broker) as client:
        partition = {"partition_index": 0, "committed_offset": 1}
        member = {"member_id": "stranger", "generation_id_or_member_epoch": 3}
        fields = {"group_id": "nobody", **member, "topics": [{"name": "read", "partitions": [partition]}]}
        codes = {
            version: client.request(apis.OFFSET_COMMIT, version, fields).topics[0].partitions[0].error_code
            for version in (8, 9)
        }
        assert codes == {8: ILLEGAL_GENERATION, 9: GROUP_ID_NOT_FOUND}


def test_retention_that_a_client_asks_for_ends_its_offset_and_a_group_of_nothing_else(
    make_broker: MakeBroker, broker: Broker
) -> None:
    def commit_for(client: RawClient, topic: str, retention_ms: int) -> None:
        partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
        fields = {"group_id": "readers", "retention_time_ms": retention_ms}
        topics = [{"name": topic, "partitions": [partition]}]
        answer = client.request(apis.OFFSET_COMMIT, 4, {**fields, "topics": topics})
        assert answer.topics[0].partitions[0].error_code == NONE

    with connect(broker) as client:
        commit_for(client, "read", 0)
        commit_for(client, "seen", 3_600_000)
        broker.group_coordinator.clean_up()
        assert (committed(client, "readers", "read"), committed(client, "readers", "seen")) == (UNCOMMITTED, 5)
    broker.shutdown()
    again = started(make_broker)
    with connect(again) as client:
        assert (committed(client, "readers", "read"), committed(client, "readers", "seen")) == (UNCOMMITTED, 5)
        commit_for(client, "seen", 0)
        again.group_coordinator.clean_up()
        assert again.group_coordinator.group_states() == []


@pytest.mark.parametrize("retention_ms", [2**63 - 1, 2**62])
def test_the_longest_retention_that_a_client_can_ask_for(broker: Broker, retention_ms: int) -> None:
    partition = {"partition_index": 0, "committed_offset": 5, "committed_metadata": ""}
    fields = {"group_id": "readers", "retention_time_ms": retention_ms}
    fields["topics"] = [{"name": "read", "partitions": [partition]}]
    with connect(broker) as client:
        answer = client.request(apis.OFFSET_COMMIT, 4, fields)
        assert answer.topics[0].partitions[0].error_code == NONE
        broker.group_coordinator.clean_up()
        assert committed(client, "readers", "read") == 5


def test_offset_of_a_transaction_is_unstable_until_its_marker(broker: Broker) -> None:
    with connect(broker) as client:
        assert commit(client, "readers", "read", 3) == NONE
        assert commit_in_transaction(broker, 7) == NONE
        assert fetch_stable(client, "readers", ["read", "seen"]) == [(UNSTABLE_OFFSET_COMMIT, -1), (NONE, -1)]
        assert fetch_stable(client, "readers", None) == [(UNSTABLE_OFFSET_COMMIT, -1)]
        assert committed(client, "readers", "read") == 3
        assert end_transaction(broker, is_commit=True) == NONE
        assert fetch_stable(client, "readers", ["read"]) == [(NONE, 7)]


@pytest.mark.parametrize(("is_commit", "found"), [(True, 7), (False, 3)])
def test_transaction_outlives_a_restart(make_broker: MakeBroker, broker: Broker, is_commit: bool, found: int) -> None:
    with connect(broker) as client:
        assert commit(client, "readers", "read", 3) == NONE
        assert commit_in_transaction(broker, 7) == NONE
        broker.group_coordinator.clean_up()
    broker.shutdown()
    second = started(make_broker)
    with connect(second) as client:
        assert fetch_stable(client, "readers", ["read"]) == [(UNSTABLE_OFFSET_COMMIT, -1)]
        assert end_transaction(second, is_commit) == NONE
        assert fetch_stable(client, "readers", ["read"]) == [(NONE, found)]
    second.shutdown()
    with connect(started(make_broker)) as client:
        assert fetch_stable(client, "readers", ["read"]) == [(NONE, found)]


def test_group_of_a_transaction_alone_lasts_as_long(broker: Broker) -> None:
    assert commit_in_transaction(broker, 7, "exactly-once") == NONE
    broker.group_coordinator.clean_up()
    assert [group for group, _, _ in broker.group_coordinator.group_states()] == ["exactly-once"]
    assert end_transaction(broker, is_commit=False) == NONE
    broker.group_coordinator.clean_up()
    assert broker.group_coordinator.group_states() == []


def test_deleted_group_leaves_nothing(make_broker: MakeBroker, broker: Broker) -> None:
    with connect(broker) as client:
        member_id, generation = join(client, "readers")
        assert commit(client, "readers", "read", 3, member_id, generation) == NONE
        assert broker.group_coordinator.delete_group("readers") == NON_EMPTY_GROUP
        leave(client, "readers", member_id)
        assert broker.group_coordinator.delete_group("readers") == NONE
        assert broker.group_coordinator.delete_group("readers") == GROUP_ID_NOT_FOUND
        assert committed(client, "readers", "read") == UNCOMMITTED
    broker.shutdown()
    again = started(make_broker)
    assert again.group_coordinator.group_states() == []
    with connect(again) as client:
        assert committed(client, "readers", "read") == UNCOMMITTED


def test_what_becomes_of_offsets_is_counted(broker: Broker) -> None:
    with connect(broker) as client:
        assert commit(client, "readers", "read", 3) == commit(client, "readers", "seen", 4) == NONE
        assert commit(client, "readers", "nowhere", 4) == UNKNOWN_TOPIC_OR_PARTITION
        assert commit_in_transaction(broker, 7) == end_transaction(broker, is_commit=True) == NONE
        assert broker.group_coordinator.offset_count() == 2
        assert delete(client, "readers", ("read", 0)) == (NONE, [NONE])
        assert broker.group_coordinator.delete_group("readers") == NONE
        join(client, "readers")
    counts = broker.group_coordinator.counts
    assert (counts.offset_commits, counts.offset_deletions, counts.offset_expirations) == (3, 2, 0)
    assert counts.completed_rebalances == 1
    assert counts.loads == 1
