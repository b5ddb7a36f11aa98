"""ConsumerGroupDescribe (key 69): state, members and assignments of consumer groups (KIP-848).

v1 adds whether a member uses the classic protocol (KIP-1099).
"""

from __future__ import annotations

from kcore import errors
from kcore.server.authorized_operations import GROUP
from kcore.server.consumer_protocol import is_served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes every requested group."""
    if not is_served(context.broker):
        return error_response(context, request, errors.UnsupportedVersionError())
    coordinator = context.broker.group_coordinator
    groups = [dict(coordinator.describe_consumer(group_id)) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            if not group.get("error_code"):
                group["authorized_operations"] = GROUP
    return {"groups": groups}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every group."""
    return {"groups": [{"group_id": group_id, "error_code": error.code} for group_id in request.group_ids]}
