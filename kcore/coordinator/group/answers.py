"""The response fields of JoinGroup and SyncGroup, as Kafka sets them in each case."""

from __future__ import annotations

from kcore.coordinator.group import codes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcore.coordinator.group.member import Member

NO_GENERATION = -1
NO_MEMBER_ID = ""


def join_failure(error: int, member_id: str) -> dict[str, Any]:
    """A failed JoinGroup: no generation, no leader."""
    return {
        "error_code": error,
        "generation_id": NO_GENERATION,
        "protocol_type": None,
        "protocol_name": None,
        "leader": "",
        "skip_assignment": False,
        "member_id": member_id,
        "members": [],
    }


def listed(members: Iterable[Member], protocol_name: str | None) -> list[dict[str, Any]]:
    """The members in the leader's response: ids, and metadata for the chosen protocol."""
    return [
        {
            "member_id": member.member_id,
            "group_instance_id": member.group_instance_id,
            "metadata": member.profile.metadata_of(protocol_name),
        }
        for member in members
    ]


def sync_failure(error: int) -> dict[str, Any]:
    """A failed SyncGroup."""
    return {"error_code": error, "protocol_type": None, "protocol_name": None, "assignment": b""}


def sync_success(protocol_type: str | None, protocol_name: str | None, assignment: bytes) -> dict[str, Any]:
    """A successful SyncGroup: the member's assignment."""
    return {
        "error_code": codes.NONE,
        "protocol_type": protocol_type,
        "protocol_name": protocol_name,
        "assignment": assignment,
    }
