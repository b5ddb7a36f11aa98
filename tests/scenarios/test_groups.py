"""Groups: members join, leave, die and come back, under both protocols and every way to assign."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any

import confluent_kafka
import pytest

from kcore.client.consumer import OffsetAndMetadata, RebalanceListener, SubscriptionPattern
from kcore.client.consumer.consumer_errors import CommitFailed, FencedInstance, IllegalState, RebalanceInProgress
from kcore.client.errors import ClientError
from kcore.client.metadata.cluster import TopicPartition
from kcore.errors import KafkaError
from tests.scenarios.members import Group, Notes
from tests.scenarios.scene import POLL_MS, Scene, numbers_of, take

RECORDS = 120
CLASSIC = ("classic-range", "classic-roundrobin", "classic-sticky", "classic-cooperative-sticky")
ONE_OF_EACH = ("classic-range", "classic-cooperative-sticky", "consumer-uniform")
INCREMENTAL = ("classic-cooperative-sticky", "consumer-uniform", "consumer-range")
BOTH = ("classic-range", "consumer-uniform")


@pytest.fixture
def group(scene: Scene, flavour: str) -> Iterator[Group]:
    """Of a topic with six partitions, in which the numbers up to RECORDS stand."""
    topic = scene.topic(6)
    scene.fill(topic, RECORDS, 6)
    found = Group(scene, flavour, [topic])
    yield found
    for member in found.members:
        member._is_over.set()


def subscribed(scene: Scene, flavour: str, topics: Any, listener: Any = None, **keywords: Any) -> Any:
    consumer = scene.consumer(flavour=flavour, **keywords)
    consumer.subscribe(topics, listener)
    return consumer


def poll_until_owned(consumer: Any, count: int) -> None:
    Scene.until(lambda: consumer.poll(POLL_MS) is None or len(consumer.assignment) == count, f"{count} partitions")


# Who owns what


def test_one_member_has_everything(group: Group) -> None:
    group.join()
    group.await_shares([6])
    group.await_numbers(RECORDS)
    group.close()
    assert group.numbers() == list(range(RECORDS))


@pytest.mark.flavours(*ONE_OF_EACH)
def test_one_after_another_joins_and_leaves(group: Group) -> None:
    for _ in range(3):
        group.join()
        group.await_even(6)
    while group.members:
        group.leave(group.members[0])
        if group.members:
            group.await_even(6)
    assert set(group.numbers()) == set(range(RECORDS))


@pytest.mark.campaign
@pytest.mark.flavours("classic-roundrobin", "classic-sticky", "consumer-range")
def test_one_after_another_joins_and_leaves_otherwise(group: Group) -> None:
    test_one_after_another_joins_and_leaves(group)


@pytest.mark.campaign
@pytest.mark.parametrize("members", [5, 20], ids=["five", "twenty"])
def test_all_join_at_once(scene: Scene, flavour: str, members: int) -> None:
    topic = scene.topic(20)
    scene.fill(topic, 200, 20)
    group = Group(scene, flavour, [topic])
    for _ in range(members):
        group.join()
    group.await_even(20)
    group.await_numbers(200)
    group.close()


@pytest.mark.flavours(*ONE_OF_EACH)
def test_more_members_than_partitions(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 20, 2)
    group = Group(scene, flavour, [topic])
    for _ in range(4):
        group.join()
    group.await_shares([0, 0, 1, 1])
    group.leave(next(member for member in group.members if member.owned))
    group.await_shares([0, 1, 1])
    group.await_numbers(20)
    group.close()


@pytest.mark.campaign
def test_half_of_them_leave_at_once(scene: Scene, flavour: str) -> None:
    topic = scene.topic(12)
    group = Group(scene, flavour, [topic])
    for _ in range(6):
        group.join()
    group.await_even(12)
    scene.fill(topic, RECORDS, 12)
    for member in group.members[:3]:
        member._is_over.set()
    for member in group.members[:3]:
        group.leave(member)
    group.await_even(12)
    group.await_numbers(RECORDS)
    group.close()


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_member_that_dies(group: Group) -> None:
    """Cut off without a word: after its session its partitions are the others'."""
    group.join()
    doomed = group.join(can_die=True)
    group.await_even(6)
    group.die(doomed)
    group.await_shares([6])
    group.scene.fill(group.topics[0], 30, 6, first=RECORDS)
    group.await_numbers(RECORDS + 30)
    group.close()


@pytest.mark.campaign
def test_half_of_them_die(scene: Scene, flavour: str) -> None:
    topic = scene.topic(12)
    group = Group(scene, flavour, [topic])
    for index in range(6):
        group.join(can_die=index % 2 == 0)
    group.await_even(12)
    for member in group.members[::2]:
        group.die(member)
    group.await_even(12)
    scene.fill(topic, RECORDS, 12)
    group.await_numbers(RECORDS)
    group.close()


@pytest.mark.campaign
@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_member_that_was_away_for_longer_than_its_session(group: Group) -> None:
    """It is told that its partitions are lost, and joins again."""
    group.join()
    away = group.join(can_die=True)
    group.await_even(6)
    assert away.proxy is not None
    away.proxy.pause()
    Scene.until(lambda: len(group.members[0].owned) == 6, "everything for the other")
    away.proxy.resume()
    group.await_even(6)
    assert away.notes.named("lost")
    group.close()


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_member_whose_connections_break(group: Group) -> None:
    member = group.join(can_die=True)
    group.await_shares([6])
    for _ in range(5):
        assert member.proxy is not None
        member.proxy.disconnect()
        time.sleep(0.05)
    group.await_numbers(RECORDS)
    assert [name for name, _ in member.notes.calls] == ["assigned"]
    group.close()


# What is read


@pytest.mark.flavours(*INCREMENTAL)
def test_nothing_is_read_twice_while_members_come_and_go(group: Group) -> None:
    """Partitions are committed when they are given up, so that whoever takes them over goes on behind."""
    topic = group.topics[0]
    group.join()
    group.await_even(6)
    for step in range(3):
        if step < 2:
            group.join()
        else:
            group.leave(group.members[0])
        group.scene.fill(topic, 60, 6, first=RECORDS + step * 60)
        group.await_even(6)
    group.await_numbers(RECORDS + 180)
    group.close()
    assert group.numbers() == list(range(RECORDS + 180))


@pytest.mark.campaign
@pytest.mark.flavours("classic-range", "classic-roundrobin", "classic-sticky")
def test_nothing_is_read_twice_in_eager_rebalances(group: Group) -> None:
    test_nothing_is_read_twice_while_members_come_and_go(group)


@pytest.mark.flavours(*INCREMENTAL)
def test_only_what_moves_is_given_up(group: Group) -> None:
    first = group.join()
    group.await_even(6)
    group.join()
    group.await_even(6)
    given_up = frozenset().union(*first.notes.named("revoked"))
    assert len(given_up) == 3
    assert not first.notes.named("lost")
    group.close()


@pytest.mark.flavours("classic-range", "classic-roundrobin", "classic-sticky")
def test_an_eager_rebalance_gives_everything_up(group: Group) -> None:
    first = group.join()
    group.await_even(6)
    group.join()
    group.await_even(6)
    assert first.notes.named("revoked")[0] == frozenset(Scene.places(group.topics[0], 6))
    group.close()


@pytest.mark.campaign
def test_the_next_generation_goes_on(group: Group) -> None:
    """All leave; who comes later begins where they stopped."""
    group.join()
    group.join()
    group.await_numbers(RECORDS)
    group.close()
    group.scene.fill(group.topics[0], 30, 6, first=RECORDS)
    later = group.join()
    group.await_numbers(RECORDS + 30)
    group.close()
    assert sorted(later.numbers) == list(range(RECORDS, RECORDS + 30))


@pytest.mark.flavours(*INCREMENTAL)
def test_a_pause_outlives_a_rebalance_that_leaves_the_partition(group: Group) -> None:
    first = group.join()
    group.await_even(6)
    group.await_numbers(RECORDS)
    places = Scene.places(group.topics[0], 6)
    first.do(lambda consumer: consumer.pause(places))
    group.join()
    group.await_even(6)
    kept = set(first.owned)
    seen: list[TopicPartition] = []
    first.do(lambda consumer: seen.extend(consumer.paused))
    assert set(seen) == kept
    group.close()


# Topics change


@pytest.mark.flavours(*BOTH)
def test_partitions_that_are_added_are_read(group: Group) -> None:
    group.join()
    group.join()
    group.await_even(6)
    group.scene.add_partitions(group.topics[0], 9)
    group.await_even(9)
    group.scene.fill(group.topics[0], 90, 9, first=RECORDS)
    group.await_numbers(RECORDS + 90)
    group.close()


@pytest.mark.flavours(*BOTH)
def test_a_topic_that_comes_later(scene: Scene, flavour: str) -> None:
    later = f"later-{scene.name}"
    topic = scene.topic(2)
    group = Group(scene, flavour, [topic, later], allow_auto_create_topics=False)
    group.join()
    group.await_shares([2])
    scene.topic(3, name=later)
    group.await_shares([5])
    scene.fill(later, 30, 3)
    group.await_numbers(30)
    group.close()


@pytest.mark.flavours(*BOTH)
def test_a_topic_that_is_deleted(scene: Scene, flavour: str) -> None:
    kept, deleted = scene.topic(2), scene.topic(2)
    group = Group(scene, flavour, [kept, deleted], allow_auto_create_topics=False)
    member = group.join()
    group.await_shares([4])
    scene.delete(deleted)
    group.await_shares([2])
    assert {place.topic for place in member.owned} == {kept}
    scene.fill(kept, 20, 2)
    group.await_numbers(20)
    group.close()


@pytest.mark.flavours(*BOTH)
def test_a_topic_that_is_made_anew(scene: Scene, flavour: str) -> None:
    """The group's offsets are those of the former topic; the new one is read from its start."""
    made_anew(scene, flavour)


@pytest.mark.flavours("consumer-uniform")
def test_a_topic_is_made_anew_before_metadata_tells(scene: Scene, flavour: str) -> None:
    """The coordinator has the member give the former topic up first: its positions are not those of the new one."""
    made_anew(scene, flavour, retry_backoff_ms=1_500, retry_backoff_max_ms=1_500, metadata_max_age_ms=60_000)


def made_anew(scene: Scene, flavour: str, **keywords: Any) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 40, 2)
    group = Group(scene, flavour, [topic], allow_auto_create_topics=False, **keywords)
    group.join()
    group.await_numbers(40)
    scene.delete(topic)
    scene.topic(2, name=topic)
    scene.fill(topic, 60, 2, first=100)
    group.await_each(range(100, 160))
    group.close()


@pytest.mark.flavours(*BOTH)
def test_a_pattern_finds_topics_as_they_come(scene: Scene, flavour: str) -> None:
    name = f"p-{scene.name}"
    scene.topic(2, name=f"{name}-1")
    scene.topic(2, name=f"not-{name}")
    group = Group(scene, flavour, re.compile(f"{name}.*"))
    group.join()
    group.await_shares([2])
    scene.topic(3, name=f"{name}-2")
    group.await_shares([5])
    scene.delete(f"{name}-1")
    group.await_shares([3])
    group.close()


@pytest.mark.flavours("consumer-uniform")
def test_a_pattern_that_the_broker_matches(scene: Scene, flavour: str) -> None:
    name = f"p-{scene.name}"
    scene.topic(2, name=f"{name}-1")
    group = Group(scene, flavour, SubscriptionPattern(f"{name}.*"))
    group.join()
    group.await_shares([2])
    scene.topic(3, name=f"{name}-2")
    group.await_shares([5])
    scene.fill(f"{name}-2", 30, 3)
    group.await_numbers(30)
    group.close()


@pytest.mark.flavours("classic-range")
def test_the_broker_matches_no_pattern_of_a_classic_member(scene: Scene, flavour: str) -> None:
    with pytest.raises(IllegalState, match=r"group\.protocol=consumer"):
        subscribed(scene, flavour, SubscriptionPattern("t.*"))


@pytest.mark.flavours(*ONE_OF_EACH)
def test_members_that_want_other_topics(scene: Scene, flavour: str) -> None:
    one, two = scene.topic(2), scene.topic(4)
    group = Group(scene, flavour, [one])
    first = group.join()
    group.topics = [one, two]
    second = group.join()
    every = {*scene.places(one, 2), *scene.places(two, 4)}
    Scene.until(lambda: first.owned | second.owned == every and not first.owned & second.owned, "all six")
    assert {place.topic for place in first.owned} <= {one}
    group.close()


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_subscription_that_changes(scene: Scene, flavour: str) -> None:
    one, two = scene.topic(2), scene.topic(3)
    group = Group(scene, flavour, [one])
    member = group.join()
    group.await_shares([2])
    member.do(lambda consumer: consumer.subscribe([two], member.notes))
    Scene.until(lambda: member.owned == set(scene.places(two, 3)), "the other topic's partitions")
    scene.fill(two, 30, 3)
    group.await_numbers(30)
    group.close()


@pytest.mark.flavours(*ONE_OF_EACH)
def test_who_unsubscribes_and_comes_back(group: Group) -> None:
    first, second = group.join(), group.join()
    group.await_even(6)
    first.do(lambda consumer: consumer.unsubscribe(), ends=True)
    Scene.until(lambda: len(second.owned) == 6 and not first.owned, "everything for the other")
    group.leave(first)
    third = group.join()
    group.await_even(6)
    assert third.owned
    group.close()


# Static members


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_static_member_that_comes_back_has_what_it_had(group: Group) -> None:
    first = group.join(group_instance_id="one")
    second = group.join(group_instance_id="two")
    group.await_even(6)
    group.await_numbers(RECORDS)
    had, calls = set(second.owned), len(first.notes.calls)
    group.leave(second)
    again = group.join(group_instance_id="two")
    Scene.until(lambda: again.owned == had, "what it had")
    assert len(first.notes.calls) == calls, "nobody else is disturbed"
    group.close()


@pytest.mark.campaign
@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_static_member_that_stays_away(group: Group) -> None:
    group.join(group_instance_id="one")
    second = group.join(group_instance_id="two")
    group.await_even(6)
    group.leave(second)
    group.await_shares([6])
    group.close()


@pytest.mark.flavours("classic-range", "classic-cooperative-sticky")
def test_a_static_member_is_fenced_by_another_of_its_name(group: Group) -> None:
    first = group.join(group_instance_id="one")
    group.await_even(6)
    second = group.join(group_instance_id="one")
    Scene.until(lambda: first.failure is not None, "the fencing")
    assert isinstance(first.failure, FencedInstance)
    assert "group.instance.id one" in str(first.failure)
    group.members.remove(first)
    group.await_shares([6])
    assert second.owned
    group.close()


@pytest.mark.flavours("consumer-uniform")
def test_a_name_that_is_taken_under_the_consumer_protocol(group: Group) -> None:
    """The newcomer is refused for as long as the name's owner lives (UNRELEASED_INSTANCE_ID)."""
    first = group.join(group_instance_id="one")
    group.await_even(6)
    second = group.join(group_instance_id="one")
    Scene.until(lambda: second.failure is not None, "the refusal")
    assert isinstance(second.failure, (KafkaError, ClientError))
    group.members.remove(second)
    assert len(first.owned) == 6
    group.close()


# The broker


@pytest.mark.campaign
@pytest.mark.flavours(*ONE_OF_EACH)
@pytest.mark.parametrize("kill", [False, True], ids=["in good order", "by kill -9"])
def test_a_group_outlives_its_broker(group: Group, kill: bool) -> None:
    group.join()
    group.join()
    group.await_even(6)
    group.await_numbers(RECORDS)
    group.scene.cluster.restart(kill=kill)
    group.scene.fill(group.topics[0], 60, 6, first=RECORDS)
    group.await_numbers(RECORDS + 60)
    group.await_even(6)
    group.close()


@pytest.mark.flavours(*BOTH)
def test_a_broker_that_is_silent_for_less_than_a_session(group: Group) -> None:
    member = group.join()
    group.await_even(6)
    group.await_numbers(RECORDS)
    with group.scene.cluster.paused():
        time.sleep(0.5)
    group.scene.fill(group.topics[0], 30, 6, first=RECORDS)
    group.await_numbers(RECORDS + 30)
    assert not member.notes.named("lost")
    group.close()


@pytest.mark.campaign
@pytest.mark.flavours(*BOTH)
def test_a_group_that_begins_while_there_is_no_broker(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 20, 2)
    group = Group(scene, flavour, [topic])
    with scene.cluster.stopped():
        group.join()
        time.sleep(0.3)
    group.await_numbers(20)
    group.close()


# Listeners, polls, commits


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_listener_that_raises(scene: Scene, flavour: str) -> None:
    """Its error comes out of the poll; the partitions are owned all the same."""
    topic = scene.topic(2)
    scene.fill(topic, 20, 2)

    class Broken(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            raise KeyError("mine")

        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            pass

    consumer = subscribed(scene, flavour, [topic], Broken())
    with pytest.raises(KeyError, match="mine"):
        Scene.until(lambda: consumer.poll(POLL_MS), "the error")
    assert sorted(numbers_of(take(consumer, 20))) == list(range(20))


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_listener_that_seeks(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 40, 2)

    class Seeking(RebalanceListener):
        def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
            for place in partitions:
                consumer.seek(place, 15)

    consumer = scene.consumer(flavour=flavour)
    consumer.subscribe([topic], Seeking())
    assert sorted(numbers_of(take(consumer, 10))) == list(range(30, 40))


@pytest.mark.flavours(*ONE_OF_EACH)
def test_a_listener_that_commits_what_it_gives_up(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 20, 2)

    class Committing(Notes):
        def on_partitions_revoked(self, partitions: Sequence[TopicPartition]) -> None:
            super().on_partitions_revoked(partitions)
            consumer.commit(dict.fromkeys(partitions, 5))

    consumer = scene.consumer(flavour=flavour, enable_auto_commit=False)
    consumer.subscribe([topic], Committing())
    take(consumer, 20)
    consumer.close()
    after = scene.consumer(group_id=scene.group)
    places = scene.places(topic, 2)
    assert {where.offset if where else None for where in after.committed(places).values()} == {5}


@pytest.mark.flavours(*BOTH)
def test_who_does_not_poll_is_out_and_comes_back(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 20, 2)
    notes = Notes()
    consumer = subscribed(scene, flavour, [topic], notes, max_poll_interval_ms=1_200, enable_auto_commit=False)
    take(consumer, 20)
    other = Group(scene, flavour, [topic])
    other.join()
    Scene.until(lambda: len(other.members[0].owned) == 2, "everything for the other")
    with pytest.raises((CommitFailed, RebalanceInProgress)):
        consumer.commit({TopicPartition(topic, 0): 1})
    Scene.until(lambda: consumer.poll(POLL_MS) or [name for name, _ in notes.calls][-1] == "assigned", "its return")
    assert notes.named("lost")
    other.close()
    consumer.close()


@pytest.mark.flavours(*BOTH)
def test_a_commit_with_a_foreign_membership_is_refused(group: Group) -> None:
    """A simple consumer may not commit for a group that has members."""
    group.join()
    group.await_even(6)
    stranger = group.scene.consumer(group_id=group.scene.group, enable_auto_commit=False)
    stranger.assign([(group.topics[0], 0)])
    with pytest.raises((CommitFailed, KafkaError)):
        stranger.commit({TopicPartition(group.topics[0], 0): 1})
    group.close()
    stranger.commit({TopicPartition(group.topics[0], 0): 1})


@pytest.mark.flavours(*BOTH)
def test_commits_of_a_member(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    scene.fill(topic, 20, 2)
    first, second = scene.places(topic, 2)
    told: list[Any] = []
    consumer = subscribed(scene, flavour, [topic], enable_auto_commit=False)
    take(consumer, 20)
    assert consumer.committed([first, second]) == {first: None, second: None}
    consumer.commit({first: OffsetAndMetadata(3, "three")})
    consumer.commit_async({second: 4}, lambda offsets, error: told.append(error))
    consumer.commit({first: OffsetAndMetadata(5, "five")})
    assert told == [None]
    found = consumer.committed([first, second])
    assert found[first] == OffsetAndMetadata(5, "five")
    assert found[second] == OffsetAndMetadata(4)


@pytest.mark.flavours(*BOTH)
def test_two_groups_know_nothing_of_each_other(group: Group) -> None:
    other = Group(group.scene, group.flavour, group.topics)
    group.join()
    other.join(group_id=f"other-{group.scene.group}")
    group.await_numbers(RECORDS)
    other.await_numbers(RECORDS)
    assert group.owned() == other.owned() == [6]
    other.close()
    group.close()


@pytest.mark.flavours("classic-range", "classic-cooperative-sticky")
def test_a_rebalance_that_is_asked_for(group: Group) -> None:
    member = group.join()
    group.await_even(6)
    before = member.consumer.group_metadata().generation_id
    member.do(lambda consumer: consumer.enforce_rebalance())
    Scene.until(lambda: member.consumer.group_metadata().generation_id > before, "another generation")
    group.await_even(6)
    group.close()


@pytest.mark.flavours("classic-cooperative-sticky")
def test_a_group_changes_from_eager_to_cooperative(scene: Scene, flavour: str) -> None:
    """Two rolling restarts, as KIP-429 has it: both strategies, then the new one alone."""
    topic = scene.topic(4)
    both = {"partition_assignment_strategy": ["cooperative-sticky", "range"]}
    group = Group(scene, "classic-range", [topic])
    group.join()
    group.join()
    group.await_even(4)
    for settings in (both, {"partition_assignment_strategy": ["cooperative-sticky"]}):
        for member in group.members[:]:
            group.leave(member)
            group.join(**settings)
            group.await_even(4)
    scene.fill(topic, 40, 4)
    group.await_numbers(40)
    group.close()


@pytest.mark.flavours("classic-range")
def test_members_without_a_strategy_in_common(scene: Scene, flavour: str) -> None:
    topic = scene.topic(2)
    group = Group(scene, "classic-range", [topic])
    group.join()
    group.await_shares([2])
    stranger = subscribed(scene, "classic-roundrobin", [topic])
    with pytest.raises(KafkaError, match="INCONSISTENT_GROUP_PROTOCOL"):
        Scene.until(lambda: stranger.poll(POLL_MS), "the refusal")
    group.await_shares([2])
    group.close()


@pytest.mark.serves("consumer-protocol")
@pytest.mark.flavours("consumer-uniform")
def test_a_group_changes_from_classic_to_consumer_and_back(scene: Scene, flavour: str) -> None:
    """Rolling restarts of a living group (KIP-848): at no time does a partition go unread."""
    topic = scene.topic(4)
    group = Group(scene, "classic-range", [topic])
    group.join()
    group.join()
    group.await_even(4)
    for step, group.flavour in enumerate(("consumer-uniform", "classic-range")):
        for member in group.members[:]:
            group.leave(member)
            group.join()
            group.await_even(4)
        scene.fill(topic, 40, 4, first=step * 40)
        group.await_numbers((step + 1) * 40)
    group.close()


@pytest.mark.flavours("classic-range", "classic-cooperative-sticky", "consumer-uniform")
def test_a_group_with_librdkafka(group: Group) -> None:
    protocol = "consumer" if group.flavour.startswith("consumer") else "classic"
    config = {"bootstrap.servers": group.scene.servers, "group.id": group.scene.group, "group.protocol": protocol}
    if protocol == "classic":
        config["partition.assignment.strategy"] = group.flavour.removeprefix("classic-")
    other = confluent_kafka.Consumer(config)
    try:
        group.join()
        group.await_even(6)
        other.subscribe(group.topics)

        def is_shared() -> bool:
            other.poll(0.05)
            return len(other.assignment()) == 3 and group.owned() == [3]

        Scene.until(is_shared, "a half for each")
    finally:
        other.close()
    group.await_shares([6])
    group.close()


@pytest.mark.flavours(*BOTH)
def test_a_member_is_described(group: Group) -> None:
    member = group.join(client_id="a-client")
    group.await_even(6)
    described = group.scene.admin.describe_groups([group.scene.group])[group.scene.group]
    [found] = described.members  # type: ignore[union-attr]
    assert found.client_id == "a-client"
    assert found.member_id == member.consumer.group_metadata().member_id
    assert set(found.assignment) == member.owned
    group.close()
