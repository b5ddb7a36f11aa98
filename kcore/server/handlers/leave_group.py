"""LeaveGroup (key 13): members go, and their group rebalances without waiting for their sessions.

Up to v2 one member leaves; from v3 on a list of them, each with its own error (KIP-345), and from v5 on with a reason,
which is for the log (KIP-800).
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
    """The outcome for each member."""
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
    # An error of the whole request comes without members.
    return {
        "error_code": error_code,
        "members": [
            {"member_id": member_id, "group_instance_id": instance_id, "error_code": member_error}
            for (member_id, instance_id), member_error in zip(leaving, member_errors, strict=False)
        ],
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """A leave that failed for everyone."""
    return {"error_code": error.code}
