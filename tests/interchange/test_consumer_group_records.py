"""Groups of the consumer protocol both ways between Apache Kafka 4 and us: who loads the other's records goes on there.

Members, one of them away, a pattern, and a classic member in a group of consumers. Nobody has to rebalance: not even
the hash of a group's topics differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kcore.protocol import apis
from kcore.protocol.records import CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION
from tests.apache_kafka import ApacheKafka
from tests.interchange import contents
from tests.interchange.importing import broker_over, import_partitions
from tests.interchange.test_consumer_offsets import put_files
from tests.raw_client import RawClient

pytestmark = [pytest.mark.needs("java", "mvn", "setpriv"), pytest.mark.full_size]

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.migration.policy": "bidirectional",
}
OFFSETS = "__consumer_offsets-0"
TOPICS = {"orders": 6, "other": 2}
GROUPS = ("plain", "static", "pattern", "mixed")
MEMBERS = {"plain": ("p1", "p2"), "static": ("s2",), "pattern": ("r1",), "mixed": ("m1",)}
REBALANCE_MS = 300_000

Description = dict[str, Any]


class Members:
    """Raw members at one broker: their epochs, and what each was told it may use."""

    def __init__(self) -> None:
        self.epochs: dict[str, int] = {}
        self.have: dict[str, list[dict[str, Any]]] = {}
        self.classic: ClassicMember | None = None

    def beat(self, client: RawClient, group: str, member: str, epoch: int | None = None, **fields: Any) -> None:
        """A heartbeat that says what the member has."""
        fields = {
            "group_id": group,
            "member_id": member,
            "member_epoch": self.epochs[member] if epoch is None else epoch,
            "topic_partitions": self.have.get(member, []),
            **fields,
        }
        answer = client.request(apis.CONSUMER_GROUP_HEARTBEAT, 1, fields)
        assert answer.error_code == 0, answer
        self.epochs[member] = answer.member_epoch
        if answer.assignment is not None:
            rows = answer.assignment.topic_partitions
            self.have[member] = [{"topic_id": row.topic_id, "partitions": row.partitions} for row in rows]

    def join(self, client: RawClient, group: str, member: str, **fields: Any) -> None:
        self.beat(client, group, member, 0, rebalance_timeout_ms=REBALANCE_MS, **fields)

    def settle(self, client: RawClient) -> None:
        """Heartbeats until every group is at rest."""

        def is_at_rest() -> bool:
            for group, members in MEMBERS.items():
                for member in members:
                    if member in self.epochs:
                        self.beat(client, group, member)
            if self.classic is not None:
                self.classic.follow(client)
            states = {group["state"] for name, group in describe(client).items() if name != "static"}
            return states == {"Stable"}

        contents.wait_until(is_at_rest, "the groups do not come to rest")


class ClassicMember:
    """A member of the classic protocol in a group of consumers, which joins again whenever it is told to."""

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.who: dict[str, Any] = {"group_id": group, "member_id": "", "generation_id": -1}
        self.owned: list[dict[str, Any]] = []

    def follow(self, client: RawClient) -> None:
        """A heartbeat, and what that leads to."""
        is_member = self.who["member_id"] != ""
        if is_member and client.request(apis.HEARTBEAT, 3, self.who).error_code == 0:
            return
        subscription = {"topics": [self.topic], "owned_partitions": self.owned}
        metadata = CONSUMER_PROTOCOL_SUBSCRIPTION.encode(1, subscription)
        fields = {
            "group_id": self.group,
            "session_timeout_ms": 600_000,
            "rebalance_timeout_ms": REBALANCE_MS,
            "member_id": self.who["member_id"],
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": metadata}],
        }
        answer = client.request(apis.JOIN_GROUP, 3, fields)
        assert answer.error_code == 0, answer
        self.who |= {"member_id": answer.member_id, "generation_id": answer.generation_id}
        answer = client.request(apis.SYNC_GROUP, 2, {**self.who, "assignments": []})
        if answer.error_code == 0:
            rows = CONSUMER_PROTOCOL_ASSIGNMENT.decode(bytes(answer.assignment))[1].assigned_partitions
            self.owned = [{"topic": row.topic, "partitions": row.partitions} for row in rows]


def describe(client: RawClient) -> Description:
    """Everything that ConsumerGroupDescribe says, in one order."""

    def places(assignment: Any) -> list[tuple[str, list[int]]]:
        return sorted((row.topic_name, sorted(row.partitions)) for row in assignment.topic_partitions)

    seen = {}
    for group in client.request(apis.CONSUMER_GROUP_DESCRIBE, 1, {"group_ids": list(GROUPS)}).groups:
        members = [
            (
                *(each.member_id, each.instance_id, each.member_epoch, each.client_id, each.client_host),
                *(sorted(each.subscribed_topic_names), each.subscribed_topic_regex or None, each.member_type),
                *(places(each.assignment), places(each.target_assignment)),
            )
            for each in group.members
        ]
        seen[group.group_id] = {
            "error": group.error_code,
            "state": group.group_state,
            "epochs": (group.group_epoch, group.assignment_epoch),
            "assignor": group.assignor_name,
            "members": sorted(members),
        }
    return seen


def wait_until_loaded(client: RawClient) -> None:
    def is_loaded() -> bool:
        client.request(apis.FIND_COORDINATOR, 2, {"key": "plain", "key_type": 0})
        return describe(client)["plain"]["error"] in (0, 69)

    contents.wait_until(is_loaded, "the groups are not loaded")


def write(client: RawClient, members: Members) -> None:
    """Groups of every kind."""
    for topic, partitions in TOPICS.items():
        client.create_topic(topic, partitions)
    wait_until_loaded(client)
    for member in MEMBERS["plain"]:
        members.join(client, "plain", member, subscribed_topic_names=["orders"])
    members.join(client, "static", "s1", subscribed_topic_names=["orders"], instance_id="i1", server_assignor="range")
    members.join(client, "static", "s2", subscribed_topic_names=["orders"], instance_id="i2", server_assignor="range")
    members.beat(client, "static", "s1", -2, instance_id="i1")
    members.join(client, "pattern", "r1", subscribed_topic_regex="o.*r.*")
    members.join(client, "mixed", "m1", subscribed_topic_names=["other"])
    members.classic = ClassicMember("mixed", "other")
    members.settle(client)


class Exchange:
    def __init__(self) -> None:
        self.theirs: Description = {}
        self.ours: Description = {}
        self.ours_after_heartbeats: Description = {}
        self.ours_later: Description = {}
        self.theirs_later: Description = {}
        self.theirs_after_heartbeats: Description = {}
        self.kafka_log = ""


@pytest.fixture(scope="module")
def exchange(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Exchange]:
    directory = tmp_path_factory.mktemp("consumer-groups")
    seen, members = Exchange(), Members()
    with ApacheKafka("4", directory / "kafka", SETTINGS) as kafka:
        with RawClient(kafka.port) as client:
            write(client, members)
            seen.theirs = describe(client)
        kafka.kill()
        files = [path for path in kafka.directory.iterdir() if path.name.rpartition("-")[0] in TOPICS]
        import_partitions(directory / "ours", files)
        with broker_over(directory / "ours", **SETTINGS) as broker, RawClient(broker.port) as client:
            wait_until_loaded(client)
        put_files(kafka.directory / OFFSETS, directory / "ours" / OFFSETS)
        with broker_over(directory / "ours", **SETTINGS) as broker:
            with RawClient(broker.port) as client:
                wait_until_loaded(client)
                seen.ours = describe(client)
                members.settle(client)
                seen.ours_after_heartbeats = describe(client)
                members.beat(client, "plain", "p2", -1)
                members.join(client, "static", "s3", subscribed_topic_names=["orders"], instance_id="i1")
                del members.epochs["p2"]
                members.settle(client)
                seen.ours_later = describe(client)
            assert broker.stop() == 0
        put_files(directory / "ours" / OFFSETS, kafka.directory / OFFSETS)
        kafka.start()
        with RawClient(kafka.port) as client:
            wait_until_loaded(client)
            seen.theirs_later = describe(client)
            members.settle(client)
            seen.theirs_after_heartbeats = describe(client)
        seen.kafka_log = kafka.log()
        yield seen


def test_we_describe_the_groups_as_apache_kafka_does(exchange: Exchange) -> None:
    assert exchange.ours == exchange.theirs
    assert [len(group["members"]) for group in exchange.ours.values()] == [2, 2, 1, 2]


def test_their_members_go_on_here_without_a_rebalance(exchange: Exchange) -> None:
    assert exchange.ours_after_heartbeats == exchange.ours


def test_apache_kafka_describes_our_groups_as_we_do(exchange: Exchange) -> None:
    assert exchange.theirs_later == exchange.ours_later
    (member,) = exchange.theirs_later["plain"]["members"]
    assert member[-2] == [("orders", [0, 1, 2, 3, 4, 5])]
    assert "s3" in {member[0] for member in exchange.theirs_later["static"]["members"]}


def test_our_members_go_on_there_without_a_rebalance(exchange: Exchange) -> None:
    assert exchange.theirs_after_heartbeats == exchange.theirs_later
    assert "Exception" not in exchange.kafka_log
