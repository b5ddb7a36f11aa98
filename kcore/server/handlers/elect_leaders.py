"""ElectLeaders (key 43): the preferred leader for partitions, or any at all for those without one (KIP-183, KIP-460).

v1 adds unclean elections and an error for the whole answer, v2 is flexible. Without a list of partitions all are meant,
and those that need no election are then not named, though their topics are.
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

PREFERRED, UNCLEAN = 0, 1
FIRST_WITH_TYPE = 1


def handle(context: RequestContext, request: Any) -> Fields:
    """Each partition for itself; an empty list is answered before anything else is looked at, as by Kafka."""
    if request.topic_partitions == []:
        return answer([])
    kind = request.election_type if context.api_version >= FIRST_WITH_TYPE else PREFERRED
    if kind not in (PREFERRED, UNCLEAN):
        raise errors.InvalidRequestError(f"Unknown election type {kind}")
    if request.topic_partitions is not None:
        asked = [(topic.topic, topic.partitions) for topic in request.topic_partitions]
        return answer([(topic, [elect(context, topic, index, kind) for index in indexes]) for topic, indexes in asked])
    results: list[tuple[str, list[Fields]]] = []
    for topic in context.broker.metadata_cache.image.topics.values():
        rows = [elect(context, topic.name, state.partition, kind) for state in topic.partitions]
        results.append((topic.name, [row for row in rows if row["error_code"] != errors.ElectionNotNeededError.code]))
    return answer(results)


def elect(context: RequestContext, topic: str, index: int, kind: int) -> Fields:
    """What became of one partition."""
    try:
        context.broker.controller.elect_leader(topic, index, unclean=kind == UNCLEAN)
        return {"partition_id": index, "error_code": errors.NONE, "error_message": None}
    except errors.KafkaError as error:
        return {"partition_id": index, "error_code": error.code, "error_message": error.detail}


def answer(results: list[tuple[str, list[Fields]]], error_code: int = errors.NONE) -> Fields:
    """The partitions by topic."""
    rows = [{"topic": topic, "partition_result": partitions} for topic, partitions in results]
    return {"error_code": error_code, "replica_election_results": rows}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """The error on the whole, and on every partition that was named."""
    fields = {"error_code": error.code, "error_message": error.detail}
    results: list[tuple[str, list[Fields]]] = [
        (topic.topic, [{"partition_id": index, **fields} for index in topic.partitions])
        for topic in request.topic_partitions or ()
    ]
    return answer(results, error.code if context.api_version >= FIRST_WITH_TYPE else errors.NONE)
