"""ListPartitionReassignments (key 46): the reassignments in progress, of which there are never any (KIP-455).

AlterPartitionReassignments completes a change at once or refuses it. As in Kafka, partitions without a reassignment in
progress are omitted, whether they exist or not.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """An empty list."""
    return {"error_code": errors.NONE, "error_message": None, "topics": []}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "error_message": error.detail, "topics": []}
