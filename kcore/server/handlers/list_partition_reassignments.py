"""ListPartitionReassignments (key 46): the changes of replicas that are under way (KIP-455).

A change that the replicas in sync allow is done at once (AlterPartitionReassignments), and no other is begun: none is
ever under way, and partitions that are not being changed are not named, whether they exist or not.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Nothing is under way."""
    return {"error_code": errors.NONE, "error_message": None, "topics": []}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error alone."""
    return {"error_code": error.code, "error_message": error.detail, "topics": []}
