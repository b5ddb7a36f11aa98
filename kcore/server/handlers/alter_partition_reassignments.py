"""AlterPartitionReassignments (key 45): changes the replicas of partitions, each independently (KIP-455).

A change that the in-sync replicas allow is complete before the response. Other changes are refused (`reassignment.py`).
None as replicas cancels a reassignment in progress, which never exists.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Reassigns each partition independently. As in Kafka, an empty response has an empty error message, not null."""
    responses = [
        {"name": topic.name, "partitions": [reassign(context, topic.name, asked) for asked in topic.partitions]}
        for topic in request.topics
    ]
    return {"error_code": errors.NONE, "error_message": None if responses else "", "responses": responses}


def reassign(context: RequestContext, topic: str, asked: Any) -> Fields:
    """Reassigns one partition. Returns its response."""
    try:
        context.broker.controller.reassign_partition(topic, asked.partition_index, asked.replicas)
        return {"partition_index": asked.partition_index, "error_code": errors.NONE, "error_message": None}
    except errors.KafkaError as error:
        return {"partition_index": asked.partition_index, "error_code": error.code, "error_message": error.detail}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on the response and on every partition."""
    fields = {"error_code": error.code, "error_message": error.detail}
    responses = [
        {
            "name": topic.name,
            "partitions": [{"partition_index": asked.partition_index, **fields} for asked in topic.partitions],
        }
        for topic in request.topics
    ]
    return {**fields, "responses": responses}
