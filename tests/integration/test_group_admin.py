"""This project's client as an administrator of groups, against our broker; commits and records are other clients'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from kcore.client.admin.groups import GroupAdmin, GroupDescription
from kcore.client.admin.record_times import RecordTimes
from kcore.client.cluster_client import ClusterClient
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.network.requester import PIPELINED
from kcore.errors import GroupIdNotFoundError, NonEmptyGroupError, UnknownTopicOrPartitionError
from tests.broker_process import BrokerProcess

TIMEOUT_S = 60
FIRST_MS = 1_767_225_600_000  # 2026-01-01, in UTC
MINUTE_MS = 60_000
LONG_MS = 60_000.0


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("groups") / "data", {"offsets.topic.num.partitions": "3"}) as process:
        yield process


@pytest.fixture
def client(broker: BrokerProcess) -> Iterator[ClusterClient]:
    with ClusterClient(broker.bootstrap_server) as client:
        yield client


def create_topic(broker: BrokerProcess, topic: str, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    admin.create_topics([NewTopic(topic, 2, config=config)])[topic].result(TIMEOUT_S)


def produce(broker: BrokerProcess, topic: str, count: int, **settings: object) -> None:
    """One record a minute, to the first partition and all in one batch."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_server, "linger.ms": 1000, **settings})
    for number in range(count):
        producer.produce(topic, value=b"x" * 100, partition=0, timestamp=FIRST_MS + number * MINUTE_MS)
    assert producer.flush(TIMEOUT_S) == 0


def commit(broker: BrokerProcess, topic: str, groups: list[str]) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_server})
    for number, group in enumerate(groups):
        request = ConsumerGroupTopicPartitions(group, [Place(topic, 0, number)])
        [done] = admin.alter_consumer_group_offsets([request]).values()
        assert [place.error for place in done.result(TIMEOUT_S).topic_partitions] == [None]


@pytest.mark.parametrize("codec", ["none", "gzip", "zstd"])
def test_the_time_of_a_record_within_a_batch(broker: BrokerProcess, client: ClusterClient, codec: str) -> None:
    topic = f"times-{codec}"
    create_topic(broker, topic)
    produce(broker, topic, 50, **{"compression.type": codec})
    produce(broker, topic, 10)
    place = TopicPartition(topic, 0)
    client.update_metadata([topic])
    times = RecordTimes(client)
    wanted = [(place, 0), (place, 17), (place, 49), (place, 50), (place, 59)]
    found = times.at(wanted, LONG_MS)
    minutes = {offset: (timestamp - FIRST_MS) // MINUTE_MS for (_, offset), timestamp in found.items()}
    assert minutes == {0: 0, 17: 17, 49: 49, 50: 0, 59: 9}
    # What is known is not asked for again.
    assert times.at(wanted[:2], 0.0) == {position: found[position] for position in wanted[:2]}


def test_a_record_that_is_not_there_has_no_time(broker: BrokerProcess, client: ClusterClient) -> None:
    create_topic(broker, "no-times")
    produce(broker, "no-times", 3)
    client.update_metadata(["no-times"])
    positions = [
        (TopicPartition("no-times", 0), 3),
        (TopicPartition("no-times", 0), 99),
        (TopicPartition("no-times", 1), 0),
        (TopicPartition("nowhere", 0), 0),
    ]
    assert RecordTimes(client).at(positions, LONG_MS) == {}
    assert RecordTimes(client).at([(TopicPartition("no-times", 0), 0)], 0.0) == {}


def test_the_time_of_appending_counts_where_the_topic_says_so(broker: BrokerProcess, client: ClusterClient) -> None:
    create_topic(broker, "appended", **{"message.timestamp.type": "LogAppendTime"})
    produce(broker, "appended", 3)
    client.update_metadata(["appended"])
    [timestamp] = RecordTimes(client).at([(TopicPartition("appended", 0), 1)], LONG_MS).values()
    assert timestamp > FIRST_MS + 10 * MINUTE_MS


def test_more_groups_than_are_asked_about_at_a_time(broker: BrokerProcess, client: ClusterClient) -> None:
    create_topic(broker, "crowd")
    names = [f"crowd-{number:03}" for number in range(PIPELINED + 20)]
    commit(broker, "crowd", names)
    admin = GroupAdmin(client)
    listed, failures = admin.list_groups()
    assert failures == []
    assert [group.group_id for group in listed if group.group_id.startswith("crowd-")] == names
    committed = admin.committed_offsets(names)
    place = TopicPartition("crowd", 0)
    offsets = [offsets[place].offset for offsets in committed.values() if isinstance(offsets, dict)]
    assert offsets == list(range(len(names)))
    described = admin.describe_groups([*names, "nobody"])
    assert isinstance(described.pop("nobody"), GroupIdNotFoundError)
    assert {group.state for group in described.values() if isinstance(group, GroupDescription)} == {"Empty"}
    assert list(described) == names
    assert set(admin.delete_groups(names).values()) == {None}
    assert all(offsets == {} for offsets in admin.committed_offsets(names).values())


def test_what_fails_is_told_beside_what_does_not(broker: BrokerProcess, client: ClusterClient) -> None:
    create_topic(broker, "parts")
    admin = GroupAdmin(client)
    there, elsewhere = TopicPartition("parts", 1), TopicPartition("parts", 7)
    altered = admin.alter_offsets("parts", {there: 5, elsewhere: 5})
    assert altered[there] is None
    assert isinstance(altered[elsewhere], UnknownTopicOrPartitionError)
    deleted = admin.delete_offsets("parts", [there, elsewhere])
    assert deleted[there] is None
    assert isinstance(deleted[elsewhere], UnknownTopicOrPartitionError)
    with pytest.raises(GroupIdNotFoundError, match="group nobody: "):
        admin.delete_offsets("nobody", [there])
    outcomes = admin.delete_groups(["parts", "nobody"])
    assert outcomes["parts"] is None
    assert isinstance(outcomes["nobody"], GroupIdNotFoundError)
    assert not isinstance(outcomes["nobody"], NonEmptyGroupError)


def work(broker: BrokerProcess, topic: str, group: str, **settings: str) -> None:
    """A member joins, commits and leaves."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_server, "group.id": group, **settings})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    consumer.commit(offsets=[Place(topic, 0, 1)], asynchronous=False)
    consumer.close()


def test_what_was_deleted_stays_deleted_after_a_kill(tmp_path: Path) -> None:
    """Groups of every kind, and offsets of a group that goes on: a load finds neither."""
    with BrokerProcess(tmp_path / "data") as broker:
        create_topic(broker, "kept")
        for suffix in ("gone", "left"):
            commit(broker, "kept", [f"simple-{suffix}"])
            work(broker, "kept", f"classic-{suffix}")
            work(broker, "kept", f"consumer-{suffix}", **{"group.protocol": "consumer"})
        with ClusterClient(broker.bootstrap_server) as client:
            admin = GroupAdmin(client)
            before, _ = admin.list_groups()
            gone = [group.group_id for group in before if group.group_id.endswith("-gone")]
            assert len(gone) == 3
            assert set(admin.delete_groups(gone).values()) == {None}
            assert admin.delete_offsets("classic-left", [TopicPartition("kept", 0)]) == {
                TopicPartition("kept", 0): None
            }
        broker.restart(kill=True)
        with ClusterClient(broker.bootstrap_server) as client:
            admin = GroupAdmin(client)
            after, _ = admin.list_groups()
            assert after == [group for group in before if group.group_id not in gone]
            assert {group.type for group in after} == {"Classic", "Consumer"}
            offsets = admin.committed_offsets([*gone, "classic-left", "consumer-left"])
        assert offsets.pop("consumer-left") == {TopicPartition("kept", 0): (1, -1, "")}
        assert all(committed == {} for committed in offsets.values())
