"""SyncGroup (key 14): the leader sends the assignment of a generation, and every member receives its part.

v3 adds static instance ids. v5 adds the protocol type and name, which are mandatory and must be the group's.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.coordinator.group.answers import sync_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext


FIRST_WITH_PROTOCOL = 5


def handle(context: RequestContext, request: Any) -> Fields | None:
    """Passes the request to the group, which responds."""
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.api_version >= FIRST_WITH_PROTOCOL and not names_protocol:
        return sync_failure(codes.INCONSISTENT_GROUP_PROTOCOL)
    context.broker.group_coordinator.sync(context, request)
    return None


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return sync_failure(error.code)
