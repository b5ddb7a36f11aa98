"""IncrementalAlterConfigs (key 44): sets, deletes, appends to and subtracts from single configurations (KIP-339)."""

from __future__ import annotations

from kcore import errors
from kcore.controller.config_operations import ConfigOperation, check_operations
from kcore.server.config_alteration import alter_resources, change_overrides, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Alters each resource independently."""

    def alter(resource: Any) -> None:
        operations = [ConfigOperation(each.name, each.config_operation, each.value) for each in resource.configs]
        check_operations(operations)
        change_overrides(context.broker, resource, operations, request.validate_only)

    return {"responses": alter_resources(request.resources, alter)}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every resource."""
    return {"responses": [row(resource, error) for resource in request.resources]}
