"""The fields of JoinGroup's and SyncGroup's responses, as Kafka gives them in each case."""

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
    """A JoinGroup that failed: no generation, no leader."""
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
    """What a leader is told of the members: ids, and their metadata for the chosen protocol."""
    return [
        {
            "member_id": member.member_id,
            "group_instance_id": member.group_instance_id,
            "metadata": member.profile.metadata_of(protocol_name),
        }
        for member in members
    ]


def sync_failure(error: int) -> dict[str, Any]:
    """A SyncGroup that failed."""
    return {"error_code": error, "protocol_type": None, "protocol_name": None, "assignment": b""}


def sync_success(protocol_type: str | None, protocol_name: str | None, assignment: bytes) -> dict[str, Any]:
    """A member's part of a generation."""
    return {
        "error_code": codes.NONE,
        "protocol_type": protocol_type,
        "protocol_name": protocol_name,
        "assignment": assignment,
    }
