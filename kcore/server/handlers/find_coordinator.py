"""FindCoordinator (key 10): the coordinator of a group or of a transactional id.

v0 supports groups only, v1 adds a key type, v4 several keys per request. As in Kafka, a request for a group creates
`__consumer_offsets` if it does not exist.

This broker does not support transactions. A transactional producer calls this API first and fails here, so the error
decides what its user reads. From v3 on the code is UNSUPPORTED_VERSION: Java shows the message of any code but
TRANSACTIONAL_ID_AUTHORIZATION_FAILED, kafka-python shows the name of the code, and our own client shows both. Up to v2,
which librdkafka and aiokafka use, the code is TRANSACTIONAL_ID_AUTHORIZATION_FAILED. librdkafka then fails at once and
shows the message; after UNSUPPORTED_VERSION it retries until its timeout.
"""

from __future__ import annotations

from kcore import errors
from kcore.coordinator.group.partitioner import partition_for
from kcore.metadata.image import GROUP_METADATA_TOPIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

GROUP_KEY, TRANSACTION_KEY = 0, 1
FIRST_WITH_KEY_TYPE = 1
# The first version that librdkafka does not use.
FIRST_WITH_UNSUPPORTED_VERSION = 3
FIRST_BATCHED = 4
NO_TRANSACTIONS = "This broker does not support transactions. Use a producer without transactional.id."
TOPIC_ALREADY_EXISTS = errors.TopicAlreadyExistsError.code
NOWHERE: Fields = {"node_id": -1, "host": "", "port": -1}


def handle(context: RequestContext, request: Any) -> Fields:
    """Finds the coordinator of each key."""
    key_type = request.key_type if context.api_version >= FIRST_WITH_KEY_TYPE else GROUP_KEY
    if context.api_version < FIRST_BATCHED:
        found_one = find(context, request.key, key_type)
        return {**found_one, "error_message": found_one["error_message"] or "NONE"}
    found = [{"key": key, **find(context, key, key_type)} for key in request.coordinator_keys]
    # As in Kafka: without an error, the message is "NONE" for a single key, and empty for several.
    return {"coordinators": [{**one, "error_message": one["error_message"] or ""} for one in found]}


def find(context: RequestContext, key: str, key_type: int) -> Fields:
    """The node, host and port of one key's coordinator, or the error."""
    try:
        return {"error_code": errors.NONE, "error_message": None, **locate(context, key, key_type)}
    except errors.KafkaError as error:
        return failure(error)


def locate(context: RequestContext, key: str, key_type: int) -> Fields:
    """The leader of the key's partition of `__consumer_offsets`. Raises KafkaError."""
    if key_type == TRANSACTION_KEY:
        raise no_transactions(context.api_version)
    if key_type != GROUP_KEY:
        raise errors.InvalidRequestError()
    broker = context.broker
    if broker.metadata_cache.topic(GROUP_METADATA_TOPIC) is None:
        for result in broker.controller.auto_create_topics([GROUP_METADATA_TOPIC]):
            if result.error is not None and result.error.code != TOPIC_ALREADY_EXISTS:
                raise errors.CoordinatorNotAvailableError(result.error.message)
    image = broker.metadata_cache.image
    topic = image.topics[GROUP_METADATA_TOPIC]
    state = topic.partitions[partition_for(key, len(topic.partitions))]
    if state.leader == broker.broker_id and not broker.group_coordinator.coordinates(state.partition):
        # The metadata names this broker before it has created the logs of a new `__consumer_offsets`. Clients retry
        # this request, but some would report a refused commit to their user.
        raise errors.CoordinatorNotAvailableError(f"The coordinator of group {key} is not ready yet")
    leader = image.brokers.get(state.leader)
    address = None if leader is None else broker.address_of(leader, context.connection)
    if address is None:
        raise errors.CoordinatorNotAvailableError(f"The coordinator of group {key} is not reachable")
    return {"node_id": state.leader, "host": address[0], "port": address[1]}


def no_transactions(version: int) -> errors.KafkaError:
    """The error that makes the clients of a version fail at once, with a message that some of them show."""
    if version >= FIRST_WITH_UNSUPPORTED_VERSION:
        return errors.UnsupportedVersionError(NO_TRANSACTIONS)
    return errors.TransactionalIdAuthorizationFailedError(NO_TRANSACTIONS)


def failure(error: errors.KafkaError) -> Fields:
    """The response of a key without a coordinator."""
    return {"error_code": error.code, "error_message": str(error), **NOWHERE}


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every key."""
    if context.api_version < FIRST_BATCHED:
        return failure(error)
    return {"coordinators": [{"key": key, **failure(error)} for key in request.coordinator_keys]}
