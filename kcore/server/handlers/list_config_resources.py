"""ListConfigResources (key 74): the names of topics, brokers, broker loggers, client metrics and groups (KIP-1142).

v0 lists client metrics subscriptions only (ListClientMetricsResources, KIP-714). From v1 on the request has resource
types; an empty list means all. All topics and brokers are listed. Groups and subscriptions are listed only if they have
configurations. UNSUPPORTED_VERSION is the error for other types.
"""

from __future__ import annotations

from kcore import errors
from kcore.metadata.image import BROKER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, TOPIC_RESOURCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from kcore.metadata.image import MetadataImage
    from kcore.server.request_context import Fields, RequestContext

BROKER_LOGGER_RESOURCE = 8
FIRST_WITH_TYPES = 1
TYPES = (TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE)


def handle(context: RequestContext, request: Any) -> Fields:
    """The names of each requested type."""
    image = context.broker.metadata_cache.image
    resources = [
        {"resource_name": name, "resource_type": resource_type}
        for resource_type in wanted_types(context, request)
        for name in names(image, resource_type)
    ]
    return {"error_code": errors.NONE, "config_resources": resources}


def wanted_types(context: RequestContext, request: Any) -> Iterable[int]:
    """The requested types without duplicates. Raises UnsupportedVersionError for a type that cannot be listed."""
    if context.api_version < FIRST_WITH_TYPES:
        return (CLIENT_METRICS_RESOURCE,)
    asked = dict.fromkeys(request.resource_types or TYPES)
    for resource_type in asked:
        if resource_type not in TYPES:
            raise errors.UnsupportedVersionError(f"Unexpected resource type {resource_type}.")
    return asked


def names(image: MetadataImage, resource_type: int) -> Iterable[str]:
    """The names of the resources of a type."""
    if resource_type == TOPIC_RESOURCE:
        return image.topics
    if resource_type in (BROKER_RESOURCE, BROKER_LOGGER_RESOURCE):
        return map(str, image.brokers)
    return [name for kind, name in image.configs if kind == resource_type]


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "config_resources": []}
