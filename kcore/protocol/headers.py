"""Request and response headers, and messages with their headers.

A request header has the API key and version, a correlation id and the client id. In header version 2 the client id
keeps its old length of two bytes, so that every broker can read it; version 2 adds tagged fields (KIP-482). A response
header is the correlation id, plus tagged fields in version 1. The four bytes of the frame length are not included.
"""

from __future__ import annotations

from kcore.errors import UnsupportedVersionError
from kcore.protocol import apis
from kcore.protocol.codec import MessageType
from kcore.protocol.protocol_errors import ProtocolError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, TypeAlias

    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    Buffer: TypeAlias = bytes | bytearray | memoryview
    Fields: TypeAlias = Message | Mapping[str, Any]

_REQUEST_HEADER_SCHEMA = """
request_api_key      int16   0+
request_api_version  int16   0+
correlation_id       int32   0+
client_id            string  1+  nullable default=null ignorable inflexible
"""
REQUEST_HEADER = MessageType("RequestHeader", _REQUEST_HEADER_SCHEMA, latest_version=2, first_flexible=2)
RESPONSE_HEADER = MessageType("ResponseHeader", "correlation_id  int32  0+", latest_version=1, first_flexible=1)

NO_TAGGED_FIELDS = b"\x00"


def api_of(frame: Buffer) -> tuple[Api, int]:
    """The API and version of a request. UnsupportedVersionError for an unknown key: even its header is unknown."""
    if len(frame) < 4:
        raise ProtocolError(f"a request of {len(frame)} bytes has no API key and version", 0)
    key = int.from_bytes(frame[:2], "big", signed=True)
    api = apis.BY_KEY.get(key)
    if api is None:
        raise UnsupportedVersionError(f"there is no API of key {key}")
    return api, int.from_bytes(frame[2:4], "big", signed=True)


def decode_request_header(frame: Buffer) -> tuple[Message, int]:
    """The header, and the position of the body."""
    api, version = api_of(frame)
    return REQUEST_HEADER.decode_prefix(api.request_header_version(version), frame)


def encode_request(api: Api, version: int, correlation_id: int, client_id: str | None, fields: Fields) -> bytes:
    header = {
        "request_api_key": api.key,
        "request_api_version": version,
        "correlation_id": correlation_id,
        "client_id": client_id,
    }
    return api.request.encode(version, fields, REQUEST_HEADER.encode(api.request_header_version(version), header))


def encode_response(api: Api, version: int, correlation_id: int, fields: Fields) -> bytes:
    header = correlation_id.to_bytes(4, "big", signed=True)
    if api.response_header_version(version) == 1:
        header += NO_TAGGED_FIELDS
    return api.response.encode(version, fields, header)


def decode_response(api: Api, version: int, frame: Buffer) -> tuple[int, Message]:
    """Returns the correlation id and the body."""
    header, position = RESPONSE_HEADER.decode_prefix(api.response_header_version(version), frame)
    return header.correlation_id, api.response.decode(version, frame, position)
