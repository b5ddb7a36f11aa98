"""ElectLeaders (key 43): elects the preferred leader, or any leader for partitions without one (KIP-183, KIP-460).

v1 adds unclean elections and a top-level error, v2 is flexible. Null instead of a list means all partitions. The
response then omits the partitions that need no election, but includes their topics.
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
    """Elects for each partition independently. As in Kafka, an empty list is answered before all other checks."""
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
    """Elects the leader of one partition. Returns its response."""
    try:
        context.broker.controller.elect_leader(topic, index, unclean=kind == UNCLEAN)
        return {"partition_id": index, "error_code": errors.NONE, "error_message": None}
    except errors.KafkaError as error:
        return {"partition_id": index, "error_code": error.code, "error_message": error.detail}


def answer(results: list[tuple[str, list[Fields]]], error_code: int = errors.NONE) -> Fields:
    """The response, from partitions by topic."""
    rows = [{"topic": topic, "partition_result": partitions} for topic, partitions in results]
    return {"error_code": error_code, "replica_election_results": rows}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on the response and on every listed partition."""
    fields = {"error_code": error.code, "error_message": error.detail}
    results: list[tuple[str, list[Fields]]] = [
        (topic.topic, [{"partition_id": index, **fields} for index in topic.partitions])
        for topic in request.topic_partitions or ()
    ]
    return answer(results, error.code if context.api_version >= FIRST_WITH_TYPE else errors.NONE)
