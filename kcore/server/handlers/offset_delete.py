"""OffsetDelete (key 47): deletes committed offsets of a group (KIP-496).

A group of consumers may have members, but they must not be subscribed to the topic. Any other group must be empty. An
unknown partition is answered UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

UNKNOWN_TOPIC_OR_PARTITION = errors.UnknownTopicOrPartitionError.code


def handle(context: RequestContext, request: Any) -> Fields:
    """Deletes the offsets of existing partitions."""
    cache = context.broker.metadata_cache
    asked = {(topic.name, part.partition_index) for topic in request.topics for part in topic.partitions}
    existing = sorted(place for place in asked if cache.partition(*place) is not None)
    error_code, results = context.broker.group_coordinator.delete_offsets(request.group_id, existing)
    if error_code:
        return {"error_code": error_code, "topics": []}
    return {
        "error_code": error_code,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": part.partition_index,
                        "error_code": results.get((topic.name, part.partition_index), UNKNOWN_TOPIC_OR_PARTITION),
                    }
                    for part in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "topics": []}
