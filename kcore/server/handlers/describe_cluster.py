"""DescribeCluster (key 60): the cluster's id, controller and brokers (KIP-700).

v1 adds the endpoint type, brokers or controllers (KIP-919), v2 marks fenced brokers (KIP-1073); registered brokers are
never fenced here. Controllers cannot be described, since none is separate.
"""

from __future__ import annotations

from kcore import errors
from kcore.server import authorized_operations
from kcore.server.handlers.metadata import describe_brokers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.server.request_context import Fields, RequestContext

BROKERS, CONTROLLERS = 1, 2
FIRST_WITH_ENDPOINT_TYPE = 1


def handle(context: RequestContext, request: Any) -> Fields:
    """Describes the brokers that have the client's listener."""
    check_endpoint_type(request.endpoint_type if context.api_version >= FIRST_WITH_ENDPOINT_TYPE else BROKERS)
    image = context.broker.metadata_cache.image
    brokers = [
        {"broker_id": broker["node_id"], "host": broker["host"], "port": broker["port"], "rack": broker["rack"]}
        for broker in describe_brokers(context, image)
    ]
    asked_operations = request.include_cluster_authorized_operations
    return {
        "cluster_id": context.broker.cluster_id,
        "controller_id": image.controller_id,
        "brokers": brokers,
        "cluster_authorized_operations": authorized_operations.CLUSTER
        if asked_operations
        else authorized_operations.NOT_ASKED_FOR,
    }


def check_endpoint_type(endpoint_type: int) -> None:
    """Refuses endpoint types other than brokers, as a Kafka broker that is not a controller does."""
    if endpoint_type == CONTROLLERS:
        raise errors.MismatchedEndpointTypeError(
            "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
        )
    if endpoint_type != BROKERS:
        raise errors.UnsupportedEndpointTypeError(f"Unsupported endpoint type {endpoint_type}")


def error_response(context: RequestContext, request: Any, error: errors.KafkaError) -> Fields:
    """Sets the error."""
    return {"error_code": error.code, "error_message": str(error), "cluster_id": "", "brokers": []}
