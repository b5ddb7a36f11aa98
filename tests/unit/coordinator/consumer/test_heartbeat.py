"""Heartbeats of a consumer group: joining, sharing, leaving, and every error in Kafka's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore import errors
from kcore.coordinator.group.consumer.group import ASSIGNING, EMPTY, RECONCILING, STABLE
from kcore.coordinator.group.consumer.settings import Settings
from tests.unit.coordinator.consumer.world import REBALANCE_MS, World

SESSION_MS = 45_000


@pytest.fixture
def world() -> World:
    return World({"foo": 3, "bar": 3})


def test_the_first_member_has_everything_at_once(world: World) -> None:
    answer = world.join("a", "foo")
    assert answer["member_epoch"] == 2
    assert answer["heartbeat_interval_ms"] == 5_000
    assert world.have["a"] == {"foo": [0, 1, 2]}
    assert world.group.state == STABLE


def test_the_worked_example_of_kip_848() -> None:
    """A and B share six partitions; C joins, and gets its two when A and B have given one up each."""
    world = World({"foo": 6})
    world.join("a", "foo")
    world.join("b", "foo")
    world.settle("a", "b")
    assert (world.have["a"], world.have["b"]) == ({"foo": [0, 1, 2]}, {"foo": [3, 4, 5]})
    epoch = world.epochs["a"]

    answer = world.join("c", "foo")
    assert (answer["member_epoch"], world.have["c"]) == (epoch + 1, {})
    assert world.group.state == RECONCILING
    # A is told to give up and stays in its epoch until it says that it did.
    answer = world.beat("a")
    assert (answer["member_epoch"], world.have["a"]) == (epoch, {"foo": [0, 1]})
    assert "assignment" not in world.beat("a")
    assert "assignment" not in world.beat("c"), "A has still what C shall get"
    answer = world.say("a")
    assert answer["member_epoch"] == epoch + 1
    world.beat("c")
    assert world.have["c"] == {"foo": [2]}
    world.beat("b")
    assert world.have["b"] == {"foo": [3, 4]}
    world.say("b")
    world.beat("c")
    assert world.have["c"] == {"foo": [2, 5]}
    assert world.group.state == STABLE
    assert set(world.epochs.values()) == {epoch + 1}


def test_a_member_that_says_nothing_of_its_partitions_has_them_all(world: World) -> None:
    world.join("a", "foo")
    world.join("b", "foo")
    world.beat("a")
    assert world.have["a"] == {"foo": [0, 1]}
    epoch = world.epochs["a"]
    for _ in range(3):
        assert world.beat("a")["member_epoch"] == epoch
        assert "assignment" not in world.beat("b")


def test_who_does_not_give_up_in_its_rebalance_timeout_is_out(world: World) -> None:
    world.join("a", "foo")
    world.join("b", "foo")
    world.beat("a")
    for _ in range(3):
        world.pass_ms(REBALANCE_MS // 3 - 1)
        world.beat("a")
        world.beat("b")
    world.pass_ms(REBALANCE_MS // 3)
    assert list(world.group.members) == ["b"]
    assert world.beat("a")["error_code"] == errors.UnknownMemberIdError.code
    world.settle("b")
    assert world.have["b"] == {"foo": [0, 1, 2]}


def test_a_heartbeat_keeps_a_session_and_silence_ends_it(world: World) -> None:
    world.join("a", "foo")
    world.join("b", "foo")
    world.settle("a", "b")
    for _ in range(5):
        world.pass_ms(SESSION_MS - 1)
        world.beat("a")
        assert "a" in world.group.members
    assert "b" not in world.group.members
    world.settle("a")
    assert world.have["a"] == {"foo": [0, 1, 2]}
    assert [name for name in world.timers if name[0] == "session"] == [("session", "a")]


def test_a_plain_heartbeat_writes_nothing_and_starts_no_timer(world: World) -> None:
    world.join("a", "foo")
    written, timers = len(world.log), dict(world.timers)
    world.pass_ms(5_000)
    assert world.beat("a") == {"member_id": "a", "member_epoch": 2, "heartbeat_interval_ms": 5_000}
    assert (len(world.log), world.timers) == (written, timers)


def test_leaving_gives_what_one_had_to_the_others(world: World) -> None:
    world.join("a", "foo")
    world.join("b", "foo")
    world.settle("a", "b")
    assert world.beat("b", -1) == {"member_id": "b", "member_epoch": -1}
    assert world.group.state == ASSIGNING
    world.settle("a")
    assert world.have["a"] == {"foo": [0, 1, 2]}
    world.beat("a", -1)
    assert world.group.state == EMPTY
    assert not world.timers


def test_a_new_partition_and_a_new_topic_are_noticed_by_the_next_heartbeat(world: World) -> None:
    world.join("a", "foo", "later")
    world.set_topics({"foo": 5, "bar": 3})
    world.beat("a")
    assert world.have["a"] == {"foo": [0, 1, 2, 3, 4]}
    world.set_topics({"foo": 5, "bar": 3, "later": 1})
    world.beat("a")
    assert world.have["a"] == {"foo": [0, 1, 2, 3, 4], "later": [0]}
    epoch = world.epochs["a"]
    world.set_topics({"foo": 5, "bar": 9, "later": 1})
    assert world.beat("a")["member_epoch"] == epoch, "nobody subscribes to bar"


def test_a_deleted_topic_is_given_up(world: World) -> None:
    world.join("a", "foo", "bar")
    world.set_topics({"foo": 3})
    world.beat("a")
    assert world.have["a"] == {"foo": [0, 1, 2]}
    world.settle("a")
    assert world.group.state == STABLE


def test_another_subscription_revokes_at_once_what_it_no_longer_has(world: World) -> None:
    world.join("a", "foo")
    world.beat("a", subscribed_topic_names=["bar"])
    assert world.have["a"] == {}
    world.settle("a")
    assert world.have["a"] == {"bar": [0, 1, 2]}


def test_members_that_subscribe_to_different_topics(world: World) -> None:
    world.join("a", "foo")
    world.join("b", "foo", "bar")
    world.settle("a", "b")
    assert (world.have["a"], world.have["b"]) == ({"foo": [0, 1, 2]}, {"bar": [0, 1, 2]})


def test_the_assignor_that_most_ask_for_is_taken(world: World) -> None:
    world.join("a", "foo", "bar", server_assignor="range")
    world.join("b", "foo", "bar", server_assignor="range")
    world.join("c", "foo", "bar", server_assignor="uniform")
    world.settle("a", "b", "c")
    assert world.have["a"] == {"foo": [0], "bar": [0]}


# --- epochs ---------------------------------------------------------------------------------------------------------


def test_a_lost_answer_excuses_the_previous_epoch(world: World) -> None:
    world.join("a", "foo")
    before = world.epochs["a"]
    world.set_topics({"foo": 4})
    world.beat("a")
    answer = world.beat("a", before, topic_partitions={"foo": [0, 1, 2]})
    assert answer["member_epoch"] == before + 1
    answer = world.beat("a", before - 1, topic_partitions={"foo": [0, 1, 2]})
    assert answer["error_code"] == errors.FencedMemberEpochError.code


def test_a_previous_epoch_with_other_partitions_is_fenced(world: World) -> None:
    world.join("a", "foo")
    before = world.epochs["a"]
    world.set_topics({"foo": 4})
    world.beat("a")
    for reported in (None, {"bar": [0]}, {"foo": [9]}):
        fields = {} if reported is None else {"topic_partitions": reported}
        assert world.beat("a", before, **fields) == {
            "error_code": 110,
            "error_message": f"The consumer group member has a smaller member epoch ({before}) than the one known by "
            f"the group coordinator ({before + 1}). The member must abandon all its partitions and rejoin.",
        }


def test_a_fenced_member_joins_again_and_has_its_partitions(world: World) -> None:
    world.join("a", "foo")
    assert world.beat("a", 9)["error_code"] == errors.FencedMemberEpochError.code
    world.have["a"] = {}
    world.join("a", "foo")
    assert world.have["a"] == {"foo": [0, 1, 2]}


JOIN: dict[str, Any] = {"rebalance_timeout_ms": 1, "topic_partitions": [], "subscribed_topic_names": ["foo"]}
REJOIN = "The member must abandon all its partitions and rejoin."


@pytest.mark.parametrize(
    ("member_id", "epoch", "fields", "code", "message"),
    [
        ("a", 0, {"group_id": ""}, 42, "GroupId can't be empty."),
        ("", 0, {}, 42, "MemberId can't be empty."),
        ("a", 0, {"instance_id": ""}, 42, "InstanceId can't be empty."),
        ("a", 0, {"rack_id": " "}, 42, "RackId can't be empty."),
        ("x", 0, {"rebalance_timeout_ms": -1}, 42, "RebalanceTimeoutMs must be provided in first request."),
        ("x", 0, {"topic_partitions": None}, 42, "TopicPartitions must be empty when (re-)joining."),
        ("x", 0, {"topic_partitions": {"foo": [0]}}, 42, "TopicPartitions must be empty when (re-)joining."),
        (
            "x",
            0,
            {"subscribed_topic_names": None},
            42,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        ("a", -3, {}, 42, "MemberEpoch is invalid."),
        ("a", -2, {}, 42, "InstanceId can't be null."),
        (
            "a",
            5,
            {},
            110,
            "The consumer group member has a greater member epoch (5) than the one known by the group coordinator (2). "
            + REJOIN,
        ),
        ("x", 5, {}, 25, "Member x is not a member of group flights."),
        ("x", -1, {}, 25, "Member x is not a member of group flights."),
        (
            "a",
            0,
            {"server_assignor": "mine"},
            112,
            "ServerAssignor mine is not supported. Supported assignors: uniform, range.",
        ),
        (
            "a",
            0,
            {"subscribed_topic_regex": "a(b", "subscribed_topic_names": None},
            128,
            "SubscribedTopicRegex `a(b` is not a valid regular expression: missing closing ).",
        ),
        (
            "a",
            0,
            {"subscribed_topic_regex": r"(a)\1", "subscribed_topic_names": None},
            128,
            r"SubscribedTopicRegex `(a)\1` is not a valid regular expression: invalid escape sequence.",
        ),
        ("x", 3, {"instance_id": "i7"}, 25, "Instance id i7 is unknown."),
    ],
)
def test_errors_are_those_of_kafka_4_3(
    world: World, member_id: str, epoch: int, fields: dict[str, Any], code: int, message: str
) -> None:
    """Code and words as Apache Kafka 4.3.1 answered the same requests."""
    world.join("a", "foo")
    written = len(world.log)
    assert world.beat(member_id, epoch, **{**JOIN, **fields}) == {"error_code": code, "error_message": message}
    assert len(world.log) == written


def test_an_old_client_is_given_a_member_id(world: World) -> None:
    assert world.beat("", 0, version=0, **JOIN)["member_id"] == "made-here"


def test_a_full_group_takes_no_more() -> None:
    world = World({"foo": 3}, Settings(max_size=1))
    world.join("a", "foo")
    assert world.join("b", "foo") == {
        "error_code": errors.GroupMaxSizeReachedError.code,
        "error_message": "The consumer group has reached its maximum capacity of 1 members.",
    }
    assert "error_code" not in world.beat("a")


# --- static members -------------------------------------------------------------------------------------------------


def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(world: World) -> None:
    world.join("a", "foo", instance_id="i1")
    world.join("b", "foo", instance_id="i2")
    world.settle("a", "b")
    mine, epoch = world.have["a"], world.group.epoch
    assert world.beat("a", -2, instance_id="i1") == {"member_id": "a", "member_epoch": -2}
    world.settle("b")
    assert world.have["b"] == {"foo": [2]}
    world.join("a2", "foo", instance_id="i1")
    assert (world.have["a2"], world.group.epoch) == (mine, epoch)
    assert "a" not in world.group.members
    assert world.group.state == STABLE


def test_an_instance_id_in_use_is_not_released(world: World) -> None:
    world.join("a", "foo", instance_id="i1")
    assert world.join("b", "foo", instance_id="i1") == {
        "error_code": errors.UnreleasedInstanceIdError.code,
        "error_message": "Static member b with instance id i1 cannot join the group because the instance id is owned "
        "by a member.",
    }
    assert world.beat("b", 3, instance_id="i1") == {
        "error_code": errors.FencedInstanceIdError.code,
        "error_message": "Static member b with instance id i1 was fenced by member a.",
    }


def test_a_static_member_that_stays_away_is_out_after_its_session(world: World) -> None:
    world.join("a", "foo", instance_id="i1")
    world.beat("a", -2, instance_id="i1")
    world.pass_ms(SESSION_MS)
    assert world.group.state == EMPTY
    assert not world.group.static_members


def test_a_static_member_may_leave_for_good(world: World) -> None:
    world.join("a", "foo", instance_id="i1")
    world.beat("a", -1, instance_id="i1")
    assert world.group.state == EMPTY


# --- patterns -------------------------------------------------------------------------------------------------------


def test_a_pattern_is_resolved_and_followed(world: World) -> None:
    world.join("a", subscribed_topic_regex="[fb].*")
    assert world.have["a"] == {}
    world.resolve()
    world.beat("a")
    assert world.have["a"] == {"foo": [0, 1, 2], "bar": [0, 1, 2]}
    world.set_topics({"foo": 3, "bar": 3, "baz": 1, "other": 1})
    world.beat("a")
    assert not world.unresolved, "the last time was less than ten seconds ago"
    world.pass_ms(10_001)
    world.beat("a")
    world.resolve()
    world.beat("a")
    assert world.have["a"] == {"foo": [0, 1, 2], "bar": [0, 1, 2], "baz": [0]}
    world.pass_ms(20_000)
    world.beat("a")
    assert not world.unresolved, "nothing changed"


def test_a_known_pattern_needs_no_second_look(world: World) -> None:
    world.join("a", subscribed_topic_regex="fo+")
    world.resolve()
    world.join("b", subscribed_topic_regex="fo+")
    assert not world.unresolved
    world.settle("a", "b")
    assert world.have["b"] == {"foo": [2]}


def test_names_and_a_pattern_together(world: World) -> None:
    world.beat(
        "a",
        0,
        rebalance_timeout_ms=1,
        topic_partitions=[],
        subscribed_topic_names=["foo"],
        subscribed_topic_regex="b.r",
    )
    world.resolve()
    world.settle("a")
    assert world.have["a"] == {"foo": [0, 1, 2], "bar": [0, 1, 2]}
    world.beat("a", subscribed_topic_regex="")
    world.settle("a")
    assert world.have["a"] == {"foo": [0, 1, 2]}
    assert not world.group.resolved_regexes


def test_a_pattern_goes_with_the_last_who_had_it(world: World) -> None:
    world.join("a", subscribed_topic_regex="fo+")
    world.resolve()
    world.beat("a", -1)
    assert not world.group.resolved_regexes
    assert world.group.metadata_hash == 0


# --- anything at all ------------------------------------------------------------------------------------------------

MEMBERS = ("a", "b", "c", "d")
EVENTS = st.one_of(
    st.tuples(st.just("join"), st.sampled_from(MEMBERS), st.sampled_from((("foo",), ("bar",), ("foo", "bar"), ()))),
    st.tuples(st.just("beat"), st.sampled_from(MEMBERS)),
    st.tuples(st.just("say"), st.sampled_from(MEMBERS)),
    st.tuples(st.just("leave"), st.sampled_from(MEMBERS)),
    st.tuples(st.just("topics"), st.integers(1, 5), st.integers(0, 5)),
    st.tuples(st.just("time"), st.sampled_from((1_000, 20_000, 31_000, 46_000))),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(EVENTS, max_size=30))
def test_whatever_happens_no_partition_has_two_owners_and_the_group_comes_to_rest(
    events: list[tuple[Any, ...]],
) -> None:
    """`World.check` holds ownership and the log against the group after every event."""
    world = World({"foo": 3, "bar": 2})
    for kind, *rest in events:
        if kind == "join":
            world.join(rest[0], *rest[1])
        elif kind == "topics":
            world.set_topics({"foo": rest[0], "bar": rest[1]} if rest[1] else {"foo": rest[0]})
        elif kind == "time":
            world.pass_ms(rest[0])
        elif rest[0] in world.epochs:
            if kind == "leave":
                world.beat(rest[0], -1)
            elif kind == "say" and rest[0] in world.have:
                world.say(rest[0])
            else:
                world.beat(rest[0])
    staying = list(world.group.members)
    for member_id in staying:
        # Whatever a client knows, it can join again.
        world.join(member_id, "foo", "bar")
    world.settle(*staying)
    if staying:
        assert world.group.state == STABLE
        owned = sorted(
            (name, item) for held in world.have.values() if held for name, items in held.items() for item in items
        )
        topics = {name: len(topic.partitions) for name, topic in world.image.topics.items()}
        have = {member_id: world.have[member_id] for member_id in staying}
        owned = sorted((name, item) for held in have.values() for name, items in held.items() for item in items)
        assert owned == sorted((name, item) for name, count in topics.items() for item in range(count))
