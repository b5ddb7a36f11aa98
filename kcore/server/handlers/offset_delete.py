"""OffsetDelete (key 47): offsets that a group is to have committed no longer (KIP-496).

A group of consumers may have members, who must not subscribe to the topic; any other must be empty. A partition that
does not exist is answered UNKNOWN_TOPIC_OR_PARTITION.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

UNKNOWN_TOPIC_OR_PARTITION = errors.UnknownTopicOrPartitionError.code


def handle(context: RequestContext, request: Any) -> Fields:
    """Deletes what names a partition that exists."""
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
    """A request that failed."""
    return {"error_code": error.code, "topics": []}
