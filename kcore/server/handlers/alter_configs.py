"""AlterConfigs (key 33): replaces all overrides of a resource. Overrides that the request omits are removed.

Clients prefer IncrementalAlterConfigs: two clients that replace all overrides undo each other's changes.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.config_operations import SET, ConfigOperation, check_operations
from kcore.server.config_alteration import alter_resources, replace_overrides, row

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Alters each resource independently."""

    def alter(resource: Any) -> None:
        check_operations(ConfigOperation(config.name, SET, config.value) for config in resource.configs)
        overrides = {config.name: config.value for config in resource.configs}
        replace_overrides(context.broker, resource, overrides, request.validate_only)

    return {"responses": alter_resources(request.resources, alter)}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every resource."""
    return {"responses": [row(resource, error) for resource in request.resources]}
