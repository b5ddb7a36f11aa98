"""DeleteTopics (key 20): deletes topics by name, and from v6 on by id too. Each topic succeeds or fails independently.

v3 may answer TOPIC_DELETION_DISABLED (INVALID_REQUEST before), v5 adds the error message, v6 topic ids. Invalid entries
are refused and not deleted: an entry with neither name nor id or with both, a duplicate, and a name whose id is listed
too (`ControllerApis.deleteTopics`).
"""

from __future__ import annotations

from collections import Counter

from kcore import errors, uuid
from kcore.server.mutation_quota import mutation_quota

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from kcore.metadata.image import MetadataImage
    from kcore.server.request_context import Fields, RequestContext

    Asked: TypeAlias = tuple[str | None, bytes]

FIRST_WITH_DELETION_DISABLED = 3
FIRST_WITH_QUOTA = 5
FIRST_WITH_TOPIC_IDS = 6
# Messages of Kafka's broker, which clients show.
UNKNOWN_TOPIC = "This server does not host this topic-partition."
UNKNOWN_ID = "This server does not host this topic ID."


def handle(context: RequestContext, request: Any) -> Fields:
    """Resolves the entries to topic ids, and passes them to the controller."""
    broker = context.broker
    if not broker.config.flag("delete.topic.enable"):
        if context.api_version < FIRST_WITH_DELETION_DISABLED:
            raise errors.InvalidRequestError("Topic deletion is disabled.")
        raise errors.TopicDeletionDisabledError()
    responses, well_formed = sort_out(entries(context.api_version, request))
    found, missing = resolve(well_formed, broker.metadata_cache.image)
    quota = mutation_quota(context, FIRST_WITH_QUOTA)
    results = broker.controller.delete_topics(topic_ids=list(found), apply_quota=quota)
    for topic_id, result in zip(found, results, strict=True):
        if result.error is None:
            responses.append({"name": found[topic_id], "topic_id": topic_id})
        else:
            error = result.error
            if isinstance(error, errors.UnknownTopicIdError) and (found[topic_id], uuid.ZERO) in well_formed:
                # The topic was deleted after the lookup by name. Older clients do not know UNKNOWN_TOPIC_ID.
                error = errors.UnknownTopicOrPartitionError(UNKNOWN_TOPIC)
            responses.append(failure(found[topic_id], topic_id, error))
    return {"responses": responses + missing}


def entries(version: int, request: Any) -> list[Asked]:
    """The name and id of every entry, in any version. The id is zero if there is only a name."""
    if version < FIRST_WITH_TOPIC_IDS:
        return [(name, uuid.ZERO) for name in request.topic_names]
    return [(topic.name, bytes(topic.topic_id)) for topic in request.topics]


def sort_out(asked_for: list[Asked]) -> tuple[list[Fields], dict[Asked, int]]:
    """Separates invalid entries. Returns their responses, and how often each other entry is listed."""
    invalid: list[Fields] = []
    counts: Counter[Asked] = Counter()
    for name, topic_id in asked_for:
        if name is None and topic_id == uuid.ZERO:
            invalid.append(refusal(name, topic_id, "Neither topic name nor id were specified."))
        elif name is not None and topic_id != uuid.ZERO:
            invalid.append(refusal(name, topic_id, "You may not specify both topic name and topic id."))
        else:
            counts[name, topic_id] += 1
    return invalid, counts


def resolve(counts: dict[Asked, int], image: MetadataImage) -> tuple[dict[bytes, str], list[Fields]]:
    """Resolves entries to topics. Returns the names of the topics to delete by id, and the responses of the others."""
    answers: list[Fields] = []
    found: dict[bytes, str] = {}
    taken: set[bytes] = set()
    # Ids first: a name that maps to a listed id is refused, and so is the id.
    for (name, topic_id), count in sorted(counts.items(), key=lambda item: item[0][0] is not None):
        topic = image.topics_by_id.get(topic_id) if name is None else image.topics.get(name)
        if count > 1:
            answers.append(refusal(name, topic_id, f"Duplicate topic {'id' if name is None else 'name'}."))
            taken.add(topic_id)
        elif topic is None and name is None:
            answers.append(failure(name, topic_id, errors.UnknownTopicIdError(UNKNOWN_ID)))
        elif topic is None:
            answers.append(failure(name, topic_id, errors.UnknownTopicOrPartitionError(UNKNOWN_TOPIC)))
        elif topic.topic_id in taken:
            found.pop(topic.topic_id, None)
            answers.append(
                refusal(name, topic.topic_id, "The provided topic name maps to an ID that was already supplied.")
            )
        else:
            found[topic.topic_id] = topic.name
            taken.add(topic.topic_id)
    return found, answers


def refusal(name: str | None, topic_id: bytes, complaint: str) -> Fields:
    """The response of an invalid entry."""
    return failure(name, topic_id, errors.InvalidRequestError(complaint))


def failure(name: str | None, topic_id: bytes, error: errors.KafkaError) -> Fields:
    """The response of a topic that was not deleted."""
    return {"name": name, "topic_id": topic_id, "error_code": error.code, "error_message": error.detail}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every topic, without its message."""
    kind = type(error)
    return {"responses": [failure(name, topic_id, kind()) for name, topic_id in entries(context.api_version, request)]}
