"""DeleteTopics (key 20): by name, and from v6 on by id too; each topic succeeds or fails by itself.

v3 may answer TOPIC_DELETION_DISABLED (INVALID_REQUEST before), v5 adds the error's text, v6 topic ids.
"""

from __future__ import annotations

from collections import Counter

from kcore import errors, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.controller.new_topic import TopicResult
    from kcore.metadata.image import MetadataImage
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_DELETION_DISABLED = 3
FIRST_WITH_TOPIC_IDS = 6


def handle(context: RequestContext, request: Any) -> Fields:
    """Names first, then ids; what is neither or both, or stands twice, is an invalid request and not deleted."""
    controller = context.broker.controller
    if context.api_version < FIRST_WITH_TOPIC_IDS:
        asked_for: list[tuple[str | None, bytes]] = [(name, uuid.ZERO) for name in request.topic_names]
    else:
        asked_for = [(topic.name, topic.topic_id) for topic in request.topics]
    names, topic_ids, invalid = sort_out(asked_for, context.broker.metadata_cache.image)
    results = controller.delete_topics(names, topic_ids)
    valid = [(name, uuid.ZERO) for name in names] + [(None, topic_id) for topic_id in topic_ids]
    described = [
        describe(context, name, topic_id, result) for (name, topic_id), result in zip(valid, results, strict=True)
    ]
    return {"responses": described + invalid}


def sort_out(
    asked_for: list[tuple[str | None, bytes]], image: MetadataImage
) -> tuple[list[str], list[bytes], list[Fields]]:
    """Names, ids, and the answers to entries that cannot be right, one for those that stand twice."""
    names: list[str] = []
    topic_ids: list[bytes] = []
    invalid: list[Fields] = []
    for (name, topic_id), count in Counter(asked_for).items():
        if name is None and topic_id == uuid.ZERO:
            complaint = "Neither topic name nor id were specified."
        elif name is not None and topic_id != uuid.ZERO:
            complaint = "You may not specify both topic name and topic id."
        elif count > 1:
            complaint = "Duplicate topic id." if name is None else "Duplicate topic name."
        elif name is not None:
            names.append(name)
            continue
        else:
            topic_ids.append(topic_id)
            continue
        invalid.append(failure(name, topic_id, errors.InvalidRequestError(complaint)))
    for topic_id in [topic_id for topic_id in topic_ids if topic_id in image.topics_by_id]:
        name = image.topics_by_id[topic_id].name
        if name in names:
            names.remove(name)
            topic_ids.remove(topic_id)
            complaint = "The provided topic name maps to an ID that was already supplied."
            invalid.append(failure(name, topic_id, errors.InvalidRequestError(complaint)))
    return names, topic_ids, invalid


def describe(context: RequestContext, name: str | None, topic_id: bytes, result: TopicResult) -> Fields:
    """The deleted topic with both its names, or why it is still there."""
    if result.error is None:
        return {"name": result.name, "topic_id": result.topic_id}
    error = result.error
    if isinstance(error, errors.TopicDeletionDisabledError) and context.api_version < FIRST_WITH_DELETION_DISABLED:
        error = errors.InvalidRequestError(str(error))
    return failure(name, topic_id, error)


def failure(name: str | None, topic_id: bytes, error: errors.KafkaError) -> Fields:
    """One topic's error, under the name or id that the client used."""
    return {"name": name, "topic_id": topic_id, "error_code": error.code, "error_message": str(error)}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error on every topic."""
    if context.api_version < FIRST_WITH_TOPIC_IDS:
        return {"responses": [failure(name, uuid.ZERO, error) for name in request.topic_names]}
    return {"responses": [failure(asked.name, asked.topic_id, error) for asked in request.topics]}
