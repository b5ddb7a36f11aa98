"""Answers with other addresses, as kio reads them: in every version, and nothing else is changed."""

from __future__ import annotations

import re
from dataclasses import fields
from importlib import import_module
from typing import Any

import pytest
from kio.serial import entity_reader

from kcore.errors import UnsupportedVersionError
from kcore.protocol import apis, headers
from kcore.protocol.protocol_errors import ProtocolError
from kcore.testing.fault_proxy.address_rewriting import ADDRESSED, is_addressed, rewritten

BROKERS = [(1, "one.example", 9092), (2, "two.example", 9093), (3, "::1", 9094)]
CORRELATION_ID = 77
# Below these there is nobody to compare with: kio has what Kafka 4 has.
FIRST_VERSION = {apis.PRODUCE: 3, apis.FETCH: 4}


def translate(node: int, host: str, port: int) -> tuple[str, int]:
    assert (node, host, port) in BROKERS
    return "127.0.0.1", 50_000 + node


def answer(api: apis.Api, version: int) -> dict[str, Any]:
    """An answer that names every broker, as far as the API can."""
    named = [{"host": host, "port": port} for _, host, port in BROKERS]
    nodes = [{"node_id": node, **entry} for (node, _, _), entry in zip(BROKERS, named, strict=True)]
    if api is apis.METADATA:
        topic = {"name": "t", "topic_id": bytes(range(16)), "partitions": [{"leader_id": 2, "replica_nodes": [1, 2]}]}
        return {"brokers": nodes, "cluster_id": "c", "controller_id": 1, "topics": [topic]}
    if api is apis.DESCRIBE_CLUSTER:
        brokers = [{"broker_id": node, **entry} for (node, _, _), entry in zip(BROKERS, named, strict=True)]
        return {"cluster_id": "c", "controller_id": 2, "brokers": brokers}
    if api is apis.FIND_COORDINATOR:
        missing = {"key": "no", "node_id": -1, "host": "", "port": -1, "error_code": 15}
        return nodes[0] if version < 4 else {"coordinators": [{"key": "yes", **entry} for entry in nodes] + [missing]}
    endpoints = {"node_endpoints": nodes} if is_addressed(api.key, version) else {}
    if api is apis.PRODUCE:
        partition = {"index": 0, "base_offset": 5}
        return {"responses": [{"name": "t", "partition_responses": [partition]}], **endpoints}
    partition = {"partition_index": 0, "high_watermark": 5, "records": b"bytes that look like records"}
    return {"responses": [{"topic": "t", "topic_id": bytes(range(16)), "partitions": [partition]}], **endpoints}


def read_by_kio(api: apis.Api, version: int, frame: bytes) -> Any:
    stem = re.sub(r"(?<!^)(?=[A-Z])", "_", api.name).lower()
    entity = getattr(import_module(f"kio.schema.{stem}.v{version}.response"), f"{api.name}Response")
    position = 5 if api.response_header_version(version) else 4
    assert int.from_bytes(frame[:4], "big") == CORRELATION_ID
    message, end = entity_reader(entity)(frame[position:], 0)
    assert end == len(frame) - position
    return message


def addresses(message: Any) -> list[tuple[str, int]]:
    """All that kio finds, however deep."""
    if isinstance(message, tuple):
        return [found for item in message for found in addresses(item)]
    if not hasattr(message, "__dataclass_fields__"):
        return []
    found = [(message.host, int(message.port))] if hasattr(message, "host") and message.host else []
    return found + [inner for field in fields(message) for inner in addresses(getattr(message, field.name))]


def without_addresses(message: Any) -> Any:
    if isinstance(message, tuple):
        return [without_addresses(item) for item in message]
    if not hasattr(message, "__dataclass_fields__"):
        return message
    names = [field.name for field in fields(message) if field.name not in ("host", "port")]
    return {name: without_addresses(getattr(message, name)) for name in names}


@pytest.mark.parametrize(
    ("api", "version"),
    [(api, version) for api in ADDRESSED for version in range(FIRST_VERSION.get(api, 0), api.latest_version + 1)],
    ids=lambda value: getattr(value, "name", value),
)
def test_every_address_is_translated_and_nothing_else(api: apis.Api, version: int) -> None:
    frame = headers.encode_response(api, version, CORRELATION_ID, answer(api, version))
    before = read_by_kio(api, version, frame)
    if not is_addressed(api.key, version):
        assert addresses(before) == []
        return
    after = read_by_kio(api, version, rewritten(api.key, version, frame, translate))
    expected = [("127.0.0.1", 50_000 + node) for node, _, _ in BROKERS]
    assert addresses(after) == (expected[:1] if api is apis.FIND_COORDINATOR and version < 4 else expected)
    assert without_addresses(after) == without_addresses(before)


def test_an_answer_without_addresses_goes_on_byte_for_byte() -> None:
    frame = headers.encode_response(apis.FETCH, 17, CORRELATION_ID, {"responses": []})
    assert rewritten(apis.FETCH.key, 17, frame, translate) is frame


@pytest.mark.parametrize("version", range(5))
def test_versions_that_could_not_be_rewritten_are_not_offered(version: int) -> None:
    offered = [{"api_key": key, "min_version": 0, "max_version": 99} for key in (0, 1, 2, 3, 10, 60, 900)]
    frame = headers.encode_response(apis.API_VERSIONS, version, CORRELATION_ID, {"api_keys": offered})
    message = read_by_kio(apis.API_VERSIONS, version, rewritten(apis.API_VERSIONS.key, version, frame, translate))
    found = {int(entry.api_key): int(entry.max_version) for entry in message.api_keys}
    assert found == {0: 11, 1: 17, 2: 99, 3: 13, 10: 6, 60: apis.DESCRIBE_CLUSTER.latest_version, 900: 99}


def test_an_unknown_version_of_apiversions_goes_on() -> None:
    refused = CORRELATION_ID.to_bytes(4, "big") + (35).to_bytes(2, "big") + bytes(4)
    assert rewritten(apis.API_VERSIONS.key, 4, refused, translate) is refused
    assert not is_addressed(apis.API_VERSIONS.key, 5)


def test_what_cannot_be_read_is_refused() -> None:
    frame = headers.encode_response(apis.METADATA, 12, CORRELATION_ID, answer(apis.METADATA, 12))
    with pytest.raises(ProtocolError):
        rewritten(apis.METADATA.key, 12, frame[:-3], translate)
    with pytest.raises(UnsupportedVersionError):
        rewritten(apis.METADATA.key, 99, frame, translate)
