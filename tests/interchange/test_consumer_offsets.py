"""`__consumer_offsets` both ways between Apache Kafka and us: groups with their members, offsets, transactions.

Apache Kafka writes and is killed; its files are put into our directory, where everybody is answered as Apache Kafka
answered. Then our broker goes on where it was, and its files are put back into Apache Kafka's directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.apache_kafka import ApacheKafka
from tests.broker_process import BrokerProcess
from tests.interchange import consumer_protocol, contents
from tests.interchange.consumer_protocol import ConsumerMember
from tests.interchange.importing import import_partitions
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn", "setpriv")

ONE_PARTITION = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    **consumer_protocol.LONG_SESSIONS,
}
DIRECTORY = "__consumer_offsets-0"
THEIRS = ("partition.metadata",)
TOPICS = ("read", "seen")
GROUPS = ("members", "alone", "left", "committed", "aborted", "open")
NEW_PROTOCOL = "new-protocol"
SESSION_MS = 600_000
NO_MEMBER = ("", -1)
UNSTABLE_OFFSET_COMMIT = 88

Observation = dict[str, Any]


# --- what is written ------------------------------------------------------------------------------------------------


def join(client: RawClient, group_id: str, instance_id: str) -> tuple[str, int]:
    """A static member, alone in its group and assigned everything."""
    metadata = CONSUMER_PROTOCOL_SUBSCRIPTION.encode(1, {"topics": list(TOPICS)})
    fields = {
        "group_id": group_id,
        "session_timeout_ms": SESSION_MS,
        "rebalance_timeout_ms": SESSION_MS,
        "member_id": "",
        "group_instance_id": instance_id,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": metadata}],
    }
    answer = client.request(apis.JOIN_GROUP, 5, fields)
    assert answer.error_code == 0, answer
    partitions = [{"topic": topic, "partitions": [0]} for topic in TOPICS]
    assignment = CONSUMER_PROTOCOL_ASSIGNMENT.encode(1, {"assigned_partitions": partitions})
    answer_to_sync = sync(client, group_id, (answer.member_id, answer.generation_id), instance_id, assignment)
    assert answer_to_sync.error_code == 0, answer_to_sync
    return answer.member_id, answer.generation_id


def sync(
    client: RawClient, group_id: str, member: tuple[str, int], instance_id: str, assignment: bytes | None = None
) -> Message:
    fields = {
        "group_id": group_id,
        "member_id": member[0],
        "generation_id": member[1],
        "group_instance_id": instance_id,
        "assignments": [] if assignment is None else [{"member_id": member[0], "assignment": assignment}],
    }
    return client.request(apis.SYNC_GROUP, 3, fields)


def leave(client: RawClient, group_id: str, member_id: str, instance_id: str) -> None:
    members = [{"member_id": member_id, "group_instance_id": instance_id}]
    answer = client.request(apis.LEAVE_GROUP, 3, {"group_id": group_id, "members": members})
    assert answer.members[0].error_code == 0


def commit(
    client: RawClient,
    group_id: str,
    offset: int,
    *,
    topic: str = "read",
    member: tuple[str, int] = NO_MEMBER,
    metadata: str = "",
    version: int = 6,
    retention_ms: int = -1,
) -> None:
    partition = {
        "partition_index": 0,
        "committed_offset": offset,
        "committed_leader_epoch": 0,
        "committed_metadata": metadata,
    }
    who = {"member_id": member[0], "generation_id_or_member_epoch": member[1], "retention_time_ms": retention_ms}
    fields = {"group_id": group_id, **who, "topics": [{"name": topic, "partitions": [partition]}]}
    answer = client.request(apis.OFFSET_COMMIT, version, fields)
    assert answer.topics[0].partitions[0].error_code == 0, answer


def in_transaction(server: str, group_id: str, offset: int, end: str | None) -> Producer:
    """Offsets that a transaction commits, which `end` (commit_transaction, abort_transaction) ends, if anything."""
    producer = contents.producer(
        server, transactional_id=f"offsets-{group_id}", enable_idempotence=True, transaction_timeout_ms=SESSION_MS
    )
    producer.init_transactions(contents.TIMEOUT_S)
    producer.begin_transaction()
    consumer = Consumer({"bootstrap.servers": server, "group.id": group_id})
    partitions = [TopicPartition("read", 0, offset)]
    producer.send_offsets_to_transaction(partitions, consumer.consumer_group_metadata(), contents.TIMEOUT_S)
    consumer.close()
    if end is not None:
        getattr(producer, end)(contents.TIMEOUT_S)
    return producer


def use_the_new_protocol(server: str) -> None:
    """A consumer of KIP-848 that has read three records and left."""
    contents.send(contents.producer(server), "read", 0, 3)
    properties = {"group.protocol": "consumer", "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer({"bootstrap.servers": server, "group.id": NEW_PROTOCOL, **properties})
    consumer.subscribe(["read"])
    assert len(consumer.consume(3, contents.TIMEOUT_S)) == 3
    consumer.commit(asynchronous=False)
    consumer.close()


# --- what is observed -----------------------------------------------------------------------------------------------


def fetch_offsets(client: RawClient, group_id: str, *, stable: bool) -> list[tuple[Any, ...]]:
    fields = {"groups": [{"group_id": group_id, "topics": None}], "require_stable": stable}
    (group,) = client.request(apis.OFFSET_FETCH, 8, fields).groups
    assert group.error_code == 0, group
    return sorted(
        (
            topic.name,
            part.partition_index,
            part.committed_offset,
            part.committed_leader_epoch,
            part.metadata,
            part.error_code,
        )
        for topic in group.topics
        for part in topic.partitions
    )


def describe(client: RawClient, group_id: str) -> tuple[Any, ...]:
    (group,) = client.request(apis.DESCRIBE_GROUPS, 5, {"groups": [group_id]}).groups
    members = [
        (
            *(each.member_id, each.group_instance_id, each.client_id, each.client_host),
            *(bytes(each.member_metadata), bytes(each.member_assignment)),
        )
        for each in group.members
    ]
    return group.error_code, group.group_state, group.protocol_type, group.protocol_data, members


def observe(port: int, member: tuple[str, int]) -> Observation:
    """What a broker says of all groups, and to the member of one."""
    seen: Observation = {}
    with RawClient(port) as client:
        for group_id in GROUPS:
            seen[group_id] = {
                "offsets": fetch_offsets(client, group_id, stable=False),
                "stable": fetch_offsets(client, group_id, stable=True),
                "description": describe(client, group_id),
            }
        heartbeat = {"group_id": "members", "member_id": member[0], "generation_id": member[1]}
        seen["heartbeat"] = client.request(apis.HEARTBEAT, 3, {**heartbeat, "group_instance_id": "i-1"}).error_code
        answer = sync(client, "members", member, "i-1")
        seen["assignment"] = (answer.error_code, bytes(answer.assignment))
    return seen


def wait_until_loaded(port: int) -> None:
    def is_loaded() -> bool:
        with RawClient(port) as client:
            client.request(apis.FIND_COORDINATOR, 2, {"key": "members", "key_type": 0})
            fields = {"groups": [{"group_id": "members", "topics": None}]}
            return bool(client.request(apis.OFFSET_FETCH, 8, fields).groups[0].error_code == 0)

    contents.wait_until(is_loaded, "the groups are not loaded")


def put_files(source: Path, target: Path) -> None:
    """The files of a partition in the place of another's, whose identity stays."""
    for path in target.iterdir():
        if path.name not in THEIRS:
            path.unlink()
    for path in source.iterdir():
        if path.name not in THEIRS:
            shutil.copy(path, target / path.name)


# --- the exchange ---------------------------------------------------------------------------------------------------


class Exchange:
    """What was seen at each station."""

    def __init__(self) -> None:
        self.theirs: Observation = {}
        self.ours: Observation = {}
        self.ours_later: Observation = {}
        self.theirs_later: Observation = {}
        self.new_protocol_offsets: list[tuple[Any, ...]] = []
        self.new_members: list[Observation] = []  # at each station
        self.log = ""


@pytest.fixture(scope="module", params=[pytest.param("3.9", marks=pytest.mark.full_size), "4"])
def exchange(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    directory = tmp_path_factory.mktemp(f"offsets-{request.param}")
    seen = Exchange()
    with ApacheKafka(request.param, directory / "kafka", ONE_PARTITION) as kafka:
        member, open_transaction = write(kafka)
        new_members: list[ConsumerMember] = []
        if request.param == "4":
            use_the_new_protocol(kafka.bootstrap_server)
            new_members = join_new_members(kafka.port)
            look_at(seen, kafka.port, new_members)
        seen.theirs = observe(kafka.port, member)
        kafka.kill()
        del open_transaction
        with our_broker(directory / "ours", kafka.directory) as broker:
            wait_until_loaded(broker.port)
            seen.ours = observe(broker.port, member)
            look_at(seen, broker.port, new_members)
            with RawClient(broker.port) as client:
                seen.new_protocol_offsets = fetch_offsets(client, NEW_PROTOCOL, stable=True)
                go_on(client, member)
                if new_members:
                    one_leaves(client, new_members)
            seen.ours_later = observe(broker.port, member)
            look_at(seen, broker.port, new_members)
            assert broker.stop() == 0
        put_files(directory / "ours" / DIRECTORY, kafka.directory / DIRECTORY)
        kafka.start()
        wait_until_loaded(kafka.port)
        seen.theirs_later = observe(kafka.port, member)
        look_at(seen, kafka.port, new_members)
        seen.log = kafka.log()
        yield seen


def write(kafka: ApacheKafka) -> tuple[tuple[str, int], Producer]:
    """All kinds of groups; answers the member, and the producer whose transaction is open."""
    with RawClient(kafka.port) as client:
        for topic in TOPICS:
            client.create_topic(topic)
        wait_until_loaded(kafka.port)
        member = join(client, "members", "i-1")
        for offset in range(3):
            commit(client, "members", offset, member=member, metadata=f"at {offset}")
        commit(client, "alone", 5, topic="seen")
        commit(client, "alone", 6)
        commit(client, "alone", 7, topic="seen", metadata="é")
        gone = join(client, "left", "i-2")
        commit(client, "left", 9, member=gone)
        leave(client, "left", gone[0], "i-2")
        commit(client, "aborted", 4)
        commit(client, "open", 2)
        server = kafka.bootstrap_server
        in_transaction(server, "committed", 11, "commit_transaction")
        in_transaction(server, "aborted", 12, "abort_transaction")
        undecided = in_transaction(server, "open", 13, None)
        contents.wait_until(
            lambda: all(fetch_offsets(client, group, stable=True)[0][-1] == 0 for group in ("committed", "aborted")),
            "the markers do not come",
        )
    return member, undecided


def join_new_members(port: int) -> list[ConsumerMember]:
    with RawClient(port) as client:
        members = consumer_protocol.join(client, list(TOPICS))
        assert consumer_protocol.commit(client, members[0], "read", 31) == 0
    return members


def one_leaves(client: RawClient, members: list[ConsumerMember]) -> None:
    """And the other takes over all partitions."""
    assert members.pop().heartbeat(client, epoch=-1).error_code == 0
    contents.wait_until(
        lambda: members[0].heartbeat(client).error_code == 0 and len(members[0].owned) == len(TOPICS),
        "nobody takes over",
    )
    assert members[0].heartbeat(client).error_code == 0
    assert consumer_protocol.commit(client, members[0], "read", 32) == 0


def look_at(seen: Exchange, port: int, members: list[ConsumerMember]) -> None:
    """Notes what is said of the group of the consumer protocol, where there is one."""
    if members:
        with RawClient(port) as client:
            said = consumer_protocol.observe(client, members, "read")
            said["offsets"] = fetch_offsets(client, consumer_protocol.GROUP, stable=True)
            seen.new_members.append(said)


def our_broker(directory: Path, theirs: Path) -> BrokerProcess:
    """A broker, not started yet, that is to go on with Apache Kafka's files; topics keep their ids."""
    import_partitions(directory, [theirs / f"{topic}-0" for topic in TOPICS])
    with BrokerProcess(directory, ONE_PARTITION) as broker:
        wait_until_loaded(broker.port)
        assert broker.stop() == 0
    put_files(theirs / DIRECTORY, directory / DIRECTORY)
    return BrokerProcess(directory, ONE_PARTITION)


def go_on(client: RawClient, member: tuple[str, int]) -> None:
    """The member commits, one more group of members comes and goes, an offset is deleted."""
    commit(client, "members", 20, member=member, metadata="with us")
    commit(client, "alone", 21, topic="seen", version=4, retention_ms=86_400_000)
    topics = [{"name": "read", "partitions": [{"partition_index": 0}]}]
    assert client.request(apis.OFFSET_DELETE, 0, {"group_id": "alone", "topics": topics}).error_code == 0
    again = join(client, "left", "i-3")
    commit(client, "left", 22, member=again)


def test_we_answer_what_apache_kafka_answered(exchange: Exchange) -> None:
    assert exchange.ours == exchange.theirs
    assert (exchange.ours["heartbeat"], exchange.ours["assignment"][0]) == (0, 0)
    assert exchange.ours["committed"]["stable"][0][2] == 11
    assert exchange.ours["aborted"]["stable"][0][2] == 4
    assert exchange.ours["open"]["stable"][0][-1] == UNSTABLE_OFFSET_COMMIT


def test_apache_kafka_goes_on_where_we_were(exchange: Exchange) -> None:
    assert exchange.theirs_later == exchange.ours_later
    assert exchange.theirs_later["members"]["offsets"] == [("read", 0, 20, 0, "with us", 0)]
    assert [row[0] for row in exchange.theirs_later["alone"]["offsets"]] == ["seen"]
    assert "Exception" not in exchange.log.rpartition("Recovering unflushed segment")[2]


@pytest.mark.parametrize("exchange", ["4"], indirect=True, scope="module")
def test_offsets_of_the_new_protocol_are_read(exchange: Exchange) -> None:
    assert [row[:3] for row in exchange.new_protocol_offsets] == [("read", 0, 3)]


@pytest.mark.parametrize("exchange", ["4"], indirect=True, scope="module")
def test_group_of_the_new_protocol_goes_on_at_each_broker(exchange: Exchange) -> None:
    theirs, ours, ours_later, theirs_later = exchange.new_members
    assert ours == theirs
    assert theirs_later == ours_later
    assert [len(seen["members"]) for seen in exchange.new_members] == [2, 2, 1, 1]
    assert {seen["state"] for seen in exchange.new_members} == {"Stable"}
    assert [seen["offsets"][0][2] for seen in exchange.new_members] == [31, 31, 32, 32]
