"""Members of a classic group as the group's record in `__consumer_offsets` contains them, and members restored from it.

The record has each member's metadata for the chosen protocol only. A restored member supports that protocol alone until
it joins again (Kafka's `GroupMetadataManager.readGroupMessageValue`).
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.member import Member, MemberProfile
from kcore.coordinator.group.records import MemberMetadata

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.records import GroupMetadata


def member_metadata(member: Member, protocol_name: str | None, assignment: bytes) -> MemberMetadata:
    """The member's part of the group's record."""
    profile = member.profile
    return MemberMetadata(
        member.member_id,
        member.group_instance_id,
        profile.client_id,
        profile.client_host,
        profile.rebalance_timeout_ms,
        profile.session_timeout_ms,
        profile.metadata_of(protocol_name),
        assignment,
    )


def restored(metadata: GroupMetadata) -> list[Member]:
    """The members in a group's record."""
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
    """The error code for a member that waits for its assignment when the append failed (Kafka's `storeGroup`)."""
    return MEMBER_ERRORS.get(append_error, append_error)


MEMBER_ERRORS = {
    codes.REQUEST_TIMED_OUT: codes.REBALANCE_IN_PROGRESS,
    codes.MESSAGE_TOO_LARGE: codes.UNKNOWN_SERVER_ERROR,
    codes.RECORD_LIST_TOO_LARGE: codes.UNKNOWN_SERVER_ERROR,
    codes.INVALID_FETCH_SIZE: codes.UNKNOWN_SERVER_ERROR,
}
