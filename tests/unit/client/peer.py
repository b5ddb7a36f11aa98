"""A scripted broker: a socket that answers each request with what the test says, and remembers what it was asked."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

from kcore.protocol import apis, headers
from kcore.protocol.message import Message

Fields = dict[str, Any]
# The answer to a request: fields, raw bytes of a frame, None for silence, or CLOSE.
Answer = Callable[[int, Message], "Fields | bytes | None"]
CLOSE = b"close"
SUPPORTED = (
    apis.API_VERSIONS,
    apis.METADATA,
    apis.PRODUCE,
    apis.FETCH,
    apis.LIST_OFFSETS,
    apis.INIT_PRODUCER_ID,
    apis.CREATE_TOPICS,
)


class ScriptedPeer:
    """Serves connections one after another until it is closed; `answers` maps an API's key to its answer."""

    def __init__(self, answers: dict[int, Answer] | None = None) -> None:
        self.answers: dict[int, Answer] = {apis.API_VERSIONS.key: answer_versions, **(answers or {})}
        self.requests: list[tuple[int, int, Message]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._connections: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def asked(self, api: Any) -> list[Message]:
        """The requests of one API so far."""
        return [request for key, _, request in self.requests if key == api.key]

    def __enter__(self) -> ScriptedPeer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        # A shutdown wakes the accept of the other thread, which a close alone does not.
        self._listener.shutdown(socket.SHUT_RDWR)
        for connection in self._connections:
            with connection:
                self._shut(connection)
        self._thread.join(10)
        self._listener.close()

    @staticmethod
    def _shut(connection: socket.socket) -> None:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            return

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            try:
                with connection.makefile("rb") as stream:
                    while self._answer(connection, stream):
                        pass
            except OSError:
                pass
            self._shut(connection)

    def _answer(self, connection: socket.socket, stream: Any) -> bool:
        prefix = stream.read(4)
        if len(prefix) < 4:
            return False
        frame = stream.read(int.from_bytes(prefix, "big"))
        api, version = headers.api_of(frame)
        header, position = headers.decode_request_header(frame)
        known = version <= api.max_version
        request = api.request.decode(version, frame, position) if known else Message()
        self.requests.append((api.key, version, request))
        answer = self.answers[api.key](version, request)
        if answer is None:
            return True
        if answer is CLOSE:
            return False
        if isinstance(answer, bytes):
            connection.sendall(answer)
            return True
        if answer.pop("in_version_0", False):
            version = 0
        response = headers.encode_response(api, version, answer.pop("correlation_id", header.correlation_id), answer)
        connection.sendall(len(response).to_bytes(4, "big") + response)
        return True


def answer_versions(version: int, request: Message) -> Fields:
    ranges = [{"api_key": a.key, "min_version": a.min_version, "max_version": a.max_version} for a in SUPPORTED]
    return {"error_code": 0, "api_keys": ranges}


def metadata_of(peer: ScriptedPeer, topics: dict[str, int]) -> Answer:
    """A cluster of this one broker, with so many partitions of each topic; others are unknown."""

    def answer(version: int, request: Message) -> Fields:
        asked = [topic.name for topic in request.topics] if request.topics is not None else list(topics)
        return {
            "brokers": [{"node_id": 0, "host": "127.0.0.1", "port": peer.port, "rack": None}],
            "cluster_id": "scripted",
            "controller_id": 0,
            "topics": [_topic(name, topics.get(name)) for name in asked],
        }

    return answer


def _topic(name: str, partitions: int | None) -> Fields:
    if partitions is None:
        return {"name": name, "error_code": 3, "partitions": []}
    described = [
        {"partition_index": number, "leader_id": 0, "leader_epoch": 0, "replica_nodes": [0], "isr_nodes": [0]}
        for number in range(partitions)
    ]
    return {"name": name, "error_code": 0, "partitions": described}
