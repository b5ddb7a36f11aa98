"""What real clients and Apache Kafka said to one another is read, and written again byte for byte."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kcore.protocol import apis, records
from kcore.protocol.headers import (
    api_of,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from kcore.protocol.protocol_errors import ProtocolError

RECORDINGS = sorted((Path(__file__).parents[2] / "vectors/protocol").glob("*.jsonl"))
EXCHANGES = [
    (line["client"], bytes.fromhex(line["request"]), bytes.fromhex(line["response"]))
    for recording in RECORDINGS
    for line in map(json.loads, recording.read_text().splitlines())
]


def exchange(client: str, api: apis.Api) -> tuple[int, bytes, bytes]:
    """Version, request and response of one client's use of an API."""
    found = [
        (request, response) for name, request, response in EXCHANGES if name == client and api_of(request)[0] is api
    ]
    (request, response) = found[0]
    return api_of(request)[1], request, response


@pytest.mark.parametrize(
    ("request_frame", "response_frame"),
    [
        pytest.param(request, response, id=f"{client}-{api_of(request)[0].name}-{api_of(request)[1]}")
        for client, request, response in EXCHANGES
    ],
)
def test_an_exchange_is_read_and_written_again(request_frame: bytes, response_frame: bytes) -> None:
    api, version = api_of(request_frame)
    header, body = decode_request_header(request_frame)
    request = api.request.decode(version, request_frame, body)
    assert encode_request(api, version, header.correlation_id, header.client_id, request) == request_frame
    correlation_id, response = decode_response(api, version, response_frame)
    assert correlation_id == header.correlation_id
    assert encode_response(api, version, correlation_id, response) == response_frame


def test_the_recording_covers_the_clients() -> None:
    clients = {name for name, *_ in EXCHANGES}
    assert {"confluent-kafka", "kafka-python", "aiokafka"} <= clients


def test_librdkafka_asks_for_all_topics_with_three_bytes_too_many() -> None:
    """The body of its Metadata 13 (2.16): the place kept for the number of topics is wider than the null put there."""
    body = bytes.fromhex("00 000000 010000")
    request, end = apis.METADATA.request.decode_prefix(13, body)
    assert (request.topics, end) == (None, 4)
    with pytest.raises(ProtocolError, match="3 bytes are left over"):
        apis.METADATA.request.decode(13, body)


def test_a_produce_request_of_aiokafka() -> None:
    version, request, response = exchange("aiokafka", apis.PRODUCE)
    (topic,) = apis.PRODUCE.request.decode(version, request, decode_request_header(request)[1]).topic_data
    (partition,) = topic.partition_data
    assert (version, topic.name, partition.index) == (7, "c1", 0)
    assert bytes(partition.records).endswith(b"\x02k\x02v\x00")
    (topic,) = decode_response(apis.PRODUCE, version, response)[1].responses
    assert [(answer.index, answer.error_code) for answer in topic.partition_responses] == [(0, 0)]


def test_a_subscription_of_librdkafka() -> None:
    version, request, _ = exchange("confluent-kafka", apis.JOIN_GROUP)
    join = apis.JOIN_GROUP.request.decode(version, request, decode_request_header(request)[1])
    assert (join.group_id, join.protocol_type) == ("gc", "consumer")
    assert [protocol.name for protocol in join.protocols] == ["range", "roundrobin"]
    for protocol in join.protocols:
        assert records.CONSUMER_PROTOCOL_SUBSCRIPTION.decode(protocol.metadata)[1].topics == ["c1"]


def test_what_kafka_says_that_it_serves() -> None:
    version, _, response = exchange("kafka-python", apis.API_VERSIONS)
    _, answer = decode_response(apis.API_VERSIONS, version, response)
    served = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    assert served[apis.METADATA.key] == (0, 12)
    assert {"metadata.version", "kraft.version"} <= {feature.name for feature in answer.supported_features}
    assert answer.finalized_features_epoch > 0
