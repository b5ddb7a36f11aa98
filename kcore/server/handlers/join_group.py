"""JoinGroup (key 11): a member joins the next generation of its group. The response comes when the rebalance completes.

v1 adds a rebalance timeout (v0 uses the session timeout), v4 requires a member id first (KIP-394), v5 adds static
instance ids (KIP-345), v7 adds the protocol type and distinguishes a null protocol from an empty one, v9 lets a leader
skip the assignment (KIP-814).
"""

from __future__ import annotations

from kcore.coordinator.group.answers import NO_MEMBER_ID, join_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_REBALANCE_TIMEOUT = 1
FIRST_WITH_MEMBER_ID_REQUIRED = 4
FIRST_WITH_NO_PROTOCOL = 7
FIRST_WITH_SKIPPED_ASSIGNMENT = 9


class NamedProtocol:
    """Responds in versions in which the protocol name cannot be null."""

    __slots__ = ("_context",)

    def __init__(self, context: RequestContext) -> None:
        self._context = context

    def respond(self, fields: Mapping[str, Any]) -> None:
        """Sends an empty protocol name instead of null, as Kafka does."""
        self._context.respond({**fields, "protocol_name": fields["protocol_name"] or ""})


def handle(context: RequestContext, request: Any) -> None:
    """Passes the request to the group, which responds."""
    if context.api_version < FIRST_WITH_REBALANCE_TIMEOUT:
        request.rebalance_timeout_ms = request.session_timeout_ms
    context.broker.group_coordinator.join(
        context if context.api_version >= FIRST_WITH_NO_PROTOCOL else NamedProtocol(context),
        request,
        client_id=context.client_id or "",
        client_host=f"/{context.connection.client_host}",
        needs_member_id=context.api_version >= FIRST_WITH_MEMBER_ID_REQUIRED,
        can_skip_assignment=context.api_version >= FIRST_WITH_SKIPPED_ASSIGNMENT,
        is_connected=context.is_connected,
    )


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error. As in Kafka, the member id is empty."""
    failure = join_failure(error.code, NO_MEMBER_ID)
    return failure if context.api_version >= FIRST_WITH_NO_PROTOCOL else {**failure, "protocol_name": ""}
