"""What every assignor has to hold, on generated groups, and what the cooperative one withholds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.client.consumer.assignors import JAVA_NAMES, by_name, chosen
from kcore.client.consumer.assignors.assignor import Member, without_racks
from kcore.client.consumer.assignors.user_data import decode_owned, encode_owned
from kcore.client.errors import InvalidSetting
from kcore.client.metadata.cluster import TopicPartition

TOPICS = ["a", "b", "c", "d"]
SUBSCRIPTIONS = st.frozensets(st.sampled_from([*TOPICS, "missing"]), max_size=4)
PARTITIONS = st.builds(TopicPartition, st.sampled_from(TOPICS), st.integers(0, 8))
MEMBERS = st.builds(
    Member,
    topics=SUBSCRIPTIONS,
    owned=st.lists(PARTITIONS, max_size=6).map(tuple),
    generation=st.integers(-1, 3),
    user_data=st.one_of(
        st.none(), st.binary(max_size=8), st.builds(encode_owned, st.lists(PARTITIONS, max_size=6), st.integers(-1, 3))
    ),
)
GROUPS = st.dictionaries(st.text("klm", min_size=1, max_size=3), MEMBERS, min_size=1, max_size=6)
COUNTS = st.dictionaries(st.sampled_from(TOPICS), st.integers(0, 7))


@pytest.mark.parametrize("name", JAVA_NAMES)
@given(members=GROUPS, counts=COUNTS)
@settings(deadline=None, max_examples=30)
def test_every_partition_has_one_owner_who_wants_it(
    name: str, members: dict[str, Member], counts: dict[str, int]
) -> None:
    assignor = by_name(name)
    assignment = assignor.assign(members, without_racks(counts))
    assert assignment.keys() == members.keys()
    given_away = [partition for partitions in assignment.values() for partition in partitions]
    assert len(given_away) == len(set(given_away))
    assert all(partition.topic in members[m].topics for m, found in assignment.items() for partition in found)
    wanted = {
        TopicPartition(topic, number)
        for topic, count in counts.items()
        if any(topic in member.topics for member in members.values())
        for number in range(count)
    }
    withheld = wanted - set(given_away)
    if assignor.is_cooperative:
        assert all(any(partition in member.owned for member in members.values()) for partition in withheld)
    else:
        assert not withheld
    assert set(given_away) <= wanted


@given(members=GROUPS, counts=COUNTS)
@settings(deadline=None, max_examples=30)
def test_cooperative_members_never_get_what_another_of_their_generation_has(
    members: dict[str, Member], counts: dict[str, int]
) -> None:
    members = {name: member._replace(generation=3, user_data=None) for name, member in members.items()}
    assignment = by_name("cooperative-sticky").assign(members, without_racks(counts))
    for name, partitions in assignment.items():
        others = {partition for other, member in members.items() if other != name for partition in member.owned}
        assert not others & set(partitions)


def test_a_withheld_partition_comes_with_the_next_generation() -> None:
    assignor = by_name("cooperative-sticky")
    topics = without_racks({"a": 4})
    all_of_it = tuple(TopicPartition("a", number) for number in range(4))
    members = {"k": Member(frozenset({"a"}), all_of_it, 1), "l": Member(frozenset({"a"}))}
    first = assignor.assign(members, topics)
    assert {name: len(found) for name, found in first.items()} == {"k": 2, "l": 0}
    members = {name: members[name]._replace(owned=tuple(found), generation=2) for name, found in first.items()}
    second = assignor.assign(members, topics)
    assert second["k"] == first["k"]
    assert sorted(first["k"] + second["l"]) == list(all_of_it)


def test_a_member_that_comes_back_from_an_older_generation_gets_nothing_of_another() -> None:
    everything = (TopicPartition("a", 0), TopicPartition("a", 1))
    members = {"old": Member(frozenset("a"), everything, 4), "new": Member(frozenset("a"), everything, 5)}
    assignment = by_name("cooperative-sticky").assign(members, without_racks({"a": 2}))
    assert {name: len(found) for name, found in assignment.items()} == {"new": 1, "old": 0}


def test_what_was_owned_is_read_without_a_generation_too() -> None:
    owned = (TopicPartition("a", 1), TopicPartition("b", 0))
    written = encode_owned(owned, 6)
    assert decode_owned(written) == (owned, 6)
    assert decode_owned(written[:-4]) == (owned, -1)
    assert decode_owned(b"\x00\x00") == ((), -1)
    assert decode_owned(None) == ((), -1)


def test_a_large_group_is_balanced() -> None:
    members = {f"m{n:03}": Member(frozenset({"all", f"t{n % 50}"})) for n in range(200)}
    topics = without_racks({"all": 4000, **{f"t{n}": 20 for n in range(50)}})
    assignment = by_name("sticky").assign(members, topics)
    assert {len(found) for found in assignment.values()} == {25}


def test_strategies_are_named_as_in_kafka() -> None:
    names = ["org.apache.kafka.clients.consumer.RangeAssignor", "cooperative-sticky", by_name("StickyAssignor")]
    assert [assignor.name for assignor in chosen(names)] == ["range", "cooperative-sticky", "sticky"]
    for wrong in (["random"], [], ["range", "RangeAssignor"]):
        with pytest.raises(InvalidSetting, match=r"partition\.assignment\.strategy"):
            chosen(wrong)
