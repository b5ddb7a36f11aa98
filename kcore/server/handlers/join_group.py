"""JoinGroup (key 11): a member enters the next generation of its group. Answered when the rebalance completes.

v1 has a rebalance timeout of its own, v4 asks for a member id first (KIP-394), v5 has static instance ids, v7 names the
protocol type, v9 lets a leader skip the assignment.
"""

from __future__ import annotations

from kcore.coordinator.group.state import join_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_MEMBER_ID_REQUIRED = 4


def handle(context: RequestContext, request: Any) -> None:
    """Gives the request to the group, which answers it."""
    context.broker.group_coordinator.join(
        context,
        request,
        client_id=context.client_id or "",
        client_host=f"/{context.connection.client_host}",
        needs_member_id=context.api_version >= FIRST_WITH_MEMBER_ID_REQUIRED,
    )


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """A join that failed."""
    return join_failure(error.code, request.member_id)
