"""DeleteRecords (key 21): moves the start of logs. Each partition succeeds or fails independently (KIP-107).

Offset -1 means the high watermark. A larger offset than the high watermark is refused. Records can only be deleted if
the topic's cleanup policy includes `delete`: a topic that is only compacted is refused (POLICY_VIOLATION), and so are
internal topics. An offset below the log start offset changes nothing. The response has the low watermark, which is the
smallest log start offset of all replicas; here it is this broker's own, since there is only one replica.

Deleted records stay deleted: the checkpoint of start offsets is written before the response, so a crash restores no
record. Kafka writes it once a minute. Files are deleted by the next retention check, as in Kafka.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import INTERNAL_TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

HIGH_WATERMARK = -1
INVALID_LOW_WATERMARK = -1
DELETE = "delete"


def handle(context: RequestContext, request: Any) -> Fields:
    """Moves the start of every log. For a partition that is listed twice, the last offset applies."""
    logs = context.broker.log_manager
    asked_for: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = asked_for.setdefault(topic.name, {})
        offsets.update((asked.partition_index, asked.offset) for asked in topic.partitions)
    outcomes = {name: delete_from_topic(context, name, offsets) for name, offsets in asked_for.items()}
    moved = [(name, index) for name, found in outcomes.items() for index, (code, _) in found.items() if not code]
    undone = logs.save_start_offsets(moved)
    for name, index in moved:
        if (name, index) in undone or logs.is_offline(name, index):
            outcomes[name][index] = failed(errors.KafkaStorageError())
    return {
        "topics": [
            {"name": name, "partitions": [describe(index, *outcome) for index, outcome in found.items()]}
            for name, found in outcomes.items()
        ]
    }


def delete_from_topic(context: RequestContext, topic: str, offsets: dict[int, int]) -> dict[int, tuple[int, int]]:
    """The error code and low watermark of each partition."""
    policies = context.broker.controller.topic_config(topic)["cleanup.policy"]
    assert isinstance(policies, tuple)
    outcomes = {}
    for index, offset in offsets.items():
        try:
            outcomes[index] = (errors.NONE, delete_records(context, topic, index, offset, DELETE in policies))
        except errors.KafkaError as error:
            outcomes[index] = failed(error)
    return outcomes


def delete_records(context: RequestContext, topic: str, index: int, offset: int, is_allowed: bool) -> int:
    """Moves the start of one partition's log. Returns the new start offset. Raises KafkaError."""
    broker = context.broker
    if broker.metadata_cache.partition(topic, index) is None:
        raise errors.UnknownTopicOrPartitionError()
    if topic in INTERNAL_TOPICS:
        raise errors.InvalidTopicError(f"Cannot delete records of internal topic {topic}")
    partition = broker.replica_manager.partition(topic, index)
    if partition is None:
        raise errors.by_code(broker.missing_partition_error(topic, index))
    code = partition.leadership_error()
    if code:
        raise errors.by_code(code)
    if not is_allowed:
        raise errors.PolicyViolationError(
            f"Records of partition {topic}-{index} can not be deleted due to the configured policy"
        )
    target = partition.high_watermark if offset == HIGH_WATERMARK else offset
    if target < 0:
        raise errors.OffsetOutOfRangeError(f"The offset {target} for partition {topic}-{index} is not valid")
    partition.log.increment_start_offset(target)
    return partition.log.start_offset


def failed(error: errors.KafkaError) -> tuple[int, int]:
    """The error code and low watermark of a failed partition."""
    return error.code, INVALID_LOW_WATERMARK


def describe(index: int, error_code: int, low_watermark: int) -> Fields:
    """The response of one partition."""
    return {"partition_index": index, "low_watermark": low_watermark, "error_code": error_code}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every partition."""
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [describe(asked.partition_index, *failed(error)) for asked in topic.partitions],
            }
            for topic in request.topics
        ]
    }
