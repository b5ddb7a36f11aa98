"""AlterPartitionReassignments (key 45): other replicas for partitions, each of which succeeds or fails by itself
(KIP-455).

A change that the replicas in sync allow is done when the answer comes; no other is begun (`reassignment.py`). None in
place of replicas ends a change that is under way, which none ever is.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Each partition for itself. As with Kafka, an answer about nothing has an empty text in place of none."""
    responses = [
        {"name": topic.name, "partitions": [reassign(context, topic.name, asked) for asked in topic.partitions]}
        for topic in request.topics
    ]
    return {"error_code": errors.NONE, "error_message": None if responses else "", "responses": responses}


def reassign(context: RequestContext, topic: str, asked: Any) -> Fields:
    """What became of one partition."""
    try:
        context.broker.controller.reassign_partition(topic, asked.partition_index, asked.replicas)
        return {"partition_index": asked.partition_index, "error_code": errors.NONE, "error_message": None}
    except errors.KafkaError as error:
        return {"partition_index": asked.partition_index, "error_code": error.code, "error_message": error.detail}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error on the whole, and on every partition."""
    fields = {"error_code": error.code, "error_message": error.detail}
    responses = [
        {
            "name": topic.name,
            "partitions": [{"partition_index": asked.partition_index, **fields} for asked in topic.partitions],
        }
        for topic in request.topics
    ]
    return {**fields, "responses": responses}
