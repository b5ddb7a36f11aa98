"""JoinGroup and SyncGroup requests as a group's state machine sees them. `token` identifies the request."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.coordinator.group.member import MemberProfile


class JoinAttempt:
    """A JoinGroup request. `token` is answered at once or later.

    `new_member_id` is the id for a member without one. `needs_member_id`: the client gets that id first and joins again
    (KIP-394). `can_skip_assignment`: the client may be the leader without assigning (KIP-814). `reason`: the client's
    reason, for the log (KIP-800).
    """

    __slots__ = (
        "can_skip_assignment",
        "group_instance_id",
        "member_id",
        "needs_member_id",
        "new_member_id",
        "profile",
        "reason",
        "token",
    )

    def __init__(
        self,
        token: object,
        member_id: str,
        group_instance_id: str | None,
        new_member_id: str,
        profile: MemberProfile,
        needs_member_id: bool = False,
        can_skip_assignment: bool = False,
        reason: str | None = None,
    ) -> None:
        self.token = token
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.new_member_id = new_member_id
        self.profile = profile
        self.needs_member_id = needs_member_id
        self.can_skip_assignment = can_skip_assignment
        self.reason = reason


class SyncAttempt:
    """A SyncGroup request. `assignments` are the leader's, by member id."""

    __slots__ = (
        "assignments",
        "generation_id",
        "group_instance_id",
        "member_id",
        "protocol_name",
        "protocol_type",
        "token",
    )

    def __init__(
        self,
        token: object,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        assignments: Mapping[str, bytes],
        protocol_type: str | None = None,
        protocol_name: str | None = None,
    ) -> None:
        self.token = token
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.generation_id = generation_id
        self.assignments = assignments
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
