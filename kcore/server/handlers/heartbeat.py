"""Heartbeat (key 12): keeps a member's session alive and informs it of a rebalance. v3 adds static instance ids."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Passes the heartbeat to the coordinator."""
    error_code = context.broker.group_coordinator.heartbeat(
        request.group_id,
        request.member_id,
        request.generation_id,
        request.group_instance_id,
        is_connected=context.is_connected,
    )
    return {"error_code": error_code}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code}
