"""What a group of the classic protocol has written, when, and what a coordinator that reads it makes of it."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.coordinator.group import codes
from kcore.coordinator.group.rebalancing import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from kcore.coordinator.group.records import GroupMetadata, MemberMetadata
from kcore.coordinator.group.state import AssignmentStored, Group
from tests.unit.coordinator.group_world import GROUP, REBALANCE_MS, SESSION_MS, World


def test_assignment_is_kept_with_everything_that_a_member_is() -> None:
    world = World()
    leader, static = world.stable_with([None, "i"], protocols="range,sticky", host="/10.0.0.7")
    kept = world.kept[-1]
    assert (kept.protocol_type, kept.protocol_name, kept.generation_id) == ("consumer", "range", 2)
    assert (kept.leader_id, kept.current_state_timestamp_ms) == (leader, world.now_ms)
    assert [
        (
            row.member_id,
            row.group_instance_id,
            row.client_id,
            row.client_host,
            row.session_timeout_ms,
            row.rebalance_timeout_ms,
            row.subscription,
            row.assignment,
        )
        for row in kept.members
    ] == [
        (leader, None, "client", "/10.0.0.7", SESSION_MS, REBALANCE_MS, b"range", leader.encode()),
        (static, "i", "client", "/10.0.0.7", SESSION_MS, REBALANCE_MS, b"range", static.encode()),
    ]


def test_whom_the_leader_forgot_is_assigned_nothing() -> None:
    world = World()
    leader, follower = world.stable(2)
    world.join("leader", leader)
    world.join("follower", follower)
    world.sync("waits", follower)
    world.sync("assigns", leader, {leader: b"all", "a stranger": b"something"})
    assert world.answers["waits"]["assignment"] == b""
    assert {row.member_id: row.assignment for row in world.kept[-1].members} == {leader: b"all", follower: b""}


@pytest.mark.parametrize(
    ("append_error", "told"),
    [
        (codes.COORDINATOR_NOT_AVAILABLE, codes.COORDINATOR_NOT_AVAILABLE),
        (codes.NOT_COORDINATOR, codes.NOT_COORDINATOR),
        (errors.RequestTimedOutError.code, codes.REBALANCE_IN_PROGRESS),
        (errors.MessageTooLargeError.code, codes.UNKNOWN_SERVER_ERROR),
        (errors.RecordListTooLargeError.code, codes.UNKNOWN_SERVER_ERROR),
        (errors.InvalidFetchSizeError.code, codes.UNKNOWN_SERVER_ERROR),
        (errors.PolicyViolationError.code, errors.PolicyViolationError.code),
    ],
)
def test_assignment_that_cannot_be_kept_is_told_to_nobody(append_error: int, told: int) -> None:
    world = World()
    leader, follower = world.stable(2)
    world.join("leader", leader)
    world.join("follower", follower)
    world.sync("waits", follower)
    world.append_error = append_error
    world.sync("assigns", leader, {leader: b"1", follower: b"2"})
    for token in ("waits", "assigns"):
        assert (world.answers[token]["error_code"], world.answers[token]["assignment"]) == (told, b"")
    assert world.group.state == PREPARING_REBALANCE
    assert all(member.assignment == b"" for member in world.group.members.values())
    # Once it can be kept the group goes on.
    world.append_error = 0
    world.join("leader again", leader)
    world.join("follower again", follower)
    answer = world.sync("assigns again", leader, {leader: b"1", follower: b"2"})
    assert answer is not None
    assert (answer["error_code"], answer["assignment"]) == (0, b"1")


def test_word_of_an_earlier_generation_changes_nothing() -> None:
    world = World()
    world.stable(1)
    world.join("again", "m1")
    event = AssignmentStored(world.group.generation_id - 1, {"m1": b"old"})
    assert world.group.on_persisted(event, 0, world.now_ms) == []
    assert world.group.state == COMPLETING_REBALANCE


def test_group_that_empties_keeps_its_generation() -> None:
    world = World()
    (member,) = world.stable(1)
    world.now_ms += 7
    world.leave(member)
    kept = world.kept[-1]
    assert (kept.generation_id, kept.members, kept.protocol_name, kept.leader_id) == (2, [], None, None)
    assert (kept.protocol_type, kept.current_state_timestamp_ms) == ("consumer", world.now_ms)
    world.restart()
    assert (world.group.state, world.group.generation_id) == (EMPTY, 2)
    answer = world.join("next")
    assert answer is not None
    assert answer["generation_id"] == 3


def test_group_that_cannot_say_that_it_emptied_is_empty_all_the_same() -> None:
    world = World()
    (member,) = world.stable(1)
    world.append_error = codes.NOT_COORDINATOR
    assert world.leave(member) == 0
    assert world.group.state == EMPTY


def test_members_go_on_after_a_restart_without_a_rebalance() -> None:
    world = World()
    leader, follower = world.stable(2)
    generation = world.group.generation_id
    world.restart()
    assert (world.group.state, world.group.leader_id) == (STABLE, leader)
    for member_id in (leader, follower):
        assert world.heartbeat(member_id, generation) == 0
        assert world.commit_error(member_id, generation) == 0
    answer = world.sync("sync", follower)
    assert answer is not None
    assert answer["assignment"] == follower.encode()
    assert (answer["protocol_type"], answer["protocol_name"]) == ("consumer", "range")
    # One that joins again with what it said before is told of its generation; with more it may ask for a rebalance.
    answer = world.join("join", follower)
    assert answer is not None
    assert answer["generation_id"] == generation
    assert world.join("more", follower, protocols="range,sticky") is None


def test_sessions_start_anew_after_a_restart() -> None:
    world = World()
    first, second = world.stable(2)
    world.advance(SESSION_MS - 1)
    world.heartbeat(first)
    world.heartbeat(second)
    world.restart()
    world.advance(SESSION_MS - 1)
    assert len(world.group.members) == 2
    world.heartbeat(first)
    world.advance(1)
    assert list(world.group.members) == [first]


def test_rebalance_that_was_under_way_is_forgotten() -> None:
    world = World()
    leader, _ = world.stable(2)
    generation = world.group.generation_id
    world.join("newcomer")
    world.join("leader", leader)
    world.restart()
    assert (world.group.state, world.group.generation_id) == (STABLE, generation)
    assert len(world.group.members) == 2


def test_group_larger_than_it_may_be_by_now_shrinks_in_a_rebalance() -> None:
    world = World()
    first, second, third = world.stable(3)
    generation = world.group.generation_id
    world.restart(max_size=2)
    assert world.group.state == PREPARING_REBALANCE
    assert world.commit_error(third, generation) == 0, "it may say what it has read before it goes"
    world.join("first", first)
    world.join("second", second)
    answer = world.join("third", third)
    assert answer is not None
    assert (answer["error_code"], answer["member_id"]) == (codes.GROUP_MAX_SIZE_REACHED, "")
    assert world.answers["first"]["error_code"] == world.answers["second"]["error_code"] == 0
    assert list(world.group.members) == [first, second]


def test_group_kept_without_a_leader_gets_one() -> None:
    row = MemberMetadata("m", None, "client", "/h", REBALANCE_MS, SESSION_MS, b"s", b"a")
    group = Group(GROUP, 0, 100)
    group.restore(GroupMetadata("consumer", 4, "range", None, -1, [row]), 1_000)
    assert (group.leader_id, group.state, group.generation_id) == ("m", STABLE, 4)
