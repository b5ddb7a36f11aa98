"""DeleteRecords (key 21): a new start of partitions' logs, each of which succeeds or fails by itself (KIP-107).

Offset -1 means the high watermark; no other offset may be beyond it. Only a topic that may lose records by age or
size may lose them by request: one that is only compacted may not (POLICY_VIOLATION), nor may the brokers' own topics.
An offset below the present start changes nothing. The answer is the low watermark, the smallest start of the log among
its replicas: this broker's own, as the only one that holds it.

What is answered stays deleted: the checkpoint of start offsets is written first, so that a crash brings no record back.
Kafka writes it once a minute. The files go with the next look at retention, as in Kafka.
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
    """Moves the start of every log. The last offset counts for a partition that is listed twice."""
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
    """Error code and low watermark by partition."""
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
    """Moves the start of one partition's log; the answer is where it is now."""
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
    """The outcome for an error."""
    return error.code, INVALID_LOW_WATERMARK


def describe(index: int, error_code: int, low_watermark: int) -> Fields:
    """What became of one partition."""
    return {"partition_index": index, "low_watermark": low_watermark, "error_code": error_code}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error on every partition."""
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [describe(asked.partition_index, *failed(error)) for asked in topic.partitions],
            }
            for topic in request.topics
        ]
    }
