"""DescribeGroups (key 15): state and members of groups of the classic protocol.

v3 adds authorized operations (KIP-430), v4 the instance ids of static members (KIP-345). An unknown group has the state
Dead up to v5. From v6 on its error is GROUP_ID_NOT_FOUND with a message (KIP-1043). Groups of the consumer protocol are
treated as unknown; ConsumerGroupDescribe describes them.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.rebalancing import DEAD
from kcore.server import authorized_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.coordinator.group.descriptions import GroupDescription
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_AUTHORIZED_OPERATIONS = 3
FIRST_WITH_NOT_FOUND = 6
GROUP_ID_NOT_FOUND = errors.GroupIdNotFoundError.code


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes each group independently."""
    asked_operations = context.api_version >= FIRST_WITH_AUTHORIZED_OPERATIONS and request.include_authorized_operations
    groups = []
    for group_id in request.groups:
        fields = describe(context, group_id)
        if asked_operations and not fields["error_code"]:
            fields["authorized_operations"] = authorized_operations.GROUP
        groups.append(fields)
    return {"groups": groups}


def describe(context: RequestContext, group_id: str) -> dict[str, Any]:
    """The response of one group."""
    error_code, group, message = context.broker.group_coordinator.describe_classic(group_id)
    if group is not None:
        return describe_group(group)
    if error_code != GROUP_ID_NOT_FOUND:
        return failure(group_id, error_code)
    if context.api_version < FIRST_WITH_NOT_FOUND:
        return {**failure(group_id, errors.NONE), "group_state": DEAD}
    return {**failure(group_id, error_code), "group_state": DEAD, "error_message": message}


def describe_group(group: GroupDescription) -> dict[str, Any]:
    """The response of an existing group."""
    return {
        "error_code": errors.NONE,
        "error_message": None,
        "group_id": group.group_id,
        "group_state": group.state,
        "protocol_type": group.protocol_type,
        "protocol_data": group.protocol_name,
        "members": [
            {
                "member_id": member.member_id,
                "group_instance_id": member.group_instance_id,
                "client_id": member.client_id,
                "client_host": member.client_host,
                "member_metadata": member.metadata,
                "member_assignment": member.assignment,
            }
            for member in group.members
        ],
    }


def failure(group_id: str, code: int) -> dict[str, Any]:
    """The response of a group with an error."""
    return {"error_code": code, "group_id": group_id, "group_state": "", "protocol_type": "", "protocol_data": ""}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every group."""
    return {"groups": [failure(group_id, error.code) for group_id in request.groups]}
