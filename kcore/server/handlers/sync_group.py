"""SyncGroup (key 14): the leader hands in the assignment of a generation, everyone gets his part of it.

v3 has static instance ids; v5 names the protocol, which must be the group's.
"""

from __future__ import annotations

from kcore.coordinator.group.state import sync_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> None:
    """Gives the request to the group, which answers it."""
    context.broker.group_coordinator.sync(context, request)


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """A sync that failed."""
    return sync_failure(error.code)
