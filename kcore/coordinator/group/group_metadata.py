"""What is kept of a group of the classic protocol in `__consumer_offsets`: from members, and back to members.

A member is kept with its metadata for the chosen protocol only, so one that was read back supports that protocol alone
until it joins again (Kafka's `GroupMetadataManager.readGroupMessageValue`).
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.member import Member, MemberProfile
from kcore.coordinator.group.records import GroupMetadata, MemberMetadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.coordinator.group.rebalancing import RebalancingGroup


def kept(group: RebalancingGroup, assignments: Mapping[str, bytes]) -> GroupMetadata:
    """A group with what its members, by their ids, are assigned."""
    return GroupMetadata(
        group.protocol_type or "",
        group.generation_id,
        group.protocol_name,
        group.leader_id,
        group.state_since_ms,
        [
            MemberMetadata(
                member.member_id,
                member.group_instance_id,
                member.profile.client_id,
                member.profile.client_host,
                member.profile.rebalance_timeout_ms,
                member.profile.session_timeout_ms,
                member.profile.metadata_of(group.protocol_name),
                assignments[member.member_id],
            )
            for member in group.members.values()
        ],
    )


def restored(metadata: GroupMetadata) -> list[Member]:
    """The members that were kept."""
    members = []
    for row in metadata.members:
        profile = MemberProfile(
            row.client_id,
            row.client_host,
            metadata.protocol_type,
            [(metadata.protocol_name or "", row.subscription)],
            row.session_timeout_ms,
            row.rebalance_timeout_ms,
        )
        member = Member(row.member_id, row.group_instance_id, profile)
        member.assignment = row.assignment
        member.is_new = False
        members.append(member)
    return members


def member_error(append_error: int) -> int:
    """What a failed append means to a member that waits for its assignment (Kafka's `storeGroup`)."""
    return MEMBER_ERRORS.get(append_error, append_error)


MEMBER_ERRORS = {
    codes.REQUEST_TIMED_OUT: codes.REBALANCE_IN_PROGRESS,
    codes.MESSAGE_TOO_LARGE: codes.UNKNOWN_SERVER_ERROR,
    codes.RECORD_LIST_TOO_LARGE: codes.UNKNOWN_SERVER_ERROR,
    codes.INVALID_FETCH_SIZE: codes.UNKNOWN_SERVER_ERROR,
}
