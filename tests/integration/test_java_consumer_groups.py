"""Java's consumers in groups of the consumer protocol, alone and beside librdkafka's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.integration.pattern_consumers import PatternConsumers, Place
from tests.integration.test_consumer_groups import (
    SETTINGS,
    assigned,
    describe,
    eventually,
    group_type,
    librdkafka,
    owned_by,
    produce,
)
from tests.integration.verifiable_consumer import VerifiableConsumer
from tests.raw_client import RawClient

pytestmark = pytest.mark.needs("java", "mvn")
CONSUMER = ("--group-protocol", "consumer")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    """Who was killed is out after six seconds."""
    with BrokerProcess(tmp_path / "data", {**SETTINGS, "group.consumer.session.timeout.ms": "6000"}) as broker:
        yield broker
        assert broker.stop() == 0
        assert "Traceback" not in broker.log()


def share(members: list[VerifiableConsumer], partitions: int) -> bool:
    """Whether all partitions are somebody's, evenly, and none is two's."""
    owned = [sorted(member.owned) for member in members]
    sizes = [len(each) for each in owned]
    return sorted(item for each in owned for item in each) == list(range(partitions)) and max(sizes) - min(sizes) <= 1


def test_java_and_librdkafka_share_a_group(broker: BrokerProcess) -> None:
    """They join, read everything, one is killed and one leaves; who stays has it all."""
    with RawClient(broker.port) as client, ExitStack() as processes:
        client.create_topic("orders", 6)
        produce(broker, "orders", 6, 120)
        started = [VerifiableConsumer(broker.bootstrap_server, "orders", "g", *CONSUMER) for _ in range(2)]
        members = [processes.enter_context(member) for member in started]
        eventually(lambda: share(members, 6), "an even share of two")
        eventually(lambda: sum(sum(member.records.values()) for member in members) >= 120, "the reading of all records")
        third = librdkafka(broker, "g")
        third.subscribe(["orders"])
        eventually(lambda: [len(each) for each in owned_by([third])] == [2], "a third of the partitions")
        eventually(lambda: [len(member.owned) for member in members] == [2, 2], "an even share of three")
        members[0].kill()
        eventually(lambda: len(owned_by([third])[0]) == 3 and len(members[1].owned) == 3, "the share of the killed")
        assert members[1].leave() in (0, 143)
        eventually(lambda: len(owned_by([third])[0]) == 6, "everything for one")
        described = describe(client, "g")
        assert [len(assigned(member)) for member in described.members] == [6]
        third.close()
        assert not any("ERROR" in line for member in members for line in member.errors)


@pytest.mark.full_size
def test_a_static_java_member_restarts_without_a_rebalance(tmp_path: Path) -> None:
    """A session that outlasts the start of a Java process, however busy the machine is."""
    settings = {**SETTINGS, "group.consumer.session.timeout.ms": "60000"}
    with ExitStack() as processes:
        broker = processes.enter_context(BrokerProcess(tmp_path / "static", settings))
        client = processes.enter_context(RawClient(broker.port))
        client.create_topic("orders", 4)

        def member(name: str) -> VerifiableConsumer:
            static = ("--group-instance-id", name)
            return processes.enter_context(
                VerifiableConsumer(broker.bootstrap_server, "orders", "g", *CONSUMER, *static)
            )

        members = [member("one"), member("two")]
        eventually(lambda: share(members, 4), "an even share")
        before = eventually(lambda: (group := describe(client, "g")).group_state == "Stable" and group, "rest")
        had = set(members[0].owned)
        members[0].leave()
        members[0] = member("one")
        eventually(lambda: members[0].owned == had, "what the member had before")
        after = describe(client, "g")
        assert after.group_epoch == before.group_epoch
        assert len(after.members) == 2


@pytest.mark.full_size
def test_a_group_of_java_changes_its_protocol_while_it_runs(broker: BrokerProcess) -> None:
    """From the classic protocol, with the cooperative assignor, to the consumer protocol, and back."""
    assignor = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    cooperative = ("--session-timeout", "6000", "--assignment-strategy", assignor)
    with RawClient(broker.port) as client, ExitStack() as processes:
        client.create_topic("orders", 4)

        def member(*arguments: str) -> VerifiableConsumer:
            return processes.enter_context(VerifiableConsumer(broker.bootstrap_server, "orders", "g", *arguments))

        members = [member(*cooperative), member(*cooperative)]
        eventually(lambda: share(members, 4), "an even share of classic members")
        newcomer = member(*CONSUMER)
        eventually(lambda: share([*members, newcomer], 4), "an even share of both kinds")
        assert group_type(client, "g") == "consumer"
        members[0].leave()
        eventually(lambda: share([members[1], newcomer], 4), "an even share of two kinds")
        newcomer.leave()
        eventually(lambda: share([members[1]], 4), "everything for the classic member")
        assert group_type(client, "g") == "classic"


def places(**topics: int) -> set[Place]:
    """The partitions of topics, whose names have dashes where keywords cannot."""
    return {(name.replace("_", "-"), number) for name, count in topics.items() for number in range(count)}


@pytest.mark.full_size
def test_java_leaves_its_pattern_to_the_broker(broker: BrokerProcess) -> None:
    """A SubscriptionPattern is matched with whole names; who wants another has it; one that is none is an error."""
    with RawClient(broker.port) as client, PatternConsumers(broker.bootstrap_server, "g") as java:
        for name in ("orders-1", "orders-2", "old-orders-1", "payments"):
            client.create_topic(name, 2)
        produce(broker, "orders-1", 2, 10)
        produce(broker, "old-orders-1", 2, 10)
        java.subscribe("a", "orders-[0-9]")
        eventually(lambda: java.owned.get("a") == places(orders_1=2, orders_2=2), "the topics that match")
        eventually(lambda: len(java.values.get("a", [])) == 10, "the reading of their records")
        assert sorted(java.values["a"], key=int) == [str(number) for number in range(10)]
        (member,) = describe(client, "g").members
        assert (member.subscribed_topic_names, member.subscribed_topic_regex) == ([], "orders-[0-9]")
        java.subscribe("a", "pay.*|nothing")
        eventually(lambda: java.owned["a"] == places(payments=2), "the topics of another pattern")
        java.subscribe("bad", "orders-(")
        kind, text = eventually(lambda: java.failures.get("bad"), "an error")
        assert kind == "InvalidRegularExpression", text
        assert "orders-(" in text
        assert [member.subscribed_topic_regex for member in describe(client, "g").members] == ["pay.*|nothing"]
        assert java.owned["a"] == places(payments=2)


@pytest.mark.full_size
def test_members_of_different_patterns_share_what_both_match(tmp_path: Path) -> None:
    """Two of Java and one of librdkafka; a topic that appears is found when all patterns are matched again."""
    settings = {**SETTINGS, "kcli.group.pattern.min.refresh.interval.ms": "500"}
    with ExitStack() as processes:
        broker = processes.enter_context(BrokerProcess(tmp_path / "often", settings))
        client = processes.enter_context(RawClient(broker.port))
        java = processes.enter_context(PatternConsumers(broker.bootstrap_server, "g"))
        for name in ("orders-1", "orders-2", "payments"):
            client.create_topic(name, 2)
        java.subscribe("a", "orders-.*")
        first = places(orders_1=2, orders_2=2)
        eventually(lambda: java.owned.get("a") == first, "the topics that match")
        java.subscribe("b", "orders-2|payments")
        third = librdkafka(broker, "g")
        third.subscribe(["^orders-2$"])
        client.create_topic("orders-3", 1)
        everything = first | places(payments=2, orders_3=1)

        def shares() -> list[set[Place]]:
            third.poll(0.02)
            own = {(place.topic, place.partition) for place in third.assignment()}
            return [java.owned.get("a", set()), java.owned.get("b", set()), own]

        def is_shared() -> bool:
            owned = shares()
            return all(owned) and sorted(place for each in owned for place in each) == sorted(everything)

        eventually(is_shared, "a share for each")
        a, b, own = shares()
        assert places(orders_1=2, orders_3=1) <= a
        assert places(payments=2) <= b
        assert own <= places(orders_2=2)
        java.close("a")
        eventually(lambda: "a" not in java.owned, "the leaving")
        third.close()
        eventually(lambda: java.owned["b"] == places(orders_2=2, payments=2), "all that the pattern matches")
        assert [member.subscribed_topic_regex for member in describe(client, "g").members] == ["orders-2|payments"]
