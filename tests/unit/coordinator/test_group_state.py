"""The state machine of a group of the classic protocol, driven by events and a clock of its own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.coordinator.group import codes
from kcore.coordinator.group.rebalancing import (
    COMPLETING_REBALANCE,
    EMPTY,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    PREPARING_REBALANCE,
    STABLE,
)
from kcore.coordinator.group.shard import MAX_LOGGED, loggable
from tests.unit.coordinator.group_world import REBALANCE_MS, SESSION_MS, World


def test_one_member_becomes_leader_and_gets_what_it_assigned_itself() -> None:
    world = World()
    world.join("join")
    answer = world.answers["join"]
    assert (answer["error_code"], answer["generation_id"], answer["leader"]) == (0, 1, answer["member_id"])
    assert [member["metadata"] for member in answer["members"]] == [b"range"]
    assert world.group.state == COMPLETING_REBALANCE
    world.sync("sync", answer["member_id"], {answer["member_id"]: b"all"})
    assert world.answers["sync"]["assignment"] == b"all"
    assert world.group.state == STABLE


def test_new_client_is_told_its_member_id_first() -> None:
    world = World()
    world.join("first", needs_id=True)
    answer = world.answers["first"]
    assert answer["error_code"] == codes.MEMBER_ID_REQUIRED
    assert world.group.state == EMPTY
    world.join("second", answer["member_id"], needs_id=True)
    assert world.answers["second"]["error_code"] == 0
    assert world.answers["second"]["member_id"] == answer["member_id"]


def test_member_id_never_used_is_forgotten_after_the_session_timeout() -> None:
    world = World()
    world.join("first", needs_id=True)
    world.advance(SESSION_MS + 1)
    world.join("second", world.answers["first"]["member_id"], needs_id=True)
    assert world.answers["second"]["error_code"] == codes.UNKNOWN_MEMBER_ID


def test_pending_member_id_does_not_hold_a_stable_group_up() -> None:
    world = World()
    (leader,) = world.stable(1)
    world.join("newcomer", needs_id=True)
    assert world.group.state == STABLE
    assert world.group.heartbeat(leader, None, world.group.generation_id, world.now_ms) == 0


def test_second_member_waits_until_the_first_rejoined() -> None:
    world = World()
    (leader,) = world.stable(1)
    world.join("second")
    assert "second" not in world.answers
    assert world.group.heartbeat(leader, None, 1, world.now_ms) == codes.REBALANCE_IN_PROGRESS
    world.join("again", leader)
    assert world.answers["second"]["generation_id"] == world.answers["again"]["generation_id"] == 2
    assert world.answers["second"]["members"] == []
    assert len(world.answers["again"]["members"]) == 2


def test_follower_waits_for_the_leaders_assignment() -> None:
    world = World()
    world.stable(1)
    world.join("second")
    leader = world.group.leader_id
    world.join("again", leader)
    follower = world.answers["second"]["member_id"]
    world.sync("follower", follower)
    assert "follower" not in world.answers
    world.sync("leader", leader, {leader: b"0", follower: b"1"})
    assert world.answers["follower"]["assignment"] == b"1"
    assert world.answers["leader"]["assignment"] == b"0"


def test_member_that_does_not_rejoin_is_dropped_after_the_rebalance_timeout() -> None:
    world = World()
    (leader,) = world.stable(1)
    world.join("second")
    for _ in range(REBALANCE_MS // (SESSION_MS // 2) + 1):  # it lives, but does not join
        world.group.heartbeat(leader, None, 1, world.now_ms)
        world.advance(SESSION_MS // 2)
    answer = world.answers["second"]
    assert answer["leader"] == answer["member_id"]
    assert leader not in world.group.members


def test_heartbeats_and_commits_of_a_client_that_closed_its_connection_extend_no_session() -> None:
    world = World()
    (member,) = world.stable(1)
    group = world.group
    world.advance(SESSION_MS - 1)
    generation = group.generation_id
    assert group.heartbeat(member, None, generation, world.now_ms, is_connected=False) == 0
    assert group.commit_error(member, None, generation, world.now_ms, is_connected=False) == 0
    world.advance(1)
    assert group.state == EMPTY


def test_silent_member_dies_with_its_session_and_the_others_rebalance() -> None:
    world = World()
    first, second = world.stable(2)
    world.advance(SESSION_MS - 1)
    assert world.group.heartbeat(second, None, world.group.generation_id, world.now_ms) == 0
    world.advance(SESSION_MS // 2)
    assert first not in world.group.members
    assert world.group.heartbeat(second, None, world.group.generation_id, world.now_ms) == codes.REBALANCE_IN_PROGRESS
    assert world.group.leader_id == second


def test_heartbeats_keep_a_member_alive_for_ever() -> None:
    world = World()
    (member,) = world.stable(1)
    for _ in range(100):
        world.advance(SESSION_MS - 1)
        assert world.group.heartbeat(member, None, 1, world.now_ms) == 0


def test_member_that_owes_a_sync_is_dropped() -> None:
    world = World()
    world.join("join")
    world.advance(REBALANCE_MS + SESSION_MS)
    assert len(world.group.members) == 0
    assert world.group.state == EMPTY


def test_last_leave_empties_the_group_and_starts_a_generation() -> None:
    world = World()
    (member,) = world.stable(1)
    assert world.leave(member) == 0
    assert world.group.state == EMPTY
    assert world.group.generation_id == 2
    assert world.leave(member) == codes.UNKNOWN_MEMBER_ID
    assert not world.timers, "a group without members has nothing to wait for"


def test_initial_delay_gathers_members_into_one_generation() -> None:
    world = World(initial_delay_ms=3_000)
    world.join("a")
    world.advance(2_000)
    world.join("b")
    world.advance(2_000)  # b's coming extended the delay
    assert world.answers == {}
    world.advance(2_000)
    assert world.answers["a"]["generation_id"] == world.answers["b"]["generation_id"] == 1


def test_leader_that_rejoins_makes_a_rebalance_and_a_follower_does_not() -> None:
    world = World()
    leader, follower = world.stable(2)
    generation = world.group.generation_id
    world.join("follower again", follower)
    assert world.answers["follower again"]["generation_id"] == generation
    assert world.group.state == STABLE
    world.join("leader again", leader)
    assert world.group.state == PREPARING_REBALANCE


@pytest.mark.parametrize(("protocols", "error"), [("", 23), ("other", 23)])
def test_protocol_that_the_group_does_not_share_is_refused(protocols: str, error: int) -> None:
    world = World()
    world.stable(1)
    world.join("stranger", protocols=protocols)
    assert world.answers["stranger"]["error_code"] == error == codes.INCONSISTENT_GROUP_PROTOCOL


def test_protocol_preferred_by_most_members_is_chosen() -> None:
    world = World(initial_delay_ms=1_000)
    world.join("a", protocols="range,sticky")
    world.join("b", protocols="sticky,range")
    world.join("c", protocols="sticky,range")
    world.advance(5_000)
    assert {answer["protocol_name"] for answer in world.answers.values()} == {"sticky"}


def test_group_takes_no_more_than_its_size() -> None:
    world = World(max_size=1)
    world.stable(1)
    world.join("second")
    assert world.answers["second"]["error_code"] == codes.GROUP_MAX_SIZE_REACHED


def test_wrong_generation_and_stranger_are_told_apart() -> None:
    world = World()
    (member,) = world.stable(1)
    assert world.group.heartbeat(member, None, 7, world.now_ms) == codes.ILLEGAL_GENERATION
    assert world.group.heartbeat("stranger", None, 1, world.now_ms) == codes.UNKNOWN_MEMBER_ID
    assert world.group.commit_error("", None, -1, world.now_ms) == codes.UNKNOWN_MEMBER_ID
    world.leave(member)
    assert world.group.commit_error("", None, -1, world.now_ms) == 0


def test_sync_that_waits_is_told_of_a_new_rebalance() -> None:
    world = World()
    world.stable(1)
    world.join("second")
    leader = world.group.leader_id
    world.join("again", leader)
    follower = world.answers["second"]["member_id"]
    world.sync("follower", follower)
    world.join("third")
    assert world.answers["follower"]["error_code"] == codes.REBALANCE_IN_PROGRESS
    assert world.group.state == PREPARING_REBALANCE


def test_initial_delay_ends_with_the_rebalance_timeout() -> None:
    world = World(initial_delay_ms=3_000)
    for number in range(20):
        assert not world.answers
        world.join(number, rebalance_ms=10_000)
        world.advance(500)
    assert {answer["generation_id"] for answer in world.answers.values()} == {1}
    assert len(world.answers) == 20


def test_initial_delay_of_a_group_that_had_members_is_not_extended() -> None:
    world = World(initial_delay_ms=3_000)
    world.join("first")
    world.advance(3_000)
    world.leave("m1")
    assert world.group.state == EMPTY
    world.join("a")
    world.advance(2_000)
    world.join("b")
    world.advance(1_000)
    assert world.answers["a"]["generation_id"] == world.answers["b"]["generation_id"] == 3


def test_initial_delay_waits_for_nobody_who_only_has_an_id() -> None:
    world = World()
    world.join("asked for an id", needs_id=True)
    answer = world.join("first")
    assert answer is not None
    assert answer["generation_id"] == 1


def test_everyone_who_came_in_the_initial_delay_may_go_in_it() -> None:
    world = World(initial_delay_ms=3_000)
    world.join("first")
    world.leave("m1")
    assert world.answers["first"]["error_code"] == codes.UNKNOWN_MEMBER_ID
    assert world.answers["first"]["member_id"] == ""
    assert world.group.state == PREPARING_REBALANCE
    world.advance(3_000)
    assert (world.group.state, world.group.generation_id) == (EMPTY, 1)
    assert not world.timers


def test_rebalance_waits_for_one_who_was_told_its_id() -> None:
    world = World()
    (leader,) = world.stable(1)
    world.join("told", needs_id=True)
    assert world.join("leader", leader) is None
    second = world.join("second", world.answers["told"]["member_id"])
    assert second is not None
    assert second["generation_id"] == world.answers["leader"]["generation_id"] == 2


@pytest.mark.parametrize("way", ["leaves", "never comes"])
def test_rebalance_goes_on_without_one_who_was_told_its_id(way: str) -> None:
    world = World()
    (leader,) = world.stable(1)
    world.join("told", needs_id=True)
    world.join("leader", leader)
    if way == "leaves":
        assert world.leave(world.answers["told"]["member_id"]) == 0
    else:
        world.advance(SESSION_MS)
    assert world.answers["leader"]["generation_id"] == 2


def test_request_that_its_client_has_given_up_is_answered() -> None:
    world = World()
    leader, follower = world.stable(2)
    world.join("first", follower, "range,other")
    world.join("second", follower, "range,other")
    assert world.answers["first"]["error_code"] == codes.REBALANCE_IN_PROGRESS
    assert world.answers["first"]["member_id"] == follower
    world.join("leader", leader)
    assert world.answers["second"]["error_code"] == 0
    world.sync("third", follower)
    world.sync("fourth", follower)
    assert world.answers["third"]["error_code"] == codes.REBALANCE_IN_PROGRESS
    assert "fourth" not in world.answers


def test_sync_that_waits_is_answered_when_its_member_is_sent_away() -> None:
    world = World()
    leader, follower = world.stable(2)
    world.join("leader", leader)
    world.join("follower", follower)
    world.sync("waits", follower)
    assert world.leave(follower) == 0
    assert world.answers["waits"]["error_code"] == codes.UNKNOWN_MEMBER_ID
    assert world.heartbeat(leader) == codes.REBALANCE_IN_PROGRESS


def test_member_whose_request_waits_is_alive_however_long_that_takes() -> None:
    world = World()
    leader, follower = world.stable(2)
    world.join("follower", follower, "range,other", session_ms=SESSION_MS)
    for _ in range(2 * REBALANCE_MS // SESSION_MS - 1):
        world.heartbeat(leader)
        world.advance(SESSION_MS // 2)
    assert follower in world.group.members
    assert leader in world.group.members, "a heartbeat that is told of the rebalance is one"
    world.join("leader", leader)
    assert world.answers["follower"]["error_code"] == 0
    # Now it must be heard of again.
    world.sync("sync", leader)
    world.advance(SESSION_MS)
    assert follower not in world.group.members


def test_new_member_that_waits_is_given_up_in_the_end() -> None:
    world = World()
    world.stable(1, rebalance_ms=10 * NEW_MEMBER_JOIN_TIMEOUT_MS, session_ms=10 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    world.join("new")
    world.advance(NEW_MEMBER_JOIN_TIMEOUT_MS - 1)
    assert "new" not in world.answers
    world.advance(1)
    assert world.answers["new"]["error_code"] == codes.UNKNOWN_MEMBER_ID


def test_room_in_a_rebalance_is_for_those_who_come_first() -> None:
    world = World(max_size=2)
    first, second = world.stable(2)
    world.join("first", first)
    newcomer = world.join("newcomer")
    assert newcomer is None
    late = world.join("late", second)
    assert late is not None
    assert (late["error_code"], late["member_id"]) == (codes.GROUP_MAX_SIZE_REACHED, "")
    # Whoever waits already may say something else.
    assert world.answers["first"]["error_code"] == 0
    assert second not in world.group.members


def test_full_group_forgets_an_id_that_it_handed_out() -> None:
    world = World(max_size=1)
    told = world.join("told", needs_id=True)
    assert told is not None
    world.stable(1)
    answer = world.join("too late", told["member_id"])
    assert answer is not None
    assert (answer["error_code"], answer["member_id"]) == (codes.GROUP_MAX_SIZE_REACHED, "")
    assert not world.group.members.pending_ids
    assert not [name for name in world.timers if name[0] == "pending"]


def test_sync_in_a_stable_group_is_a_sign_of_life() -> None:
    world = World()
    (member,) = world.stable(1)
    for number in range(5):
        world.advance(SESSION_MS - 1)
        world.sync(number, member)
    assert member in world.group.members


def test_end_answers_everyone_and_leaves_no_timer() -> None:
    world = World()
    leader, follower = world.stable(2)
    world.join("pending", needs_id=True)
    world.join("new")
    world.join("follower", follower)
    world.carry_out(world.group.end(codes.NOT_COORDINATOR))
    assert {world.answers[token]["error_code"] for token in ("new", "follower")} == {codes.NOT_COORDINATOR}
    assert world.answers["follower"]["member_id"] == follower
    assert not world.timers
    assert world.heartbeat(leader) == codes.COORDINATOR_NOT_AVAILABLE


def test_log_says_why_a_group_rebalances() -> None:
    world = World()
    leader, follower = world.stable(2)
    world.notes.clear()
    world.join("again", leader, reason="topics have changed")
    world.join("follower", follower)
    world.sync("sync", leader)
    world.leave(follower)
    world.advance(SESSION_MS)
    assert world.notes == [
        f"rebalances after generation 2: {leader} joins again, because: topics have changed",
        f"has generation 3 of 2 members, led by {leader}, with protocol range",
        f"rebalances after generation 3: {follower} leaves",
        "is empty as of generation 4",
    ]


@pytest.mark.parametrize(
    ("text", "logged"),
    [("flights", "flights"), ("a\nb\x1b[2J", "a\\nb\\x1b[2J"), ("x" * 5_000, "x" * MAX_LOGGED + "...")],
)
def test_what_clients_call_themselves_makes_one_log_line(text: str, logged: str) -> None:
    assert loggable(text) == logged


EVENTS = st.tuples(
    st.sampled_from(["join", "join with id", "rejoin", "sync", "heartbeat", "leave", "wait a little", "wait long"]),
    st.integers(0, 7),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=60), st.sampled_from([0, 3_000]))
def test_any_life_of_a_group_keeps_its_promises(events: list[tuple[str, int]], initial_delay_ms: int) -> None:
    world = World(initial_delay_ms)
    group = world.group
    generations = [0]
    asked = 0
    for number, (event, choice) in enumerate(events):
        members = list(group.members)
        member_id = members[choice % len(members)] if members else "nobody"
        if event in ("join", "join with id"):
            world.join(number, needs_id=event == "join with id")
            asked += 1
        elif event == "rejoin":
            world.join(number, member_id)
            asked += 1
        elif event == "sync":
            world.sync(number, member_id, {member_id: member_id.encode() for member_id in members})
            asked += 1
        elif event == "heartbeat":
            group.heartbeat(member_id, None, group.generation_id, world.now_ms)
        elif event == "leave":
            world.leave(member_id)
        else:
            world.advance(SESSION_MS // 3 if event == "wait a little" else NEW_MEMBER_JOIN_TIMEOUT_MS)
        waiting = [member for member in group.members.values() if member.awaiting_join or member.awaiting_sync]
        assert (
            len(world.answers)
            + sum(
                (member.awaiting_join is not None) + (member.awaiting_sync is not None)
                for member in group.members.values()
            )
            == asked
        ), "every request is answered or waits"
        assert group.generation_id >= generations[-1]
        generations.append(group.generation_id)
        assert group.state != EMPTY or not group.members
        assert group.state not in (COMPLETING_REBALANCE, STABLE) or group.members
        assert group.leader_id is None or group.leader_id in group.members
        if group.state == STABLE:
            assert not waiting
            assigned = [member.assignment for member in group.members.values() if member.assignment]
            assert len(assigned) == len(set(assigned)), "one owner for each assignment"
    # Without anyone alive a group comes to rest.
    world.advance(4 * NEW_MEMBER_JOIN_TIMEOUT_MS)
    assert group.state == EMPTY
    assert not world.timers
    assert len(world.answers) == asked
