"""DeleteTopics (key 20): by name, and from v6 on by id too; each topic succeeds or fails by itself.

v3 may answer TOPIC_DELETION_DISABLED (INVALID_REQUEST before), v5 adds the error's text, v6 topic ids.
"""

from __future__ import annotations

from kcore import errors, uuid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.controller.new_topic import TopicResult
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_DELETION_DISABLED = 3
FIRST_WITH_TOPIC_IDS = 6


def handle(context: RequestContext, request: Any) -> Fields:
    """Names first, then ids; what is neither or both, or stands twice, is an invalid request."""
    controller = context.broker.controller
    if context.api_version < FIRST_WITH_TOPIC_IDS:
        names = list(dict.fromkeys(request.topic_names))
        results = controller.delete_topics(names)
        return {
            "responses": [
                describe(context, name, uuid.ZERO, result) for name, result in zip(names, results, strict=True)
            ]
        }
    names, topic_ids, invalid = sort_out(context, request)
    results = controller.delete_topics(names, topic_ids)
    asked = [(name, uuid.ZERO) for name in names] + [(None, topic_id) for topic_id in topic_ids]
    described = [
        describe(context, name, topic_id, result) for (name, topic_id), result in zip(asked, results, strict=True)
    ]
    return {"responses": described + invalid}


def sort_out(context: RequestContext, request: Any) -> tuple[list[str], list[bytes], list[Fields]]:
    """Names, ids, and the answers to entries that cannot be right."""
    names: list[str] = []
    topic_ids: list[bytes] = []
    invalid: list[Fields] = []
    for asked in request.topics:
        if (asked.name is None) == (asked.topic_id == uuid.ZERO):
            text = (
                "Neither topic name nor id were specified."
                if asked.name is None
                else ("You may not specify both topic name and topic id.")
            )
            invalid.append(failure(asked.name, asked.topic_id, errors.InvalidRequestError(text)))
        elif (asked.name is not None and asked.name in names) or (asked.name is None and asked.topic_id in topic_ids):
            duplicate = errors.InvalidRequestError("Duplicate topic name." if asked.name else "Duplicate topic id.")
            invalid.append(failure(asked.name, asked.topic_id, duplicate))
        elif asked.name is not None:
            names.append(asked.name)
        else:
            topic_ids.append(asked.topic_id)
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
