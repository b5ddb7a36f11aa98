"""SyncGroup (key 14): the leader hands in the assignment of a generation, everyone gets his part of it.

v3 has static instance ids; v5 names the protocol, which it must, and which must be the group's.
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
    """Gives the request to the group, which answers it."""
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.api_version >= FIRST_WITH_PROTOCOL and not names_protocol:
        return sync_failure(codes.INCONSISTENT_GROUP_PROTOCOL)
    context.broker.group_coordinator.sync(context, request)
    return None


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """A sync that failed."""
    return sync_failure(error.code)
