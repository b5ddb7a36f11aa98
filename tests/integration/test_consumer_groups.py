"""Groups of the consumer protocol (KIP-848) with clients that no one here wrote: they join, share, rebalance and leave.

librdkafka by confluent-kafka, and Java's consumer, with `group.protocol=consumer`; raw requests where a test is about
one answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kcore import errors
from kcore.protocol import apis
from tests.broker_process import BrokerProcess
from tests.raw_client import RawClient

TIMEOUT_S = 60
HEARTBEAT = apis.CONSUMER_GROUP_HEARTBEAT
# Heartbeats that do not make a test wait.
SETTINGS = {"group.consumer.heartbeat.interval.ms": "200"}


@pytest.fixture
def session_ms() -> int:
    """Longer than a machine keeps a member from speaking, even one whose broker was away."""
    return 45_000


@pytest.fixture
def broker(tmp_path: Path, session_ms: int) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data", {**SETTINGS, "group.consumer.session.timeout.ms": str(session_ms)}) as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[RawClient]:
    with RawClient(broker.port) as client:
        yield client


def eventually(condition: Callable[[], Any], what: str) -> Any:
    """Asks again until the condition holds."""
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what} did not come to be")


def heartbeat(client: RawClient, group: str, member: str, epoch: int, **fields: Any) -> Any:
    fields = {"group_id": group, "member_id": member, "member_epoch": epoch, **fields}
    return client.request(HEARTBEAT, 1, fields)


def join(client: RawClient, group: str, member: str, *topics: str, **fields: Any) -> Any:
    """Waits for the coordinator to be there."""
    fields = {
        "rebalance_timeout_ms": 30_000,
        "topic_partitions": [],
        "subscribed_topic_names": list(topics) or None,
        **fields,
    }
    find = {"key_type": 0, "coordinator_keys": [group]}

    def try_to_join() -> Any:
        client.request(apis.FIND_COORDINATOR, 4, find)
        answer = heartbeat(client, group, member, 0, **fields)
        return answer if answer.error_code not in (14, 15, 16) else None

    return eventually(try_to_join, "a coordinator")


def describe(client: RawClient, group: str) -> Any:
    return client.request(apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": [group]}).groups[0]


def assigned(answer: Any) -> list[int]:
    return [partition for row in answer.assignment.topic_partitions for partition in row.partitions]


def librdkafka(broker: BrokerProcess, group: str, **settings: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": broker.bootstrap_server,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            **settings,
        }
    )


def owned_by(consumers: list[Consumer]) -> list[list[int]]:
    """What each has now, after a poll of each."""
    for consumer in consumers:
        consumer.poll(0.02)
    return [sorted(place.partition for place in consumer.assignment()) for consumer in consumers]


def shared_evenly(consumers: list[Consumer], partitions: int) -> bool:
    owned = owned_by(consumers)
    everything = sorted(partition for each in owned for partition in each)
    return everything == list(range(partitions)) and max(map(len, owned)) - min(map(len, owned)) <= 1


def produce(broker: BrokerProcess, topic: str, partitions: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_server})
    for number in range(count):
        producer.produce(topic, value=str(number), partition=number % partitions)
    assert producer.flush(TIMEOUT_S) == 0


def test_members_join_share_and_leave(broker: BrokerProcess, client: RawClient) -> None:
    client.create_topic("orders", 6)
    produce(broker, "orders", 6, 60)
    first = librdkafka(broker, "g")
    first.subscribe(["orders"])
    values: set[bytes] = set()

    def has_read_all() -> bool:
        message = first.poll(0.1)
        if message is not None:
            assert message.error() is None
            values.add(message.value())
        return len(values) == 60

    eventually(has_read_all, "the reading of all records")
    others = [librdkafka(broker, "g") for _ in range(2)]
    for consumer in others:
        consumer.subscribe(["orders"])
    eventually(lambda: shared_evenly([first, *others], 6), "an even share for three")
    described = eventually(lambda: (group := describe(client, "g")).group_state == "Stable" and group, "a stable group")
    assert described.assignor_name == "uniform"
    assert [len(assigned(member)) for member in described.members] == [2, 2, 2]
    assert {member.client_host for member in described.members} == {"/127.0.0.1"}
    others.pop().close()
    eventually(lambda: shared_evenly([first, *others], 6), "an even share for two")
    first.close()
    eventually(lambda: shared_evenly(others, 6), "everything for one")
    others.pop().close()
    eventually(lambda: describe(client, "g").group_state == "Empty", "an empty group")


@pytest.mark.parametrize("session_ms", [3_000])
def test_who_is_silent_for_a_session_is_out(broker: BrokerProcess, client: RawClient) -> None:
    client.create_topic("orders", 2)
    join(client, "g", "raw", "orders")
    consumer = librdkafka(broker, "g")
    consumer.subscribe(["orders"])
    eventually(lambda: owned_by([consumer]) == [[0, 1]], "what the silent member had")
    answer = heartbeat(client, "g", "raw", 2)
    assert (answer.error_code, answer.error_message) == (25, "Member raw is not a member of group g.")
    consumer.close()


def test_topics_and_partitions_that_appear_are_assigned(broker: BrokerProcess, client: RawClient) -> None:
    client.create_topic("orders-1", 1)
    consumer = librdkafka(broker, "g")
    consumer.subscribe(["orders-1", "orders-2"])
    eventually(lambda: len(consumer.assignment()) == 1 or consumer.poll(0.02), "one partition")
    client.create_topic("orders-2", 2)
    eventually(lambda: len(owned_by([consumer])[0]) == 3, "the new topic's partitions")
    topics = [{"name": "orders-1", "count": 4, "assignments": None}]
    client.request(apis.CREATE_PARTITIONS, 3, {"topics": topics, "timeout_ms": 10_000})
    eventually(lambda: len(owned_by([consumer])[0]) == 6, "the new partitions")
    consumer.close()


def test_a_pattern_is_resolved_by_the_broker(broker: BrokerProcess, client: RawClient) -> None:
    for name in ("orders-1", "orders-2", "payments"):
        client.create_topic(name, 2)
    consumer = librdkafka(broker, "g")
    consumer.subscribe(["^orders-[0-9]$"])
    eventually(lambda: len(owned_by([consumer])[0]) == 4, "the topics that match")
    assert {place.topic for place in consumer.assignment()} == {"orders-1", "orders-2"}
    assert describe(client, "g").members[0].subscribed_topic_regex
    consumer.close()


def test_commits_are_those_of_members_in_their_epoch(broker: BrokerProcess, client: RawClient) -> None:
    client.create_topic("orders", 2)
    epoch = join(client, "g", "a", "orders").member_epoch

    def commit(member: str, epoch: int, version: int = 9) -> int:
        topics = [{"name": "orders", "partitions": [{"partition_index": 0, "committed_offset": 5}]}]
        fields = {"group_id": "g", "member_id": member, "generation_id_or_member_epoch": epoch, "topics": topics}
        code: int = client.request(apis.OFFSET_COMMIT, version, fields).topics[0].partitions[0].error_code
        return code

    def fetch(member: str | None, epoch: int) -> int:
        groups = [{"group_id": "g", "member_id": member, "member_epoch": epoch, "topics": None}]
        code: int = client.request(apis.OFFSET_FETCH, 9, {"groups": groups}).groups[0].error_code
        return code

    assert commit("a", epoch) == 0
    assert commit("a", epoch, version=8) == errors.UnsupportedVersionError.code
    assert commit("a", epoch + 1) == errors.StaleMemberEpochError.code
    assert commit("b", epoch) == errors.UnknownMemberIdError.code
    assert commit("", -1) == errors.UnknownMemberIdError.code
    assert fetch("a", epoch) == 0
    assert fetch(None, -1) == 0
    assert fetch("a", epoch + 1) == errors.StaleMemberEpochError.code
    assert fetch("b", epoch) == errors.UnknownMemberIdError.code
    heartbeat(client, "g", "a", -1)
    assert commit("", -1) == 0


def test_a_group_outlives_its_broker(broker: BrokerProcess, client: RawClient) -> None:
    client.create_topic("orders", 4)
    consumers = [librdkafka(broker, "g", **{"enable.auto.commit": False}) for _ in range(2)]
    for consumer in consumers:
        consumer.subscribe(["orders"])
    eventually(lambda: shared_evenly(consumers, 4), "an even share")
    before = eventually(lambda: (group := describe(client, "g")).group_state == "Stable" and group, "a stable group")
    consumers[0].commit(offsets=[TopicPartition("orders", owned_by(consumers)[0][0], 0)], asynchronous=False)
    broker.kill()
    broker.start()
    with RawClient(broker.port) as client:
        after = eventually(lambda: (group := describe(client, "g")).error_code == 0 and group, "the group")
        assert after.group_epoch == before.group_epoch
        key = {member.member_id: assigned(member) for member in before.members}
        assert {member.member_id: assigned(member) for member in after.members} == key
        eventually(lambda: shared_evenly(consumers, 4), "an even share still")
        assert describe(client, "g").group_epoch == before.group_epoch, "nobody had to rebalance"
    for consumer in consumers:
        consumer.close()


def test_a_broker_without_the_protocol_says_so(tmp_path: Path) -> None:
    settings = {"group.coordinator.rebalance.protocols": "classic"}
    with BrokerProcess(tmp_path / "classic", settings) as broker, RawClient(broker.port) as client:
        answer = heartbeat(client, "g", "a", 0, rebalance_timeout_ms=1, topic_partitions=[], subscribed_topic_names=[])
        assert answer.error_code == errors.UnsupportedVersionError.code


def test_what_is_no_consumer_group_cannot_be_described_as_one(client: RawClient) -> None:
    client.create_topic("orders", 1)
    join(client, "g", "a", "orders")
    answer = eventually(lambda: (group := describe(client, "none")).error_code == 69 and group, "a coordinator")
    assert (answer.group_id, answer.error_message) == ("none", "Group none not found.")
    assert describe(client, "").error_code == errors.InvalidGroupIdError.code


def group_type(client: RawClient, group: str) -> str:
    listed = client.request(apis.LIST_GROUPS, 5, {}).groups
    return next(str(each.group_type) for each in listed if each.group_id == group)


def test_a_living_group_is_upgraded_and_downgraded(broker: BrokerProcess, client: RawClient) -> None:
    """Rolling restarts from the classic protocol to the new one and back: at no time does a partition go unread."""
    client.create_topic("orders", 6)
    classic: dict[str, Any] = {"group.protocol": "classic", "session.timeout.ms": 6000, "heartbeat.interval.ms": 200}
    members = [librdkafka(broker, "g", **classic) for _ in range(3)]
    for consumer in members:
        consumer.subscribe(["orders"])
    eventually(lambda: shared_evenly(members, 6), "an even share of the classic members")
    assert group_type(client, "g") == "classic"
    for number in range(3):
        members[number].close()
        members[number] = librdkafka(broker, "g")
        members[number].subscribe(["orders"])
        eventually(lambda: shared_evenly(members, 6), f"an even share with {number + 1} new members")
        assert group_type(client, "g") == "consumer"
    types = [member.member_type for member in describe(client, "g").members]
    assert types == [1, 1, 1]
    for number in range(3):
        members[number].close()
        members[number] = librdkafka(broker, "g", **classic)
        members[number].subscribe(["orders"])
        eventually(lambda: shared_evenly(members, 6), f"an even share with {number + 1} classic members")
    assert group_type(client, "g") == "classic"
    for consumer in members:
        consumer.close()
