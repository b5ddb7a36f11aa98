"""DescribeProducers (key 61): the producer state of partitions (KIP-664).

Idempotent and transactional producers are listed until `producer.id.expiration.ms` after their last record.
"""

from __future__ import annotations

from kcore import errors
from kcore.controller.topic_name import validate_topic_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes each partition independently. An invalid or unknown topic sets its error on all of its partitions."""
    topics = []
    for topic in request.topics:
        error = topic_error(context, topic.name)
        partitions = [
            describe_partition(context, topic.name, index)
            if error is None
            else failure(index, error.code, error.detail)
            for index in topic.partition_indexes
        ]
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


def topic_error(context: RequestContext, name: str) -> errors.KafkaError | None:
    """The error of an invalid or unknown topic, or None."""
    try:
        validate_topic_name(name)
    except errors.KafkaError as error:
        return error
    if context.broker.metadata_cache.topic(name) is None:
        return errors.UnknownTopicOrPartitionError("This server does not host this topic-partition.")
    return None


def describe_partition(context: RequestContext, topic: str, index: int) -> Fields:
    """The active producers of a partition, or its error."""
    partition = context.broker.replica_manager.partition(topic, index)
    if partition is None:
        return failure(index, context.broker.missing_partition_error(topic, index))
    rows = [
        {
            "producer_id": producer["producer_id"],
            "producer_epoch": producer["producer_epoch"],
            "last_sequence": producer["last_sequence"],
            "last_timestamp": producer["last_timestamp"],
            "coordinator_epoch": producer["coordinator_epoch"],
            "current_txn_start_offset": producer["current_txn_start_offset"],
        }
        for producer in partition.log.producer_state.active_producers()
    ]
    return {"partition_index": index, "error_code": errors.NONE, "error_message": None, "active_producers": rows}


def failure(index: int, code: int, message: str | None = None) -> Fields:
    """The response of a partition with an error."""
    return {"partition_index": index, "error_code": code, "error_message": message, "active_producers": []}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every partition."""
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [failure(index, error.code, error.detail) for index in topic.partition_indexes],
            }
            for topic in request.topics
        ]
    }
