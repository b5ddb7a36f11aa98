"""DescribeConfigs (key 32): configurations of topics, brokers, broker loggers, client metrics and groups.

v1 adds sources and synonyms, v3 types and documentation. An empty broker name means the dynamic defaults of all
brokers. A broker describes only itself.
"""

from __future__ import annotations

from kcore import errors
from kcore.config.definition import INT, INTEGER_BITS, parse_decimal
from kcore.controller.topic_name import validate_topic_name
from kcore.metadata.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE
from kcore.server.broker_loggers import describe_loggers
from kcore.server.config_alteration import BROKER_LOGGER_RESOURCE
from kcore.server.config_description import (
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_topic,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

FIRST_WITH_DOCUMENTATION = 3


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes each resource, or sets its error."""
    documented = context.api_version >= FIRST_WITH_DOCUMENTATION and request.include_documentation
    results = []
    for resource in request.resources:
        try:
            configs = describe(context, resource, documented=documented)
        except errors.KafkaError as error:
            results.append(failure(resource, error))
            continue
        for config in configs:
            if not request.include_synonyms:
                config["synonyms"] = []
        results.append(
            {
                "error_message": "",
                "resource_type": resource.resource_type,
                "resource_name": resource.resource_name,
                "configs": configs,
            }
        )
    return {"results": results}


def describe(context: RequestContext, resource: Any, *, documented: bool) -> list[dict[str, Any]]:
    """The configurations of one resource. Raises KafkaError if it does not exist or is not served here."""
    broker = context.broker
    wanted = resource.configuration_keys
    if resource.resource_type == TOPIC_RESOURCE:
        validate_topic_name(resource.resource_name)
        image = broker.metadata_cache.image
        if resource.resource_name not in image.topics:
            # Kafka sends no message with this error.
            raise errors.UnknownTopicOrPartitionError("")
        return describe_topic(broker.config, image.topic_configs(resource.resource_name), wanted, documented=documented)
    if resource.resource_type == BROKER_RESOURCE:
        if resource.resource_name == "":
            return describe_cluster(broker.config, wanted, documented=documented)
        check_broker_id(broker.broker_id, resource.resource_name)
        return describe_broker(broker.config, wanted, documented=documented)
    if resource.resource_type == BROKER_LOGGER_RESOURCE:
        if not resource.resource_name:
            raise errors.InvalidRequestError("Broker id must not be empty")
        check_broker_id(broker.broker_id, resource.resource_name, " but")
        return describe_loggers(wanted)
    if resource.resource_type == CLIENT_METRICS_RESOURCE:
        if not resource.resource_name:
            raise errors.InvalidRequestError("Client metrics subscription name must not be empty")
        overrides = broker.metadata_cache.image.configs.get((CLIENT_METRICS_RESOURCE, resource.resource_name), {})
        return describe_client_metrics(overrides, wanted)
    if resource.resource_type == GROUP_RESOURCE:
        if not resource.resource_name:
            raise errors.InvalidRequestError("Group name must not be empty")
        overrides = broker.metadata_cache.image.configs.get((GROUP_RESOURCE, resource.resource_name), {})
        return describe_group(broker.config, overrides, wanted, documented=documented)
    raise errors.InvalidRequestError()


def check_broker_id(own_id: int, name: str, alternative: str = " or empty string, but") -> None:
    """Raises InvalidRequestError unless `name` is this broker's id."""
    broker_id = parse_decimal(name, INTEGER_BITS[INT])
    if broker_id is None:
        raise errors.InvalidRequestError(f"Broker id must be an integer, but it is: {name}")
    if broker_id != own_id:
        raise errors.InvalidRequestError(f"Unexpected broker id, expected {own_id}{alternative} received {name}")


def failure(resource: Any, error: errors.KafkaError) -> Fields:
    """The response of a resource that cannot be described."""
    return {
        "error_code": error.code,
        "error_message": str(error),
        "resource_type": resource.resource_type,
        "resource_name": resource.resource_name,
        "configs": [],
    }


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error on every resource."""
    return {"results": [failure(resource, error) for resource in request.resources]}
