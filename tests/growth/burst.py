"""A connection with many requests in flight: a soak creates thousands of items a second, without a client library."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from typing import Any, Self

from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_response, encode_request
from kcore.protocol.message import Message

TIMEOUT_S = 120.0
# Requests and responses of one window fit into the buffers of both sockets, so that neither side waits for the other.
WINDOW = 100


class Burst:
    """Responses are in the order of the requests, as the broker guarantees for one connection."""

    def __init__(self, port: int, client_id: str = "growth") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = self._socket.makefile("rb")
        self._client_id = client_id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._received.close()
        self._socket.close()

    def one(self, api: Api, version: int, request: Any) -> Message:
        return next(self.each(api, version, [request]))

    def each(
        self, api: Api, version: int, requests: Sequence[Any], client_ids: Sequence[str] | None = None
    ) -> Iterator[Message]:
        """The response to each request; `client_ids` are those of the requests, where they differ."""
        for start in range(0, len(requests), WINDOW):
            names = client_ids[start : start + WINDOW] if client_ids is not None else [self._client_id] * WINDOW
            frames = [
                encode_request(api, version, number, name, request)
                for number, (request, name) in enumerate(zip(requests[start : start + WINDOW], names, strict=False))
            ]
            self._socket.sendall(b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames))
            for number in range(len(frames)):
                correlation_id, response = decode_response(api, version, self._frame())
                assert correlation_id == number
                yield response

    def _frame(self) -> bytes:
        size = int.from_bytes(self._exactly(4), "big")
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = self._received.read(size)
        if len(data) < size:
            raise AssertionError("the broker closed the connection")
        return data
