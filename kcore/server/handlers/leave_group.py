"""LeaveGroup (key 13): members leave, and their group rebalances without waiting for their sessions to expire.

Up to v2 a request has one member. From v3 on it has a list of members, each with its own error (KIP-345). v5 adds a
reason, which is logged (KIP-800).
"""

from __future__ import annotations

from kcore.logger import INFO, get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext

FIRST_BATCHED = 3
LOG = get_logger("kcore.coordinator.group")
MAX_LOGGED = 255  # characters


def handle(context: RequestContext, request: Any) -> Fields:
    """Removes the members. Returns the error of each."""
    coordinator = context.broker.group_coordinator
    if context.api_version < FIRST_BATCHED:
        error_code, member_errors = coordinator.leave(request.group_id, [(request.member_id, None)])
        return {"error_code": error_code or member_errors[0]}
    leaving = [(member.member_id, member.group_instance_id) for member in request.members]
    error_code, member_errors = coordinator.leave(request.group_id, leaving)
    for member, member_error in zip(request.members, member_errors, strict=False):
        if member.reason and not member_error:
            LOG.limited(
                INFO,
                request.group_id[:MAX_LOGGED],
                "members left a group",
                "Member %r (instance %r) left group %r, because: %r",
                member.member_id[:MAX_LOGGED],
                member.group_instance_id,
                request.group_id[:MAX_LOGGED],
                member.reason[:MAX_LOGGED],
            )
    # If the whole request failed, member_errors is empty.
    return {
        "error_code": error_code,
        "members": [
            {"member_id": member_id, "group_instance_id": instance_id, "error_code": member_error}
            for (member_id, instance_id), member_error in zip(leaving, member_errors, strict=False)
        ],
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code}
