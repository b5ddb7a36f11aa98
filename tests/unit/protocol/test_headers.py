"""Headers: the rule of their versions, the old client id, the answer to ApiVersions that is never flexible."""

from __future__ import annotations

import pytest

from kcore import errors
from kcore.protocol import apis
from kcore.protocol.headers import (
    REQUEST_HEADER,
    api_of,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from kcore.protocol.protocol_errors import ProtocolError
from tests.unit.protocol import samples


@pytest.mark.parametrize(("version", "size"), [(3, 8 + 4), (4, 8 + 4 + 1)])
def test_a_request_header_gets_tagged_fields_with_the_first_flexible_version(version: int, size: int) -> None:
    fields = {"group_id": "g", "generation_id": 7, "member_id": "m"}
    frame = encode_request(apis.HEARTBEAT, version, -5, "me", fields)
    assert frame[:8] == bytes.fromhex(f"000c 000{version} fffffffb")
    assert frame[8:12] == b"\x00\x02me"
    header, body = decode_request_header(frame)
    assert (header.request_api_key, header.request_api_version, header.correlation_id) == (12, version, -5)
    assert (header.client_id, body) == ("me", size)
    assert apis.HEARTBEAT.request.decode(version, frame, body).generation_id == 7


def test_a_client_id_may_be_null_and_a_header_may_carry_unknown_tags() -> None:
    frame = encode_request(apis.HEARTBEAT, 4, 1, None, {})
    assert decode_request_header(frame)[0].client_id is None
    fields = {"request_api_key": 12, "request_api_version": 4, "unknown_tags": {7: b"trace"}}
    header, position = decode_request_header(REQUEST_HEADER.encode(2, fields) + b"body")
    assert header.unknown_tags == {7: b"trace"}
    assert position == len(REQUEST_HEADER.encode(2, fields))


def test_a_header_of_an_unknown_version_of_a_known_api_is_read() -> None:
    """So that an ApiVersions request from the future can be answered."""
    fields = {"request_api_key": 18, "request_api_version": 99, "correlation_id": 3, "client_id": "new"}
    header, _ = decode_request_header(REQUEST_HEADER.encode(2, fields) + b"whatever")
    assert (header.request_api_version, header.correlation_id) == (99, 3)


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(errors.UnsupportedVersionError, match="no API of key 999"):
        decode_request_header(REQUEST_HEADER.encode(1, {"request_api_key": 999}))
    for size in range(4):
        with pytest.raises(ProtocolError):
            api_of(b"\x00" * size)
    with pytest.raises(ProtocolError, match="RequestHeader version 1: correlation_id"):
        decode_request_header(bytes.fromhex("000c 0000 0000"))


@pytest.mark.parametrize("api", apis.BY_KEY.values(), ids=lambda api: api.name)
def test_a_response_is_read_back_with_its_correlation_id(api: apis.Api) -> None:
    for version in range(api.latest_version + 1):
        fields = samples.sample(api.response, version, "random")
        frame = encode_response(api, version, 77, fields)
        correlation_id, message = decode_response(api, version, frame)
        assert correlation_id == 77
        assert message == api.response.decode(version, api.response.encode(version, fields))
        has_tags = len(frame) - len(api.response.encode(version, fields)) == 5
        assert has_tags == (version >= api.first_flexible and api is not apis.API_VERSIONS)
