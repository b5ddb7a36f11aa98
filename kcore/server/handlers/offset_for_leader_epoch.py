"""OffsetForLeaderEpoch (key 23): the end offset of a leader epoch, with which a client detects divergence (KIP-320).

v2 adds the client's current leader epoch, v3 the replica id, v4 is flexible. Epoch -1 with offset -1 means that the
epoch is unknown.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

UNKNOWN_EPOCH = -1
UNKNOWN_OFFSET = -1


def handle(context: RequestContext, request: Any) -> Fields:
    """Looks up each partition independently."""
    return {
        "topics": [
            {
                "topic": topic.topic,
                "partitions": [look_up(context, topic.topic, asked) for asked in topic.partitions],
            }
            for topic in request.topics
        ]
    }


def look_up(context: RequestContext, topic: str, asked: Any) -> Fields:
    """The largest epoch up to the requested one, and the offset after its last record."""
    partition = context.broker.replica_manager.partition(topic, asked.partition)
    if partition is None:
        return failure(asked, context.broker.missing_partition_error(topic, asked.partition))
    code = partition.leadership_error(asked.current_leader_epoch)
    if code != errors.NONE:
        return failure(asked, code)
    epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return {"partition": asked.partition, "leader_epoch": epoch, "end_offset": end_offset}


def failure(asked: Any, code: int) -> Fields:
    """The response of a partition with an error."""
    return {
        "partition": asked.partition,
        "error_code": code,
        "leader_epoch": UNKNOWN_EPOCH,
        "end_offset": UNKNOWN_OFFSET,
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every partition."""
    return {
        "topics": [
            {"topic": topic.topic, "partitions": [failure(asked, error.code) for asked in topic.partitions]}
            for topic in request.topics
        ]
    }
