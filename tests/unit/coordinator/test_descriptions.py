"""What administrators are told of groups, before and while they are stable, and which groups a list is to have."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kcore.config.broker import BrokerConfig
from kcore.coordinator.group import codes
from kcore.coordinator.group.coordinator import GroupCoordinator
from kcore.coordinator.group.descriptions import GroupListing, describe_group, list_group, listing_filter
from tests.unit.coordinator.test_group_state import World


def test_what_members_say_and_have_is_told_of_a_stable_group_only() -> None:
    world = World()
    world.join("join")
    member_id = world.answers["join"]["member_id"]
    before = describe_group(world.group)
    assert (before.state, before.protocol_type, before.protocol_name) == ("CompletingRebalance", "consumer", "")
    [member] = before.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "client", "/127.0.0.1")
    assert (member.metadata, member.assignment) == (b"", b"")
    world.sync("sync", member_id, {member_id: b"all"})
    after = describe_group(world.group)
    assert (after.state, after.protocol_name) == ("Stable", "range")
    assert [(member.metadata, member.assignment) for member in after.members] == [(b"range", b"all")]
    world.leave(member_id)
    empty = describe_group(world.group)
    assert (empty.state, empty.protocol_type, empty.protocol_name, empty.members) == ("Empty", "consumer", "", [])


def test_a_group_that_never_had_members_has_no_protocol_type() -> None:
    assert list_group(World().group) == GroupListing("flights", "", "Empty", "classic")


@pytest.mark.parametrize(
    ("states", "types", "is_listed"),
    [
        ([], [], True),
        (["stable"], [], True),
        (["EMPTY", " Stable "], [], True),
        (["Empty"], [], False),
        (["no such state"], [], False),
        ([], ["Classic"], True),
        ([], ["consumer"], False),
        ([], ["no such type"], False),
        (["Stable"], ["consumer"], False),
    ],
)
def test_filters(states: list[str], types: list[str], is_listed: bool) -> None:
    listing = GroupListing("flights", "consumer", "Stable", "classic")
    assert listing_filter(states, types)(listing) is is_listed


class NoTimers:
    def schedule(self, delay_ms: int, callback: Callable[[], None]) -> None:
        raise AssertionError("nothing is to happen later")


def test_there_is_no_list_while_a_partition_is_read_back() -> None:
    coordinator = GroupCoordinator(BrokerConfig({}), NoTimers(), lambda: 0)  # type: ignore[arg-type]
    assert coordinator.list_groups([], []) == (codes.NONE, [])
    coordinator.announce(0, 1)
    assert coordinator.list_groups([], []) == (codes.COORDINATOR_LOAD_IN_PROGRESS, [])
    assert coordinator.describe_classic("any") == (codes.COORDINATOR_LOAD_IN_PROGRESS, None, None)
    assert coordinator.delete_group("any") == codes.COORDINATOR_LOAD_IN_PROGRESS
