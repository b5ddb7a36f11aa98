"""Who may commit to a consumer group and read its offsets, what may go of it, and how it is described."""

from __future__ import annotations

import pytest

from kcore.coordinator.group import codes
from kcore.coordinator.group.committer import Committer
from kcore.coordinator.group.consumer.commits import commit_errors
from kcore.coordinator.group.consumer.description import describe
from kcore.coordinator.group.offsets import CommittedOffset
from tests.unit.coordinator.consumer.world import World, topic_id

PLACES = [("foo", 0), ("foo", 2)]
KEPT = [("foo", 0), ("foo", 1)]


@pytest.fixture
def world() -> World:
    """`a` had all three partitions since epoch 2, and two of them, 0 and 1, in epoch 3 too; `b` has the other."""
    world = World({"foo": 3})
    world.join("a", "foo")
    world.join("b", "foo")
    world.settle("a", "b")
    assert (world.have["a"], world.epochs["a"]) == ({"foo": [0, 1]}, 3)
    return world


def errors_of(
    world: World,
    member: str,
    epoch: int,
    places: list[tuple[str, int]] = PLACES,
    *,
    knows: bool = True,
    transactional: bool = False,
) -> list[int]:
    committer = Committer(member, None, epoch, knows, transactional)
    errors = commit_errors(world.group, committer, places, world.image)
    return [errors.get(place, codes.NONE) for place in places]


def test_a_member_commits_in_its_epoch(world: World) -> None:
    assert errors_of(world, "a", 3) == [codes.NONE, codes.NONE]
    assert errors_of(world, "a", 4) == [codes.STALE_MEMBER_EPOCH] * 2
    assert errors_of(world, "nobody", 3) == [codes.UNKNOWN_MEMBER_ID] * 2
    assert errors_of(world, "a", 3, knows=False) == [codes.UNSUPPORTED_VERSION] * 2


def test_an_earlier_epoch_counts_for_what_the_member_has_had_since(world: World) -> None:
    """KIP-1251: the commit was on its way when the epoch moved on. What was given up is not the member's any more."""
    assert errors_of(world, "a", 2, KEPT) == [codes.NONE, codes.NONE]
    assert errors_of(world, "a", 2, [*KEPT, ("gone", 0)]) == [codes.STALE_MEMBER_EPOCH] * 3
    assert errors_of(world, "a", 2) == [codes.STALE_MEMBER_EPOCH] * 2
    assert errors_of(world, "a", 1, KEPT) == [codes.STALE_MEMBER_EPOCH] * 2
    assert errors_of(world, "b", 2) == [codes.STALE_MEMBER_EPOCH] * 2


def test_nobody_in_particular_commits_only_while_nobody_is_there(world: World) -> None:
    assert errors_of(world, "", -1) == [codes.UNKNOWN_MEMBER_ID] * 2
    assert errors_of(world, "", -1, transactional=True) == [codes.NONE, codes.NONE]
    assert errors_of(World({"foo": 3}), "", -1) == [codes.NONE, codes.NONE]


def test_who_is_named_must_be_in_its_epoch_to_read_offsets(world: World) -> None:
    assert world.group.offset_fetch_error(None, -1) == codes.NONE
    assert world.group.offset_fetch_error("a", 3) == codes.NONE
    assert world.group.offset_fetch_error("a", 2) == codes.STALE_MEMBER_EPOCH
    assert world.group.offset_fetch_error("nobody", 3) == codes.UNKNOWN_MEMBER_ID


def test_offsets_of_a_subscribed_topic_do_not_expire(world: World) -> None:
    committed = CommittedOffset(5, -1, "", 1_000)
    late_ms = 1_000 + 60_000
    assert not world.group.offset_expiry().has_expired("foo", committed, late_ms, 60_000)
    assert world.group.offset_expiry().has_expired("other", committed, late_ms, 60_000)
    assert not world.group.offset_expiry().has_expired("other", committed, late_ms - 1, 60_000)
    for member in ("a", "b"):
        world.beat(member, -1)
    assert world.group.offset_expiry().has_expired("foo", committed, late_ms, 60_000)


def test_a_group_with_members_is_not_deleted(world: World) -> None:
    assert world.group.delete_error() == codes.NON_EMPTY_GROUP
    assert not world.group.is_idle
    for member in ("a", "b"):
        world.beat(member, -1)
    assert world.group.delete_error() == codes.NONE
    assert world.group.is_idle


def test_a_description_has_what_members_still_hold(world: World) -> None:
    """What has to be given up is described as the member's, as by Apache Kafka 4.3."""
    world.join("c", "foo")
    world.beat("a")
    described = describe(world.group, "uniform", world.image)
    assert (described["group_state"], described["group_epoch"], described["assignor_name"]) == (
        "Reconciling",
        4,
        "uniform",
    )
    (member,) = (member for member in described["members"] if member["member_id"] == "a")
    row = {"topic_id": topic_id("foo"), "topic_name": "foo"}
    assert member["assignment"]["topic_partitions"] == [{**row, "partitions": [0, 1]}]
    assert member["target_assignment"]["topic_partitions"] == [{**row, "partitions": [0]}]
    assert (member["member_epoch"], member["member_type"]) == (3, 1)
