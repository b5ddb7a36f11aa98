"""Metadata (key 3): the brokers, and the requested topics with their leaders.

In v0 an empty list means all topics. From v1 on null means all and an empty list none. v4 lets the client disable
auto-creation, v7 adds leader epochs, v10 topic ids, v12 requests by topic id, v13 a top-level error (KIP-1102).
Versions before v6 do not know LISTENER_NOT_FOUND. A topic that this request creates is ready for use when the response
is sent.
"""

from __future__ import annotations

from kcore import errors, uuid
from kcore.controller.topic_name import validate_topic_name
from kcore.metadata.image import NO_LEADER
from kcore.server import authorized_operations
from kcore.server.mutation_quota import mutation_quota

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcore.metadata.image import MetadataImage, PartitionState, TopicImage
    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_NULL_FOR_ALL = 1
FIRST_WITH_AUTO_CREATION_CHOICE = 4
FIRST_WITH_LISTENER_NOT_FOUND = 6
FIRST_BY_TOPIC_ID = 12


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes brokers and topics from one image."""
    if asks_for_all(context, request):
        image = context.broker.metadata_cache.image
        describer = PartitionDescriber(context, image)
        operations = topic_operations(context, request)
        topics = [describe_topic(describer, topic, operations) for topic in image.topics.values()]
    else:
        check_topic_ids(context, request)
        failures = make_missing_topics(context, request)
        image = context.broker.metadata_cache.image
        describer = PartitionDescriber(context, image)
        topics = [describe_asked(context, request, image, describer, asked, failures) for asked in asked_once(request)]
    return {
        "brokers": describe_brokers(context, image),
        "cluster_id": context.broker.cluster_id,
        "controller_id": image.controller_id,
        "topics": topics,
        "cluster_authorized_operations": authorized_operations.CLUSTER
        if 8 <= context.api_version <= 10 and request.include_cluster_authorized_operations
        else authorized_operations.NOT_ASKED_FOR,
    }


def asks_for_all(context: RequestContext, request: Any) -> bool:
    """Whether all topics are requested: by null, or in v0 by an empty list."""
    if context.api_version < FIRST_WITH_NULL_FOR_ALL:
        return not request.topics
    return request.topics is None


def check_topic_ids(context: RequestContext, request: Any) -> None:
    """Refuses topic ids in v10 and v11: these versions have the field, but brokers do not support it."""
    if not 10 <= context.api_version < FIRST_BY_TOPIC_ID:
        return
    for asked in request.topics:
        if asked.name is None or asked.topic_id != uuid.ZERO:
            raise errors.InvalidRequestError(f"Topic IDs are not supported in version {context.api_version} requests")


def asked_once(request: Any) -> list[Any]:
    """The requested topics without duplicates, so that repeating a name does not enlarge the response."""
    return list({asked.topic_id if is_by_id(asked) else asked.name: asked for asked in request.topics}.values())


def make_missing_topics(context: RequestContext, request: Any) -> dict[str, int]:
    """Creates unknown topics requested by name, if client and broker allow it. Returns error codes by name."""
    broker = context.broker
    if context.api_version >= FIRST_WITH_AUTO_CREATION_CHOICE and not request.allow_auto_topic_creation:
        return {}
    if not broker.config.flag("auto.create.topics.enable"):
        return {}
    topics = broker.metadata_cache.image.topics
    missing = dict.fromkeys(asked.name for asked in request.topics if not is_by_id(asked))
    new = [name for name in missing if name not in topics]
    results = broker.controller.auto_create_topics(new, mutation_quota(context)) if new else []
    return {result.name: result.error.code for result in results if result.error is not None}


def is_by_id(asked: Any) -> bool:
    """Whether a topic is requested by id. Java's admin client then sends an empty name instead of null."""
    return asked.name is None or bool(asked.topic_id != uuid.ZERO)


def describe_asked(
    context: RequestContext,
    request: Any,
    image: MetadataImage,
    describer: PartitionDescriber,
    asked: Any,
    failures: dict[str, int],
) -> Fields:
    """The response of one requested topic."""
    by_id = is_by_id(asked)
    topic = image.topics_by_id.get(asked.topic_id) if by_id else image.topics.get(asked.name)
    if topic is not None:
        return describe_topic(describer, topic, topic_operations(context, request))
    if by_id:
        return _missing(None, asked.topic_id, errors.UnknownTopicIdError.code)
    missing = _missing(asked.name, uuid.ZERO, failures.get(asked.name) or missing_topic_error(asked.name))
    return {**missing, "topic_authorized_operations": topic_operations(context, request)}


def missing_topic_error(name: str) -> int:
    """The error code of a topic that does not exist: its name is invalid, or it is unknown."""
    try:
        validate_topic_name(name)
    except errors.KafkaError as error:
        return error.code
    return int(errors.UnknownTopicOrPartitionError.code)


def _missing(name: str | None, topic_id: bytes, code: int) -> Fields:
    return {"error_code": code, "name": name, "topic_id": topic_id, "partitions": []}


def describe_topic(describer: PartitionDescriber, topic: TopicImage, operations: int) -> Fields:
    """The response of an existing topic."""
    return {
        "error_code": errors.NONE,
        "name": topic.name,
        "topic_id": topic.topic_id,
        "is_internal": topic.is_internal,
        "partitions": [describer.describe(state) for state in topic.partitions],
        "topic_authorized_operations": operations,
    }


def topic_operations(context: RequestContext, request: Any) -> int:
    """The authorized operations, if requested. As in Kafka, they are set for unknown names, but not for unknown ids."""
    asked = context.api_version >= 8 and request.include_topic_authorized_operations
    return authorized_operations.TOPIC if asked else authorized_operations.NOT_ASKED_FOR


class PartitionDescriber:
    """Describes partitions of one image for one client. Caches what partitions have in common."""

    __slots__ = ("_brokers", "_context", "_leaders", "_offline")

    def __init__(self, context: RequestContext, image: MetadataImage) -> None:
        self._context = context
        self._brokers = image.brokers
        # Error code and leader id, by the leader's id.
        self._leaders: dict[int, tuple[int, int]] = {}
        self._offline: dict[tuple[int, ...], list[int]] = {}

    def describe(self, state: PartitionState) -> Fields:
        """A partition with its leader, or with the error if its leader is unknown to the client."""
        leader = self._leaders.get(state.leader)
        if leader is None:
            leader = self._leaders[state.leader] = self._leader(state.leader)
        replicas = state.replicas
        offline = self._offline.get(replicas)
        if offline is None:
            offline = self._offline[replicas] = [replica for replica in replicas if replica not in self._brokers]
        return {
            "error_code": leader[0],
            "partition_index": state.partition,
            "leader_id": leader[1],
            "leader_epoch": state.leader_epoch,
            "replica_nodes": replicas,
            "isr_nodes": state.isr,
            "offline_replicas": offline,
        }

    def _leader(self, leader_id: int) -> tuple[int, int]:
        leader = self._brokers.get(leader_id)
        if leader is None:
            return errors.LeaderNotAvailableError.code, NO_LEADER
        if self._context.broker.address_of(leader, self._context.connection) is None:
            known = self._context.api_version >= FIRST_WITH_LISTENER_NOT_FOUND
            return (errors.ListenerNotFoundError if known else errors.LeaderNotAvailableError).code, NO_LEADER
        return errors.NONE, leader_id


def describe_partition(context: RequestContext, image: MetadataImage, state: PartitionState) -> Fields:
    """The response of one partition."""
    return PartitionDescriber(context, image).describe(state)


def describe_brokers(context: RequestContext, image: MetadataImage) -> Iterable[Fields]:
    """The brokers that have the client's listener."""
    brokers = []
    for registration in image.brokers.values():
        address = context.broker.address_of(registration, context.connection)
        if address is not None:
            host, port = address
            brokers.append({"node_id": registration.broker_id, "host": host, "port": port, "rack": registration.rack})
    return brokers


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every requested topic. Names are not null, which v10 and v11 do not allow."""
    topics = [
        _missing(asked.name or "", asked.topic_id if context.api_version >= 10 else uuid.ZERO, error.code)
        for asked in request.topics or ()
    ]
    return {"error_code": error.code, "brokers": [], "topics": topics}
