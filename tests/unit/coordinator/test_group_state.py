"""The state machine of a group of the classic protocol, driven by events and a clock of its own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.coordinator.group import codes
from kcore.coordinator.group.effects import Persist, Reply, StartTimer, StopTimer
from kcore.coordinator.group.member import MemberProfile
from kcore.coordinator.group.rebalancing import (
    COMPLETING_REBALANCE,
    EMPTY,
    NEW_MEMBER_JOIN_TIMEOUT_MS,
    PREPARING_REBALANCE,
    STABLE,
)
from kcore.coordinator.group.state import Group, JoinAttempt, SyncAttempt

SESSION_MS = 10_000
REBALANCE_MS = 60_000


class World:
    """Runs a group as a coordinator would: keeps answers by token and timers by name on a virtual clock."""

    def __init__(self, initial_delay_ms: int = 0, max_size: int = 100) -> None:
        self.group = Group("flights", initial_delay_ms, max_size)
        self.now_ms = 1_000
        self.answers: dict[object, dict] = {}
        self.timers: dict[tuple[str, ...], int] = {}
        self.made = 0

    def carry_out(self, effects: list) -> None:
        for effect in effects:
            if isinstance(effect, Reply):
                assert effect.token not in self.answers, "a request was answered twice"
                self.answers[effect.token] = effect.fields
            elif isinstance(effect, Persist):
                self.carry_out(self.group.on_persisted(effect.event, 0, self.now_ms))
            elif isinstance(effect, StartTimer):
                self.timers[effect.name] = self.now_ms + effect.delay_ms
            else:
                assert isinstance(effect, StopTimer)
                self.timers.pop(effect.name, None)

    def join(self, token: object, member_id: str = "", protocols: str = "range", needs_id: bool = False) -> None:
        self.made += 1
        supported = [(name, name.encode()) for name in protocols.split(",") if name]
        profile = MemberProfile("client", "/127.0.0.1", "consumer", supported, SESSION_MS, REBALANCE_MS)
        attempt = JoinAttempt(token, member_id, None, f"m{self.made}", profile, needs_id)
        self.carry_out(self.group.join(attempt, self.now_ms))

    def sync(self, token: object, member_id: str, assignments: dict[str, bytes] | None = None) -> None:
        attempt = SyncAttempt(token, member_id, None, self.group.generation_id, assignments or {})
        self.carry_out(self.group.sync(attempt, self.now_ms))

    def leave(self, member_id: str) -> int:
        error, effects = self.group.leave(member_id, None, self.now_ms)
        self.carry_out(effects)
        return error

    def advance(self, milliseconds: int) -> None:
        """Lets time pass, ringing timers in order."""
        end = self.now_ms + milliseconds
        while True:
            due = [(at, name) for name, at in self.timers.items() if at <= end]
            if not due:
                break
            self.now_ms, name = min(due)
            del self.timers[name]
            self.carry_out(self.group.on_timer(name, self.now_ms))
        self.now_ms = end

    def stable(self, count: int) -> list[str]:
        """Brings `count` members to a stable group and answers their ids, the leader's first."""
        for number in range(count):
            self.join(("join", number))
            if number == 0:
                members = [self.answers["join", 0]["member_id"]]
        # The first rebalance had one member; those who came later made it rejoin.
        members = list(self.group.members)
        for member_id in members:
            if self.group.members[member_id].awaiting_join is None:
                self.join(("rejoin", member_id), member_id)
        assignments = {member_id: member_id.encode() for member_id in members}
        for member_id in members:
            self.sync(("sync", member_id), member_id, assignments)
        assert self.group.state == STABLE
        return members


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
