"""Groups in the responses of ListGroups and DescribeGroups. Pure.

Members' metadata and assignments are included only for stable groups: during a rebalance they belong to different
generations. A group that has offsets and never had a member has no protocol type.
"""

from __future__ import annotations

from typing import NamedTuple

from kcore.coordinator.group.rebalancing import STABLE
from kcore.coordinator.group.state import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcore.coordinator.group.consumer.group import ConsumerGroup


CLASSIC, CONSUMER = "classic", "consumer"


class GroupListing(NamedTuple):
    """`type` is classic or consumer (KIP-848)."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class MemberDescription(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class GroupDescription(NamedTuple):
    """`protocol_name` and members' metadata and assignments are empty unless the group is stable."""

    group_id: str
    state: str
    protocol_type: str
    protocol_name: str
    members: list[MemberDescription]


def list_group(group: Group | ConsumerGroup) -> GroupListing:
    """A group in ListGroups."""
    if not isinstance(group, Group):
        return GroupListing(group.group_id, CONSUMER, group.state, CONSUMER)
    return GroupListing(group.group_id, group.protocol_type or "", group.state, CLASSIC)


def describe_group(group: Group) -> GroupDescription:
    """A classic group in DescribeGroups."""
    is_stable = group.state == STABLE
    protocol_name = (group.protocol_name or "") if is_stable else ""
    members = [
        MemberDescription(
            member.member_id,
            member.group_instance_id,
            member.profile.client_id,
            member.profile.client_host,
            member.profile.metadata_of(protocol_name) if is_stable else b"",
            member.assignment if is_stable else b"",
        )
        for member in group.members.values()
    ]
    return GroupDescription(group.group_id, group.state, group.protocol_type or "", protocol_name, members)


def listing_filter(states: Iterable[str], types: Iterable[str]) -> Callable[[GroupListing], bool]:
    """The groups in these states and of these types, in any case; empty means all (KIP-518, KIP-848)."""
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {name.strip().lower() for name in types}

    def is_wanted(listing: GroupListing) -> bool:
        in_state = not wanted_states or listing.state.lower() in wanted_states
        return in_state and (not wanted_types or listing.type in wanted_types)

    return is_wanted
