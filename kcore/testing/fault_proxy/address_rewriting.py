"""Rewrites the broker addresses in responses.

    Metadata 0+, DescribeCluster 0+          brokers: node_id or broker_id, host, port
    FindCoordinator 0-3                      node_id, host, port
    FindCoordinator 4+                       coordinators: node_id, host, port
    Produce 10+, Fetch 16+                   node_endpoints, when a leader is elsewhere (KIP-951)

In ApiVersions responses, the versions of these APIs are limited to those that our codec supports, so that client and
broker never use a response that cannot be rewritten. A response without anything to rewrite is forwarded byte for
byte. No I/O.
"""

from __future__ import annotations

from kcore.protocol import apis, headers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from kcore.protocol.message import Message

    # node id, host and port from the cluster -> host and port for clients
    Translate: TypeAlias = Callable[[int, str, int], tuple[str, int]]

FIRST_WITH_ENDPOINTS = {apis.PRODUCE.key: 10, apis.FETCH.key: 16}
ADDRESSED = (apis.METADATA, apis.FIND_COORDINATOR, apis.DESCRIBE_CLUSTER, apis.PRODUCE, apis.FETCH)
ADDRESSED_KEYS = {api.key: api for api in ADDRESSED}


def is_addressed(api_key: int, version: int) -> bool:
    """Return whether a response may contain addresses, or contains the supported versions."""
    if api_key == apis.API_VERSIONS.key:
        return version <= apis.API_VERSIONS.latest_version
    return api_key in ADDRESSED_KEYS and version >= FIRST_WITH_ENDPOINTS.get(api_key, 0)


def rewritten(api_key: int, version: int, frame: bytes, translate: Translate) -> bytes:
    """Return the response with other addresses. Raises ProtocolError or UnsupportedVersionError if it is invalid."""
    if api_key == apis.API_VERSIONS.key:
        return lowered(version, frame)
    api = ADDRESSED_KEYS[api_key]
    correlation_id, message = headers.decode_response(api, version, frame)
    found = False
    for entry, id_field in addresses(api_key, version, message):
        if entry.host:
            entry.host, entry.port = translate(getattr(entry, id_field), entry.host, entry.port)
            found = True
    return headers.encode_response(api, version, correlation_id, message) if found else frame


def addresses(api_key: int, version: int, message: Message) -> list[tuple[Any, str]]:
    """Return the entries with host and port, each with the name of its node id field."""
    if api_key == apis.METADATA.key:
        return [(broker, "node_id") for broker in message.brokers]
    if api_key == apis.DESCRIBE_CLUSTER.key:
        return [(broker, "broker_id") for broker in message.brokers]
    if api_key == apis.FIND_COORDINATOR.key:
        return [(entry, "node_id") for entry in ([message] if version < 4 else message.coordinators)]
    return [(endpoint, "node_id") for endpoint in message.node_endpoints]


def lowered(version: int, frame: bytes) -> bytes:
    """Return an ApiVersions response without versions that cannot be rewritten. Errors are returned unchanged."""
    error_code = frame[4:6]
    if error_code != b"\x00\x00":
        return frame
    correlation_id, message = headers.decode_response(apis.API_VERSIONS, version, frame)
    found = False
    for entry in message.api_keys:
        api = ADDRESSED_KEYS.get(entry.api_key)
        if api is not None and entry.max_version > api.latest_version:
            entry.max_version = api.latest_version
            found = True
    return headers.encode_response(apis.API_VERSIONS, version, correlation_id, message) if found else frame
