"""Static members (KIP-345, KIP-814): what comes back takes its place again, and the process before it is shut out."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.coordinator.group import codes
from kcore.coordinator.group.rebalancing import COMPLETING_REBALANCE, PREPARING_REBALANCE, STABLE
from tests.unit.coordinator.group_world import REBALANCE_MS, SESSION_MS, World

OK, FENCED, UNKNOWN = codes.NONE, codes.FENCED_INSTANCE_ID, codes.UNKNOWN_MEMBER_ID


def pair() -> tuple[World, str, str]:
    """A stable group of the static members i, which leads, and j."""
    world = World()
    leader, follower = world.stable_with(["i", "j"])
    return world, leader, follower


@pytest.mark.parametrize("can_skip", [False, True])
def test_follower_that_comes_back_goes_on_in_its_generation(can_skip: bool) -> None:
    world, leader, follower = pair()
    generation = world.group.generation_id
    answer = world.join("back", instance="j", can_skip=can_skip, host="/10.0.0.7")
    assert answer is not None
    new = answer["member_id"]
    assert new != follower
    assert (answer["error_code"], answer["generation_id"], answer["leader"]) == (OK, generation, leader)
    assert (answer["members"], answer["skip_assignment"]) == ([], False)
    assert world.group.state == STABLE
    synced = world.sync("sync", new, instance="j")
    assert synced is not None
    assert synced["assignment"] == follower.encode()
    assert world.heartbeat(leader, instance="i") == OK
    assert world.group.members[new].profile.client_host == "/10.0.0.7"


@pytest.mark.parametrize(
    ("can_skip", "members", "leads"), [(False, 0, False), (True, 2, True)], ids=["before v9", "since v9"]
)
def test_leader_that_comes_back_is_not_to_assign(can_skip: bool, members: int, leads: bool) -> None:
    world, leader, follower = pair()
    answer = world.join("back", instance="i", can_skip=can_skip)
    assert answer is not None
    new = answer["member_id"]
    assert (answer["leader"] == new, answer["skip_assignment"], len(answer["members"])) == (leads, leads, members)
    assert leads or answer["leader"] == leader, "a client that knows no better must not take itself for the leader"
    assert world.group.leader_id == new
    assert world.heartbeat(follower, instance="j") == OK
    # It still is the one whose JoinGroup makes everyone join.
    assert world.join("again", new, instance="i") is None


def test_member_id_of_before_is_fenced_everywhere() -> None:
    world, leader, _ = pair()
    world.join("back", instance="i")
    old = leader
    assert world.heartbeat(old, instance="i") == FENCED
    assert world.commit_error(old, instance="i") == FENCED
    assert world.leave(old, "i") == FENCED
    assert world.sync("sync", old, instance="i")["error_code"] == FENCED  # type: ignore[index]
    answer = world.join("join", old, instance="i")
    assert answer is not None
    assert (answer["error_code"], answer["member_id"]) == (FENCED, old)
    # Without the instance id it is nobody.
    assert world.heartbeat(old) == UNKNOWN
    assert world.leave(old) == UNKNOWN


def test_join_that_waits_is_fenced_by_the_next_process() -> None:
    world, leader, follower = pair()
    assert world.join("first", follower, instance="j", protocols="range,other") is None
    assert world.join("second", instance="j") is None
    assert world.answers["first"]["error_code"] == FENCED
    assert world.answers["first"]["member_id"] == follower
    world.join("leader", leader, instance="i")
    assert world.answers["second"]["error_code"] == OK
    assert [row["group_instance_id"] for row in world.answers["leader"]["members"]] == ["i", "j"]


def test_sync_that_waits_is_fenced_and_the_group_rebalances() -> None:
    world, leader, follower = pair()
    world.join("leader", leader, instance="i")
    world.join("follower", follower, instance="j")
    assert world.group.state == COMPLETING_REBALANCE
    assert world.sync("waits", follower, instance="j") is None
    assert world.join("second", instance="j") is None
    assert world.answers["waits"]["error_code"] == FENCED
    assert world.group.state == PREPARING_REBALANCE
    assert world.heartbeat(leader, instance="i") == codes.REBALANCE_IN_PROGRESS


def test_member_that_would_change_the_protocol_makes_everyone_join() -> None:
    world = World()
    world.stable_with(["i"], protocols="range,sticky")
    answer = world.join("back", instance="i", protocols="sticky,range")
    assert answer is not None
    assert (answer["generation_id"], answer["protocol_name"], answer["skip_assignment"]) == (2, "sticky", False)


def test_member_that_would_not_change_the_protocol_disturbs_nobody() -> None:
    world, _, _ = pair()
    world.join("back", instance="j", protocols="range,other")
    assert world.group.state == STABLE


def test_replacement_is_kept_before_it_is_told() -> None:
    world, leader, follower = pair()
    world.join("back", instance="j")
    kept = world.kept[-1]
    new = world.answers["back"]["member_id"]
    assert {row.member_id: row.assignment for row in kept.members} == {
        leader: leader.encode(),
        new: follower.encode(),
    }
    world.restart()
    assert world.heartbeat(follower, instance="j") == FENCED
    assert world.heartbeat(new, instance="j") == OK


@pytest.mark.parametrize("instance", ["i", "j"])
def test_replacement_that_could_not_be_kept_has_not_happened(instance: str) -> None:
    world, leader, follower = pair()
    old = leader if instance == "i" else follower
    generation = world.group.generation_id
    world.append_error = codes.COORDINATOR_NOT_AVAILABLE
    answer = world.join("back", instance=instance, can_skip=True, protocols="range,other")
    assert answer is not None
    assert (answer["error_code"], answer["member_id"]) == (codes.COORDINATOR_NOT_AVAILABLE, "")
    assert (answer["leader"], answer["members"], answer["skip_assignment"]) == (leader, [], False)
    assert world.heartbeat(old, generation, instance) == OK
    assert world.group.leader_id == leader
    assert world.group.members[old].profile.protocol_names() == {"range"}
    assert {name for name in world.timers if name[0] == "session"} == {("session", leader), ("session", follower)}
    world.append_error = 0
    assert world.join("again", instance=instance)["error_code"] == OK  # type: ignore[index]


def test_member_that_is_away_keeps_its_place_over_a_rebalance() -> None:
    world = World()
    dynamic, static = world.stable_with([None, "i"], session_ms=10 * REBALANCE_MS)
    world.join("again", dynamic, session_ms=10 * REBALANCE_MS)
    world.advance(REBALANCE_MS)
    answer = world.answers["again"]
    assert [row["member_id"] for row in answer["members"]] == [dynamic, static]
    world.sync("sync", dynamic, {dynamic: b"1", static: b"2"})
    # It comes back in time for its part.
    back = world.join("back", instance="i", session_ms=10 * REBALANCE_MS)
    assert back is not None
    synced = world.sync("its sync", back["member_id"], instance="i")
    assert synced is not None
    assert synced["assignment"] == b"2"
    world.advance(REBALANCE_MS + 1)
    assert world.group.state == STABLE, "it owes no SyncGroup any more, under either id"


def test_member_that_came_back_owes_the_sync_of_the_one_before() -> None:
    world = World()
    dynamic, static = world.stable_with([None, "i"], session_ms=10 * REBALANCE_MS)
    world.join("again", dynamic, session_ms=10 * REBALANCE_MS)
    world.advance(REBALANCE_MS)
    world.sync("sync", dynamic, {dynamic: b"1", static: b"2"})
    back = world.join("back", instance="i", session_ms=10 * REBALANCE_MS)
    assert back is not None
    world.advance(REBALANCE_MS)
    assert back["member_id"] not in world.group.members
    assert world.group.state == PREPARING_REBALANCE


def test_member_that_never_asks_for_its_part_is_out() -> None:
    world = World()
    dynamic, static = world.stable_with([None, "i"], session_ms=10 * REBALANCE_MS)
    world.join("again", dynamic, session_ms=10 * REBALANCE_MS)
    world.advance(REBALANCE_MS)
    world.sync("sync", dynamic, {dynamic: b"1", static: b"2"})
    world.advance(REBALANCE_MS)
    assert list(world.group.members) == [dynamic]
    assert world.group.state == PREPARING_REBALANCE


def test_leader_that_is_away_leads_no_more() -> None:
    world = World()
    leader, follower = world.stable_with(["i", "j"], session_ms=10 * REBALANCE_MS)
    world.join("changed", follower, instance="j", protocols="range,other", session_ms=10 * REBALANCE_MS)
    world.advance(REBALANCE_MS)
    answer = world.answers["changed"]
    assert answer["leader"] == follower
    assert {row["member_id"] for row in answer["members"]} == {leader, follower}


def test_group_whose_members_are_all_away_waits_for_them() -> None:
    world = World()
    leader, follower = world.stable_with(["i", "j"], session_ms=10 * REBALANCE_MS)
    generation = world.group.generation_id
    world.join("newcomer")
    newcomer = next(member_id for member_id in world.group.members if member_id not in (leader, follower))
    world.leave(newcomer)
    for _ in range(3):
        world.advance(REBALANCE_MS)
        assert (world.group.state, world.group.generation_id) == (PREPARING_REBALANCE, generation)
    world.join("back", instance="j", session_ms=10 * REBALANCE_MS)
    world.advance(REBALANCE_MS)
    assert world.answers["back"]["generation_id"] == generation + 1
    # The other is given up with its session.
    world.advance(10 * REBALANCE_MS)
    assert leader not in world.group.members


def test_group_that_allows_no_time_does_not_spin_while_everyone_is_away() -> None:
    world = World()
    leader, follower = world.stable_with(["i", "j"])
    for member_id in (leader, follower):
        world.group.members[member_id].profile.rebalance_timeout_ms = 0
    world.join("newcomer", instance="k", rebalance_ms=0)
    newcomer = next(member_id for member_id in world.group.members if member_id not in (leader, follower))
    world.leave(newcomer)
    world.now_ms = world.timers["rebalance",]
    world.carry_out(world.group.on_timer(("rebalance",), world.now_ms))
    assert world.timers["rebalance",] > world.now_ms


def test_member_goes_with_its_session_like_any_other() -> None:
    world, leader, follower = pair()
    world.advance(SESSION_MS - 1)
    world.heartbeat(leader, instance="i")
    world.advance(1)
    assert follower not in world.group.members
    answer = world.join("back", instance="j")
    assert answer is None, "its place is gone: a new member, and a rebalance"
    assert world.group.members.id_of_instance("j") is not None


def test_member_that_joins_again_with_its_id_stays_what_it_is() -> None:
    world, leader, follower = pair()
    answer = world.join("with its instance id", follower, instance="j")
    assert answer is not None
    assert answer["generation_id"] == world.group.generation_id
    assert world.join("without", follower, protocols="range,other") is None
    world.join("leader", leader, instance="i")
    assert [row["group_instance_id"] for row in world.answers["leader"]["members"]] == ["i", "j"]


def test_appends_fail_as_waiting_members_understand_it() -> None:
    world, _, _ = pair()
    world.append_error = errors.RecordListTooLargeError.code
    answer = world.join("back", instance="j")
    assert answer is not None
    assert answer["error_code"] == codes.UNKNOWN_SERVER_ERROR
