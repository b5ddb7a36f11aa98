"""ListOffsets (key 2): the offset for a timestamp, for each partition.

v2 adds isolation levels, v4 leader epochs, v7 the offset of the record with the largest timestamp (KIP-734), v8 the
local log start offset (KIP-405), v9 the end of tiered storage (KIP-1005), v10 a timeout. Special timestamps are
negative; one of a later version is answered UNSUPPORTED_VERSION. Consumers can read up to the high watermark, or up to
the last stable offset with read_committed. If the record is beyond that or does not exist, the offset is -1 without an
error.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.replication.partition import Partition
    from kcore.server.request_context import Fields, RequestContext

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
FIRST_VERSION_OF_TIME = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
FIRST_WITH_LEADER_EPOCH = 4
NO_TIMESTAMP, NO_OFFSET, NO_EPOCH = -1, -1, -1
CONSUMER = -1
READ_COMMITTED = 1


def handle(context: RequestContext, request: Any) -> Fields:
    """Looks up each partition. Partitions listed more than once are refused."""
    named: set[tuple[str, int]] = set()
    duplicates: set[tuple[str, int]] = set()
    for topic in request.topics:
        for asked in topic.partitions:
            key = (topic.name, asked.partition_index)
            (duplicates if key in named else named).add(key)
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            if (topic.name, asked.partition_index) in duplicates:
                partitions.append(failure(asked, errors.InvalidRequestError.code))
            else:
                partitions.append(look_up(context, request, topic.name, asked))
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


def look_up(context: RequestContext, request: Any, topic: str, asked: Any) -> Fields:
    """The response of one partition."""
    if asked.timestamp < 0 and context.api_version < FIRST_VERSION_OF_TIME.get(
        asked.timestamp, context.api_version + 1
    ):
        return failure(asked, errors.UnsupportedVersionError.code)
    partition = context.broker.replica_manager.partition(topic, asked.partition_index)
    if partition is None:
        return failure(asked, context.broker.missing_partition_error(topic, asked.partition_index))
    code = partition.leadership_error(asked.current_leader_epoch)
    if code != errors.NONE:
        return failure(asked, code)
    offset, timestamp, epoch = find(partition, asked.timestamp, end_of_sight(partition, request))
    return {
        "partition_index": asked.partition_index,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch if context.api_version >= FIRST_WITH_LEADER_EPOCH else NO_EPOCH,
    }


def end_of_sight(partition: Partition, request: Any) -> int:
    """The end of the offsets that the client may read, exclusive."""
    if request.replica_id != CONSUMER:
        return partition.log.end_offset
    return partition.log.last_stable_offset if request.isolation_level == READ_COMMITTED else partition.high_watermark


def find(partition: Partition, time: int, end: int) -> tuple[int, int, int]:
    """The offset, timestamp and leader epoch for a timestamp, which may be a special one."""
    log = partition.log
    if time == LATEST:
        return end, NO_TIMESTAMP, log.latest_epoch
    if time in (EARLIEST, EARLIEST_LOCAL):
        return log.start_offset, NO_TIMESTAMP, log.epoch_of(log.start_offset)
    if time == LATEST_TIERED:
        return NO_OFFSET, NO_TIMESTAMP, NO_EPOCH
    found = log.offset_for_timestamp(time)
    if found is None or found[0] >= end:
        return NO_OFFSET, NO_TIMESTAMP, NO_EPOCH
    offset, timestamp = found
    return offset, timestamp, log.epoch_of(offset)


def failure(asked: Any, code: int) -> Fields:
    """The response of a partition with an error."""
    return {
        "partition_index": asked.partition_index,
        "error_code": code,
        "timestamp": NO_TIMESTAMP,
        "offset": NO_OFFSET,
        "leader_epoch": NO_EPOCH,
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every partition."""
    return {
        "topics": [
            {"name": topic.name, "partitions": [failure(asked, error.code) for asked in topic.partitions]}
            for topic in request.topics
        ]
    }
