"""DescribeTopicPartitions (key 75): topics and their partitions, one page at a time (KIP-966).

Topics are sorted by name and start at the cursor. An empty list of topics means all. A page has at most as many
partitions as the request's limit and `max.request.partition.size.limit` allow. If there are more, `next_cursor` has the
next partition. The topic or partition of a cursor may have been deleted meanwhile. An unknown topic has an error if the
request names it, and does not count towards the limit. This broker keeps no eligible leader replicas (ELR).
"""

from __future__ import annotations

from kcore import errors, uuid
from kcore.metadata.image import INTERNAL_TOPICS
from kcore.server import authorized_operations
from kcore.server.handlers.metadata import describe_partition, missing_topic_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.metadata.image import MetadataImage, TopicImage
    from kcore.server.request_context import Fields, RequestContext


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes one page."""
    image = context.broker.metadata_cache.image
    names = wanted_names(request, image)
    limit = context.broker.config.number("max.request.partition.size.limit")
    room = max(min(limit, request.response_partition_limit), 1)
    cursor = request.cursor
    topics: list[Fields] = []
    for name in names:
        if room == 0:
            return page(topics, name, 0)
        topic = image.topics.get(name)
        if topic is None:
            if request.topics:
                topics.append(failure(name, missing_topic_error(name), authorized_operations.TOPIC))
            continue
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        end = min(first + room, len(topic.partitions))
        topics.append(describe_topic(context, image, topic, range(first, end)))
        if end < len(topic.partitions):
            return page(topics, name, end)
        room -= max(end - first, 0)
    return {"topics": topics}


def wanted_names(request: Any, image: MetadataImage) -> list[str]:
    """The topic names from the cursor on, unique and sorted. Raises InvalidRequestError for an invalid cursor."""
    cursor = request.cursor
    start = "" if cursor is None else cursor.topic_name
    asked = [topic.name for topic in request.topics] if request.topics else image.topics
    names = sorted({name for name in asked if name >= start})
    if cursor is not None:
        if request.topics and start not in names:
            raise errors.InvalidRequestError(
                f"DescribeTopicPartitionsRequest topic list should contain the cursor topic: {start}"
            )
        if cursor.partition_index < 0:
            raise errors.InvalidRequestError(
                "DescribeTopicPartitionsRequest cursor partition must be valid: "
                f"Cursor(topicName='{start}', partitionIndex={cursor.partition_index})"
            )
    return names


def page(topics: list[Fields], name: str, partition: int) -> Fields:
    """A page with a cursor for the next one."""
    return {"topics": topics, "next_cursor": {"topic_name": name, "partition_index": partition}}


def describe_topic(context: RequestContext, image: MetadataImage, topic: TopicImage, partitions: range) -> Fields:
    """A topic with some of its partitions. A partition without a reachable leader has leader -1 and no error."""
    described = [describe_partition(context, image, topic.partitions[index]) for index in partitions]
    return {
        "error_code": errors.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partitions": [
            {**fields, "error_code": errors.NONE, "eligible_leader_replicas": [], "last_known_elr": []}
            for fields in described
        ],
        "topic_authorized_operations": authorized_operations.TOPIC,
    }


def failure(name: str, code: int, operations: int = authorized_operations.NOT_ASKED_FOR) -> Fields:
    """The response of a topic with an error."""
    return {
        "error_code": code,
        "name": name,
        "topic_id": uuid.ZERO,
        "is_internal": name in INTERNAL_TOPICS,
        "partitions": [],
        "topic_authorized_operations": operations,
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every topic asked about."""
    return {"topics": [failure(name, error.code) for name in dict.fromkeys(topic.name for topic in request.topics)]}
