"""A socket that speaks the protocol frame by frame, for tests about bytes, order and closed connections."""

from __future__ import annotations

import socket
from typing import Any, Self

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_response, encode_request
from kcore.protocol.message import Message

TIMEOUT_S = 60


class RawClient:
    """One connection; nothing is retried and nothing is checked."""

    def __init__(self, port: int, host: str = "127.0.0.1", client_id: str | None = "raw") -> None:
        self.socket = socket.create_connection((host, port), timeout=TIMEOUT_S)
        self.client_id = client_id
        self.correlation_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        self.socket.close()

    def send_frame(self, payload: bytes) -> None:
        """The payload behind its length."""
        self.socket.sendall(len(payload).to_bytes(4, "big") + payload)

    def send(self, api: Api, version: int, fields: Any) -> int:
        """A request; answers its correlation id."""
        self.correlation_id += 1
        self.send_frame(encode_request(api, version, self.correlation_id, self.client_id, fields))
        return self.correlation_id

    def receive_frame(self) -> bytes | None:
        """The next response without its length; None when the broker closed the connection."""
        head = self._exactly(4)
        return None if head is None else self._exactly(int.from_bytes(head, "big"))

    def receive(self, api: Api, version: int) -> Message:
        """The next response, which must answer the last request."""
        frame = self.receive_frame()
        assert frame is not None, "the broker closed the connection"
        correlation_id, message = decode_response(api, version, frame)
        assert correlation_id == self.correlation_id
        return message

    def request(self, api: Api, version: int, fields: Any) -> Message:
        """A request and its response."""
        self.send(api, version, fields)
        return self.receive(api, version)

    def is_closed_by_broker(self) -> bool:
        """Waits for what comes next: True for the end of the connection, False for a frame."""
        try:
            return self.receive_frame() is None
        except ConnectionResetError:
            return True

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> bytes:
        """Makes a topic; answers its id."""
        rows = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": rows}
        response = self.request(apis.CREATE_TOPICS, 7, {"topics": [topic]})
        assert response.topics[0].error_code == 0, response
        return bytes(response.topics[0].topic_id)

    def _exactly(self, size: int) -> bytes | None:
        data = bytearray()
        while len(data) < size:
            piece = self.socket.recv(size - len(data))
            if not piece:
                return None
            data += piece
        return bytes(data)
