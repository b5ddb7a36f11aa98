"""The requests that are not sent, because a correct broker would stop serving the fuzzer or the bystander after them.

This is the whole list. Everything else that a mutation makes is sent, destructive or not.
"""

from __future__ import annotations

from typing import Any

from kcore.protocol import apis
from kcore.protocol.headers import decode_request_header
from kcore.protocol.message import Message
from kcore.protocol.protocol_errors import ProtocolError
from tests.fuzz.requests.source import Request

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
# API key, API version, correlation id and the size of the client id come before it.
CLIENT_ID_AT = 10
# Without it, with another number of partitions or with other bounds, the coordinator rightly serves no group.
OFFSETS_TOPIC = "__consumer_offsets"
# Dynamic configurations of a broker, and what a change may do.
CONFIGS = {
    "max.connections": "refuses the fuzzer's connections",
    "max.connections.per.ip": "refuses the fuzzer's connections",
    "max.connections.per.ip.overrides": "refuses the fuzzer's connections",
    "max.connection.creation.rate": "delays the fuzzer's connections",
    "message.max.bytes": "refuses the bystander's batches",
    "min.insync.replicas": "refuses the bystander's batches",
    "log.message.timestamp.before.max.ms": "refuses the bystander's batches",
    "log.message.timestamp.after.max.ms": "refuses the bystander's batches",
    "log.message.timestamp.difference.max.ms": "refuses the bystander's batches",
    "log.retention.ms": "deletes what the bystander reads",
    "log.retention.bytes": "deletes what the bystander reads",
    "log.local.retention.ms": "deletes what the bystander reads",
    "log.local.retention.bytes": "deletes what the bystander reads",
    "log.cleanup.policy": "deletes what the bystander reads",
    "kcli.request.log": "logs every request",
    "listeners": "closes the listener",
    "advertised.listeners": "sends clients elsewhere",
}
# A quota of one of these delays the fuzzer or the bystander, by up to a quota window for each request.
QUOTA_ENTITIES = {"client-id": ("fuzzer", "bystander"), "user": ("ANONYMOUS",), "ip": ("127.0.0.1",)}


def is_restricted(request: Request) -> bool:
    """Whether the request is on the list; one that does not decode is not."""
    rule = RULES.get(request.api_key)
    if rule is None:
        return False
    message = decoded(request.payload)
    return message is not None and rule(message)


def decoded(payload: bytes) -> Message | None:
    """The body of a request, as the broker reads it; None when it does not decode."""
    key, version = (int.from_bytes(payload[at : at + 2], "big", signed=True) for at in (0, 2))
    api = apis.BY_KEY.get(key)
    if api is None or not 0 <= version <= api.latest_version:
        return None
    try:
        _, position = decode_request_header(with_plain_client_id(payload))
        message, _ = api.request.decode_prefix(version, payload, position)
    except ProtocolError:
        return None
    return message


def with_plain_client_id(payload: bytes) -> bytes:
    """The broker takes any bytes for a client id, as Kafka does; our decoder of headers wants UTF-8."""
    size = int.from_bytes(payload[8:10], "big", signed=True)
    if not 0 < size <= len(payload) - CLIENT_ID_AT:
        return payload
    return payload[:CLIENT_ID_AT] + b"c" * size + payload[CLIENT_ID_AT + size :]


def changes_restricted_config(message: Any) -> bool:
    if message.validate_only:
        return False
    return any(
        (resource.resource_type == BROKER_RESOURCE and any(config.name in CONFIGS for config in resource.configs))
        or (resource.resource_type == TOPIC_RESOURCE and resource.resource_name == OFFSETS_TOPIC)
        for resource in message.resources
    )


def deletes_offsets(message: Any) -> bool:
    return OFFSETS_TOPIC in message.topic_names or any(topic.name == OFFSETS_TOPIC for topic in message.topics)


def adds_partitions_of_offsets(message: Any) -> bool:
    return not message.validate_only and any(topic.name == OFFSETS_TOPIC for topic in message.topics)


def limits_known_clients(message: Any) -> bool:
    if message.validate_only:
        return False
    return any(
        part.entity_name is None or part.entity_name in QUOTA_ENTITIES.get(part.entity_type, ())
        for entry in message.entries
        for part in entry.entity
    )


RULES = {
    apis.DELETE_TOPICS.key: deletes_offsets,
    apis.CREATE_PARTITIONS.key: adds_partitions_of_offsets,
    apis.ALTER_CONFIGS.key: changes_restricted_config,
    apis.INCREMENTAL_ALTER_CONFIGS.key: changes_restricted_config,
    apis.ALTER_CLIENT_QUOTAS.key: limits_known_clients,
}
