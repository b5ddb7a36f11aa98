"""ConsumerGroupHeartbeat (key 68): a member of a consumer group joins, stays, changes or leaves (KIP-848).

v1 has subscriptions by pattern, and members that make their own ids.
"""

from __future__ import annotations

from kcore import errors
from kcore.server.consumer_protocol import is_served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """What the group answers, where consumer groups are served."""
    broker = context.broker
    if not is_served(broker):
        return {"error_code": errors.UnsupportedVersionError.code}
    return broker.group_coordinator.consumer_heartbeat(
        request,
        context.api_version,
        client_id=context.client_id or "",
        client_host=f"/{context.connection.client_host}",
        is_connected=context.is_connected,
    )


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """A heartbeat that failed."""
    return {"error_code": error.code, "error_message": str(error)}
