"""What a group of the classic protocol answers in each of its states: one row a request, one column a state."""

from __future__ import annotations

import pytest

from kcore.coordinator.group import codes
from kcore.coordinator.group.rebalancing import COMPLETING_REBALANCE, DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from tests.unit.coordinator.group_world import World

OK, WAITS = codes.NONE, None
UNKNOWN, FENCED, OLD = codes.UNKNOWN_MEMBER_ID, codes.FENCED_INSTANCE_ID, codes.ILLEGAL_GENERATION
REBALANCE, OTHER_PROTOCOL = codes.REBALANCE_IN_PROGRESS, codes.INCONSISTENT_GROUP_PROTOCOL
GONE, NEEDS_ID = codes.COORDINATOR_NOT_AVAILABLE, codes.MEMBER_ID_REQUIRED

STATES = (EMPTY, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE, DEAD)
LEADER, FOLLOWER, STATIC = "m1", "m2", "m3"
INSTANCE = "i"

Expected = tuple[int | None, ...]


def world_in(state: str) -> World:
    """A group of a leader, a follower and a static member, in or after its third generation."""
    world = World()
    assert world.stable_with([None, None, INSTANCE]) == [LEADER, FOLLOWER, STATIC]
    if state == EMPTY:
        for member_id in (LEADER, FOLLOWER, STATIC):
            world.leave(member_id)
    elif state == PREPARING_REBALANCE:
        world.join("newcomer")
    elif state == COMPLETING_REBALANCE:
        for member_id in (LEADER, FOLLOWER, STATIC):
            world.join(("again", member_id), member_id)
    elif state == DEAD:
        world.carry_out(world.group.end(codes.NOT_COORDINATOR))
    assert world.group.state == state
    return world


def each_state(*rows: tuple[object, ...]) -> pytest.MarkDecorator:
    """Rows of arguments that end with what is expected in each of STATES."""
    cases = [
        pytest.param(state, *row[:-1], expected, id=f"{' '.join(map(str, row[:-1]))} {state}")
        for row in rows
        for state, expected in zip(STATES, row[-1], strict=True)  # type: ignore[call-overload]
    ]
    return pytest.mark.parametrize(("state", "member_id", "instance", "ahead", "expected"), cases)


@each_state(
    (FOLLOWER, None, 0, (UNKNOWN, REBALANCE, OK, OK, GONE)),
    (LEADER, None, 0, (UNKNOWN, REBALANCE, OK, OK, GONE)),
    (FOLLOWER, None, -1, (UNKNOWN, OLD, OLD, OLD, GONE)),
    (FOLLOWER, None, 1, (UNKNOWN, OLD, OLD, OLD, GONE)),
    ("stranger", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    (STATIC, INSTANCE, 0, (UNKNOWN, REBALANCE, OK, OK, GONE)),
    (STATIC, None, 0, (UNKNOWN, REBALANCE, OK, OK, GONE)),
    (STATIC, "unheard of", 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("stranger", INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
    (FOLLOWER, INSTANCE, 1, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
)
def test_heartbeat(state: str, member_id: str, instance: str | None, ahead: int, expected: int) -> None:
    world = world_in(state)
    assert world.heartbeat(member_id, world.group.generation_id + ahead, instance) == expected


@each_state(
    (FOLLOWER, None, 0, (UNKNOWN, REBALANCE, WAITS, OK, GONE)),
    (LEADER, None, 0, (UNKNOWN, REBALANCE, OK, OK, GONE)),
    (FOLLOWER, None, -1, (UNKNOWN, OLD, OLD, OLD, GONE)),
    ("stranger", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    (STATIC, INSTANCE, 0, (UNKNOWN, REBALANCE, WAITS, OK, GONE)),
    (STATIC, "unheard of", 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("stranger", INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
)
def test_sync(state: str, member_id: str, instance: str | None, ahead: int, expected: int | None) -> None:
    world = world_in(state)
    answer = world.sync("sync", member_id, instance=instance, generation=world.group.generation_id + ahead)
    assert (None if answer is None else answer["error_code"]) == expected
    if expected:
        assert answer == {"error_code": expected, "protocol_type": None, "protocol_name": None, "assignment": b""}


@each_state(
    (FOLLOWER, None, 0, (UNKNOWN, OK, REBALANCE, OK, GONE)),
    (FOLLOWER, None, -1, (UNKNOWN, OLD, OLD, OLD, GONE)),
    ("stranger", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    # Nobody's generation: a client that manages its partitions itself, or a tool.
    ("", None, -99, (OK, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("stranger", None, -99, (OK, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    (FOLLOWER, None, -99, (OK, OLD, OLD, OLD, GONE)),
    ("", INSTANCE, -99, (OK, FENCED, FENCED, FENCED, GONE)),
    (STATIC, INSTANCE, 0, (UNKNOWN, OK, REBALANCE, OK, GONE)),
    ("stranger", INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
)
def test_commit(state: str, member_id: str, instance: str | None, ahead: int, expected: int) -> None:
    world = world_in(state)
    generation = -1 if ahead == -99 else world.group.generation_id + ahead
    assert world.commit_error(member_id, generation, instance) == expected


@each_state(
    (FOLLOWER, None, 0, (UNKNOWN, OK, OK, OK, GONE)),
    (FOLLOWER, None, -1, (UNKNOWN, OLD, OLD, OLD, GONE)),
    ("", None, -99, (OK, OK, OK, OK, GONE)),
    ("stranger", None, -99, (OK, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("stranger", INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
)
def test_commit_in_a_transaction(state: str, member_id: str, instance: str | None, ahead: int, expected: int) -> None:
    world = world_in(state)
    generation = -1 if ahead == -99 else world.group.generation_id + ahead
    assert world.commit_error(member_id, generation, instance, transactional=True) == expected


@each_state(
    (FOLLOWER, None, 0, (UNKNOWN, OK, OK, OK, GONE)),
    ("stranger", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    (STATIC, INSTANCE, 0, (UNKNOWN, OK, OK, OK, GONE)),
    (STATIC, None, 0, (UNKNOWN, OK, OK, OK, GONE)),
    # An operator knows instance ids.
    ("", INSTANCE, 0, (UNKNOWN, OK, OK, OK, GONE)),
    ("", "unheard of", 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    # One member does not send another away.
    (FOLLOWER, INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
    ("stranger", INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
)
def test_leave(state: str, member_id: str, instance: str | None, ahead: int, expected: int) -> None:
    world = world_in(state)
    before = len(world.group.members)
    assert world.leave(member_id, instance) == expected
    assert len(world.group.members) == before - (expected == OK)


@each_state(
    (FOLLOWER, None, 0, (UNKNOWN, WAITS, OK, OK, GONE)),
    (LEADER, None, 0, (UNKNOWN, WAITS, OK, WAITS, GONE)),
    (STATIC, INSTANCE, 0, (UNKNOWN, WAITS, OK, OK, GONE)),
    (STATIC, "unheard of", 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("stranger", None, 0, (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, GONE)),
    ("stranger", INSTANCE, 0, (UNKNOWN, FENCED, FENCED, FENCED, GONE)),
)
def test_join_with_a_member_id(
    state: str, member_id: str, instance: str | None, ahead: int, expected: int | None
) -> None:
    world = world_in(state)
    answer = world.join("join", member_id, instance=instance)
    assert (None if answer is None else answer["error_code"]) == expected
    if expected:
        assert answer is not None
        assert (answer["member_id"], answer["generation_id"], answer["leader"]) == (member_id, -1, "")
        assert (answer["protocol_type"], answer["protocol_name"], answer["members"]) == (None, None, [])


@pytest.mark.parametrize("state", STATES)
def test_join_without_a_member_id(state: str) -> None:
    world = world_in(state)
    answer = world.join("join", needs_id=True)
    assert answer is not None
    if state == DEAD:
        assert (answer["error_code"], answer["member_id"]) == (GONE, "")
    else:
        assert (answer["error_code"], answer["member_id"]) == (NEEDS_ID, f"m{world.made}")
        assert world.group.state == state, "an id alone disturbs nobody"


@pytest.mark.parametrize("state", STATES)
def test_join_of_a_client_that_needs_no_member_id_begins_a_rebalance(state: str) -> None:
    world = world_in(state)
    generation = world.group.generation_id
    answer = world.join("join")
    if state == DEAD:
        assert answer is not None
        assert answer["error_code"] == GONE
    elif state == EMPTY:
        assert answer is not None
        assert (answer["generation_id"], answer["leader"]) == (generation + 1, answer["member_id"])
    else:
        assert answer is None
        assert world.group.state == PREPARING_REBALANCE


@pytest.mark.parametrize("state", [PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE])
@pytest.mark.parametrize(("protocols", "kind"), [("another", "consumer"), ("", "consumer"), ("range", "connect")])
def test_join_of_one_that_has_nothing_in_common_with_the_group(state: str, protocols: str, kind: str) -> None:
    world = world_in(state)
    for number, member_id in enumerate(("", FOLLOWER)):
        answer = world.join(number, member_id, protocols=protocols, kind=kind)
        assert answer is not None
        assert (answer["error_code"], answer["member_id"]) == (OTHER_PROTOCOL, member_id)
    assert world.group.state == state


@pytest.mark.parametrize(("protocols", "kind", "expected"), [("", "consumer", 23), ("x", "", 23), ("x", "any", 0)])
def test_an_empty_group_takes_any_protocol_but_none(protocols: str, kind: str, expected: int) -> None:
    answer = world_in(EMPTY).join("join", protocols=protocols, kind=kind)
    assert answer is not None
    assert answer["error_code"] == expected


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [(None, None, OK), ("consumer", "range", OK), ("connect", "range", 23), ("consumer", "sticky", 23), ("", "", 23)],
)
def test_sync_names_the_protocol_of_the_group(kind: str | None, name: str | None, expected: int) -> None:
    answer = world_in(STABLE).sync("sync", FOLLOWER, kind=kind, name=name)
    assert answer is not None
    assert answer["error_code"] == expected
    if not expected:
        assert (answer["protocol_type"], answer["protocol_name"]) == ("consumer", "range")
        assert answer["assignment"] == FOLLOWER.encode()


def test_member_id_that_was_handed_out_belongs_to_no_instance() -> None:
    world = World()
    world.join("first", needs_id=True)
    answer = world.join("second", "m1", instance=INSTANCE)
    assert answer is not None
    # Kafka's coordinator fails there, and this is what clients are told.
    assert (answer["error_code"], answer["member_id"]) == (codes.UNKNOWN_SERVER_ERROR, "")
    third = world.join("third", "m1")
    assert third is not None
    assert third["error_code"] == OK
