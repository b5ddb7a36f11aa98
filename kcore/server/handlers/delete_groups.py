"""DeleteGroups (key 42): deletes groups without members, together with their committed offsets.

A group with members is answered NON_EMPTY_GROUP, an unknown one GROUP_ID_NOT_FOUND.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore import errors
    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Deletes each group independently. A group that is named twice is deleted once."""
    coordinator = context.broker.group_coordinator
    return answer({group_id: coordinator.delete_group(group_id) for group_id in dict.fromkeys(request.groups_names)})


def answer(codes: dict[str, int]) -> Fields:
    """The response with an error code for each group."""
    return {"results": [{"group_id": group_id, "error_code": code} for group_id, code in codes.items()]}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every group."""
    return answer(dict.fromkeys(request.groups_names, error.code))
