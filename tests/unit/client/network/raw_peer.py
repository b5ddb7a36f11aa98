"""A peer that is scripted byte by byte: what a broker, or something that is none, may do to a connection."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from kcore.protocol import apis, headers
from kcore.protocol.apis import Api
from kcore.protocol.message import Message

Script = Callable[["Talk"], None]


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Talk:
    """One accepted connection, as a script speaks on it."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._stream = connection.makefile("rb")

    def request(self) -> tuple[Api, int, int, Message]:
        """The next request: API, version, correlation id and fields; EOFError once the client has gone."""
        prefix = self._stream.read(4)
        if len(prefix) < 4:
            raise EOFError
        frame = self._stream.read(int.from_bytes(prefix, "big"))
        api, version = headers.api_of(frame)
        header, position = headers.decode_request_header(frame)
        return api, version, header.correlation_id, api.request.decode(version, frame, position)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send_in_pieces(self, data: bytes, cut: int) -> None:
        """In two packets, the second of which leaves once the first was taken."""
        self.socket.sendall(data[:cut])
        self.socket.sendall(data[cut:])

    def accept_versions(self) -> None:
        """Answers ApiVersions with everything that the codec knows."""
        api, version, correlation_id, _ = self.request()
        assert api is apis.API_VERSIONS
        self.send(framed(versions_response(version, correlation_id)))


def versions_response(version: int, correlation_id: int, error: int = 0) -> bytes:
    ranges = [
        {"api_key": api.key, "min_version": api.min_version, "max_version": api.max_version}
        for api in apis.BY_KEY.values()
    ]
    fields = {"error_code": error, "api_keys": ranges}
    return headers.encode_response(apis.API_VERSIONS, version, correlation_id, fields)


def metadata_response(version: int, correlation_id: int, cluster_id: str) -> bytes:
    fields = {"brokers": [], "topics": [], "cluster_id": cluster_id}
    return headers.encode_response(apis.METADATA, version, correlation_id, fields)


class RawPeer:
    """Gives each connection, one after another, to the next script; the last one serves all that follow."""

    def __init__(self, *scripts: Script, port: int = 0) -> None:
        self._scripts = scripts
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self.accepted = 0
        self.failure: BaseException | None = None
        self._current: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> RawPeer:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        if self._current is not None:
            with contextlib.suppress(OSError):
                self._current.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._listener.close()
        if self.failure is not None:
            raise self.failure

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._current = connection
            script = self._scripts[min(self.accepted, len(self._scripts) - 1)]
            self.accepted += 1
            with connection:
                try:
                    script(Talk(connection))
                except (EOFError, OSError):
                    continue
                except BaseException as error:
                    self.failure = error
                    return


def serve(talk: Talk) -> None:
    """A well-behaved broker: names itself in Metadata by the topic that it is asked for."""
    talk.accept_versions()
    while True:
        api, version, correlation_id, request = talk.request()
        assert api is apis.METADATA
        talk.send(framed(metadata_response(version, correlation_id, request.topics[0].name)))
