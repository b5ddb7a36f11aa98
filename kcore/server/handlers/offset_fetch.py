"""OffsetFetch (key 9): the committed offsets of groups.

From v2 on null topics mean all offsets, and there is an error per group. v5 adds leader epochs. v7 can require stable
offsets: an offset that an open transaction may still change is answered UNSTABLE_OFFSET_COMMIT (KIP-447). v8 has
several groups per request, v9 the member id and epoch, which a consumer group checks (KIP-848).
"""

from __future__ import annotations

from kcore import errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set
    from typing import Any

    from kcore.coordinator.group.offsets import CommittedOffset, TopicPartition
    from kcore.server.request_context import Fields, RequestContext

FIRST_BATCHED = 8
NO_OFFSET = -1
NO_EPOCH = -1
UNSTABLE_OFFSET_COMMIT = errors.UnstableOffsetCommitError.code


def handle(context: RequestContext, request: Any) -> Fields:
    """Fetches the offsets of one group, or of several."""
    if context.api_version < FIRST_BATCHED:
        return fetch(context, request.group_id, request.topics, request.require_stable)
    return {
        "groups": [
            {
                "group_id": group.group_id,
                **fetch(
                    context, group.group_id, group.topics, request.require_stable, group.member_id, group.member_epoch
                ),
            }
            for group in request.groups
        ]
    }


def fetch(
    context: RequestContext,
    group_id: str,
    topics: Any,
    require_stable: bool,
    member_id: str | None = None,
    member_epoch: int = NO_EPOCH,
) -> Fields:
    """The response of a group: the requested offsets, or all of them."""
    places = None
    if topics is not None:
        places = [(topic.name, index) for topic in topics for index in topic.partition_indexes]
    coordinator = context.broker.group_coordinator
    error_code, offsets, unstable = coordinator.fetch_offsets(group_id, places, require_stable, member_id, member_epoch)
    if error_code:
        return failure(context, topics, error_code)
    wanted = group_by_topic(offsets) if topics is None else [(topic.name, topic.partition_indexes) for topic in topics]
    return {
        "error_code": error_code,
        "topics": [describe_topic(name, indexes, offsets, unstable) for name, indexes in wanted],
    }


def group_by_topic(places: Iterable[TopicPartition]) -> list[tuple[str, list[int]]]:
    """The partitions by topic, both sorted."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(places):
        topics.setdefault(topic, []).append(partition)
    return list(topics.items())


def describe_topic(
    name: str,
    indexes: Iterable[int],
    offsets: Mapping[TopicPartition, CommittedOffset],
    unstable: Set[TopicPartition],
) -> Fields:
    """The response of one topic. A partition without a committed offset has offset -1."""
    partitions = []
    for index in indexes:
        place = (name, index)
        is_unstable = place in unstable
        committed = None if is_unstable else offsets.get(place)
        partitions.append(
            {
                "partition_index": index,
                "committed_offset": committed.offset if committed else NO_OFFSET,
                "committed_leader_epoch": committed.leader_epoch if committed else NO_EPOCH,
                "metadata": committed.metadata if committed else "",
                "error_code": UNSTABLE_OFFSET_COMMIT if is_unstable else errors.NONE,
            }
        )
    return {"name": name, "partitions": partitions}


def failure(context: RequestContext, topics: Any, error_code: int) -> Fields:
    """The response of a group with an error. Versions before v2 have the error on each partition instead."""
    if context.api_version >= 2:
        return {"error_code": error_code, "topics": []}
    return {
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": index,
                        "committed_offset": NO_OFFSET,
                        "metadata": "",
                        "error_code": error_code,
                    }
                    for index in topic.partition_indexes
                ],
            }
            for topic in topics or ()
        ]
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every group."""
    if context.api_version < FIRST_BATCHED:
        return failure(context, request.topics, error.code)
    return {
        "groups": [{"group_id": group.group_id, "error_code": error.code, "topics": []} for group in request.groups]
    }
