"""OffsetCommit (key 8): commits offsets of a group, which are written to `__consumer_offsets` before the response.

v2 to v4 have a retention time, v6 adds leader epochs, v7 static members, v9 the member epoch of a consumer group
instead of a generation (KIP-848). The offset of an unknown partition is answered UNKNOWN_TOPIC_OR_PARTITION and not
written.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.committer import Committer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_MEMBER_EPOCH = 9
UNKNOWN_TOPIC_OR_PARTITION = errors.UnknownTopicOrPartitionError.code


def handle(context: RequestContext, request: Any) -> Fields:
    """Commits the offsets of existing partitions."""
    topics = context.broker.metadata_cache.image.topics
    commits = {}
    results = {}
    for topic in request.topics:
        name = topic.name
        known = topics.get(name)
        count = 0 if known is None else len(known.partitions)
        for partition in topic.partitions:
            index = partition.partition_index
            if 0 <= index < count:
                commits[name, index] = (
                    partition.committed_offset,
                    partition.committed_leader_epoch,
                    partition.committed_metadata,
                )
            else:
                results[name, index] = UNKNOWN_TOPIC_OR_PARTITION
    if commits:
        committer = Committer(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            knows_epochs=context.api_version >= FIRST_WITH_MEMBER_EPOCH,
            is_connected=context.is_connected,
        )
        coordinator = context.broker.group_coordinator
        results |= coordinator.commit(request.group_id, committer, commits, request.retention_time_ms)
    return answer(request, results)


def answer(request: Any, results: dict[tuple[str, int], int]) -> Fields:
    """The response with an error code for each partition, in the order of the request."""
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": partition.partition_index,
                        "error_code": results[topic.name, partition.partition_index],
                    }
                    for partition in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every partition."""
    places = {(topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions}
    return answer(request, dict.fromkeys(places, error.code))
