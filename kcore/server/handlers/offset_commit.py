"""OffsetCommit (key 8): a group's positions, written to `__consumer_offsets` before they are acknowledged.

v6 has leader epochs; a retention time (v2-4) and a commit timestamp (v1) are read and not used, since offsets expire by
the group's life (KIP-211). A partition that does not exist is answered UNKNOWN_TOPIC_OR_PARTITION and not written.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_LEADER_EPOCH = 6
FIRST_WITH_GENERATION = 1
UNKNOWN_TOPIC_OR_PARTITION = errors.UnknownTopicOrPartitionError.code


def handle(context: RequestContext, request: Any) -> Fields:
    """Commits what names a partition that exists."""
    cache = context.broker.metadata_cache
    offsets = {}
    results = {}
    for topic in request.topics:
        for partition in topic.partitions:
            place = (topic.name, partition.partition_index)
            if cache.partition(*place) is None:
                results[place] = UNKNOWN_TOPIC_OR_PARTITION
            else:
                epoch = partition.committed_leader_epoch if context.api_version >= FIRST_WITH_LEADER_EPOCH else -1
                offsets[place] = (partition.committed_offset, epoch, partition.committed_metadata)
    in_group = context.api_version >= FIRST_WITH_GENERATION
    results |= context.broker.group_coordinator.commit(
        request.group_id,
        request.member_id if in_group else "",
        request.generation_id_or_member_epoch if in_group else -1,
        offsets,
    )
    return answer(request, results)


def answer(request: Any, results: dict[tuple[str, int], int]) -> Fields:
    """A wire code for each partition of the request, in its order."""
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
    """The error on every partition."""
    places = {(topic.name, partition.partition_index) for topic in request.topics for partition in topic.partitions}
    return answer(request, dict.fromkeys(places, error.code))
