"""Server-side assignors: one owner for every partition, as even as can be, and what need not move stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.coordinator.group.consumer.assignors import RANGE, UNIFORM, assignor_named
from kcore.coordinator.group.consumer.assignors.subscriber import Subscriber

TOPICS = [bytes([number]) * 16 for number in range(6)]
A, B, C = TOPICS[:3]


def subscriber(topics: list[bytes], target: dict | None = None, instance_id: str | None = None) -> Subscriber:
    return Subscriber(frozenset(topics), target or {}, instance_id)


def plain(assigned: dict) -> dict[str, dict[bytes, list[int]]]:
    return {member: {topic: sorted(held) for topic, held in topics.items()} for member, topics in assigned.items()}


def load(assignment: dict) -> int:
    return sum(len(held) for held in assignment.values())


@st.composite
def groups(draw: st.DrawFn) -> tuple[dict[str, Subscriber], dict[bytes, int]]:
    """Members with subscriptions and whatever targets: of topics that are gone, too large, twice the same partition."""
    counts = {topic: draw(st.integers(1, 9)) for topic in draw(st.lists(st.sampled_from(TOPICS), unique=True))}
    same = draw(st.booleans())
    everything = frozenset(counts)
    members = {}
    for number in range(draw(st.integers(1, 7))):
        topics = everything if same else frozenset(draw(st.sets(st.sampled_from(TOPICS)))) & everything
        target = {
            topic: frozenset(draw(st.sets(st.integers(0, 10), max_size=6)))
            for topic in draw(st.sets(st.sampled_from(TOPICS), max_size=3))
        }
        members[f"m{number}"] = subscriber(list(topics), target, draw(st.sampled_from([None, f"i{9 - number}"])))
    wanted = frozenset().union(*(member.topics for member in members.values()))
    return members, {topic: count for topic, count in counts.items() if topic in wanted}


@settings(max_examples=80, deadline=None)
@given(groups(), st.sampled_from([UNIFORM, RANGE]))
def test_every_partition_has_exactly_one_owner_who_subscribes_to_it(
    group: tuple[dict[str, Subscriber], dict[bytes, int]], name: str
) -> None:
    members, counts = group
    assigned = assignor_named(name)(members, counts)
    assert assigned.keys() == members.keys()
    owned = [(topic, item) for held in assigned.values() for topic, items in held.items() for item in items]
    assert sorted(owned) == sorted((topic, item) for topic, count in counts.items() for item in range(count))
    for member_id, held in assigned.items():
        assert held.keys() <= members[member_id].topics
        assert all(held.values()), "a topic without partitions is named"


@settings(max_examples=80, deadline=None)
@given(groups())
def test_uniform_leaves_nobody_two_more_than_another_could_have(
    group: tuple[dict[str, Subscriber], dict[bytes, int]],
) -> None:
    members, counts = group
    assigned = assignor_named(UNIFORM)(members, counts)
    if len({member.topics for member in members.values()}) == 1:
        loads = [load(held) for held in assigned.values()]
        assert max(loads) - min(loads) <= 1
    for held in assigned.values():
        for topic in held:
            others = [load(assigned[other]) for other, member in members.items() if topic in member.topics]
            assert load(held) - min(others) <= 1


@settings(max_examples=80, deadline=None)
@given(groups(), st.sampled_from([UNIFORM, RANGE]))
def test_an_assignment_is_its_own_successor(group: tuple[dict[str, Subscriber], dict[bytes, int]], name: str) -> None:
    members, counts = group
    assign = assignor_named(name)
    first = assign(members, counts)
    again = {
        member_id: Subscriber(member.topics, first[member_id], member.instance_id)
        for member_id, member in members.items()
    }
    assert assign(again, counts) == first


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 1))
def test_uniform_moves_no_more_than_evenness_asks_for(members: int, partitions: int, joining: int) -> None:
    """One joins, or one leaves: who stays keeps all up to the new quota."""
    assign = assignor_named(UNIFORM)
    before = {f"m{number}": subscriber([A]) for number in range(members)}
    first = assign(before, {A: partitions})
    kept = {name: subscriber([A], dict(first[name])) for name in before}
    if joining:
        kept["new"] = subscriber([A])
    elif members > 1:
        del kept["m0"]
    second = assign(kept, {A: partitions})
    quota, extra = divmod(partitions, len(kept))
    at_most = sum(sorted((load(first[name]) for name in before if name in kept), reverse=True))
    stayed = sum(
        len(first[name].get(A, frozenset()) & second[name].get(A, frozenset())) for name in kept if name in first
    )
    limits = sorted((min(load(first[name]), quota + 1) for name in kept if name in first), reverse=True)
    possible = sum(min(limit, quota) for limit in limits) + min(extra, sum(limit > quota for limit in limits))
    assert stayed == possible <= at_most


def test_uniform_as_kafka_gives_the_first_and_takes_the_last() -> None:
    """Seen with Apache Kafka 4.3.1."""
    assign = assignor_named(UNIFORM)
    first = assign({"m1": subscriber([A])}, {A: 3})
    assert plain(first) == {"m1": {A: [0, 1, 2]}}
    second = assign({"m1": subscriber([A], dict(first["m1"])), "m2": subscriber([A])}, {A: 3})
    assert plain(second) == {"m1": {A: [0, 1]}, "m2": {A: [2]}}


def test_uniform_follows_what_may_go_where() -> None:
    """m1 alone may have B, so that A goes to m2."""
    members = {"m1": subscriber([A, B]), "m2": subscriber([A])}
    assert plain(assignor_named(UNIFORM)(members, {A: 3, B: 3})) == {"m1": {B: [0, 1, 2]}, "m2": {A: [0, 1, 2]}}


@pytest.mark.parametrize(
    ("members", "counts", "expected"),
    [
        pytest.param(
            {"m0": [A, B], "m1": [A, B]},
            {A: 3, B: 3},
            {"m0": {A: [0, 1], B: [0, 1]}, "m1": {A: [2], B: [2]}},
            id="alike",
        ),
        pytest.param(
            {"m0": [A], "m1": [A, B], "m2": [B]},
            {A: 2, B: 3},
            {"m0": {A: [0]}, "m1": {A: [1], B: [0, 1]}, "m2": {B: [2]}},
            id="not alike",
        ),
        pytest.param(
            {"m0": [A], "m1": [A], "m2": [A]}, {A: 2}, {"m0": {A: [0]}, "m1": {A: [1]}, "m2": {}}, id="too many"
        ),
        pytest.param({"m0": []}, {}, {"m0": {}}, id="nothing"),
    ],
)
def test_range(members: dict, counts: dict, expected: dict) -> None:
    subscribers = {member_id: subscriber(topics) for member_id, topics in members.items()}
    assert plain(assignor_named(RANGE)(subscribers, counts)) == expected


def test_range_goes_by_instance_ids_before_member_ids() -> None:
    members = {"a": subscriber([A]), "b": subscriber([A], None, "i2"), "c": subscriber([A], None, "i1")}
    assert plain(assignor_named(RANGE)(members, {A: 3})) == {"c": {A: [0]}, "b": {A: [1]}, "a": {A: [2]}}
