"""ListGroups (key 16): the groups that this broker coordinates.

v4 filters by state and returns it (KIP-518), v5 does so with types (KIP-848). While a partition of `__consumer_offsets`
is being loaded, nothing is listed: clients could not see that the list is incomplete.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_STATES = 4
FIRST_WITH_TYPES = 5


def handle(context: RequestContext, request: Any) -> Fields:
    """The groups with the requested states and types."""
    states = request.states_filter if context.api_version >= FIRST_WITH_STATES else ()
    types = request.types_filter if context.api_version >= FIRST_WITH_TYPES else ()
    error_code, groups = context.broker.group_coordinator.list_groups(states, types)
    return {
        "error_code": error_code,
        "groups": [
            {
                "group_id": group.group_id,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.type,
            }
            for group in groups
        ],
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "groups": []}
