"""One TCP connection to a broker: requests leave in order, and their responses come back in that order.

    size int32 | request header | request            size int32 | response header | response

The socket never blocks: whoever waits, waits in `NetworkClient.poll` or here until a deadline. An error on the way
ends the connection, and every request that still waited for its answer is told so once.
Versions are chosen by ApiVersions (KIP-35, KIP-511): the newest one that both sides and this client's logic speak.
"""

from __future__ import annotations

import select
import socket
import struct
import time
from collections import deque

from kcore.client.errors import (
    UNSUPPORTED_VERSION,
    BrokerUnreachable,
    ClientError,
    ClientTimeout,
    UnsupportedByBroker,
    broker_error,
)
from kcore.protocol import apis, headers
from kcore.protocol.protocol_errors import MessageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    OnResponse = Callable[[Message | None, ClientError | None], None]

MAX_RESPONSE_BYTES = 1 << 30
# A frame is received in place as it comes, in pieces of at most this size.
RECEIVE_BYTES = 1 << 20

# Above these the messages name topics by id or ask for several groups at once, which this client does not.
VERSION_CAPS = {
    apis.PRODUCE.key: 11,
    apis.FETCH.key: 12,
    apis.METADATA.key: 12,
    apis.FIND_COORDINATOR.key: 3,
    apis.OFFSET_COMMIT.key: 8,
    apis.OFFSET_FETCH.key: 7,
    apis.DELETE_TOPICS.key: 5,
}
CLIENT_SOFTWARE_NAME = "kcli"


def now_ms() -> float:
    return time.monotonic() * 1000.0


class InFlightRequest:
    """A request that was sent and waits for its answer."""

    __slots__ = ("api", "correlation_id", "deadline_ms", "on_response", "version")

    def __init__(
        self, api: Api, version: int, correlation_id: int, deadline_ms: float, on_response: OnResponse
    ) -> None:
        self.api = api
        self.version = version
        self.correlation_id = correlation_id
        self.deadline_ms = deadline_ms
        self.on_response = on_response


def _version_of_answer(request: InFlightRequest, frame: bytearray) -> int:
    """A broker that does not know our version of ApiVersions answers in version 0, with the error in front."""
    refused = UNSUPPORTED_VERSION.to_bytes(2, "big")
    return 0 if request.api.key == apis.API_VERSIONS.key and frame[4:6] == refused else request.version


class Connection:
    """`connect` makes one; `send` and `receive` are all that happens until `close`."""

    __slots__ = (
        "_correlation_id",
        "_filled",
        "_frame",
        "_prefix",
        "_socket",
        "client_id",
        "host",
        "in_flight",
        "port",
        "versions",
    )

    def __init__(self, host: str, port: int, client_id: str) -> None:
        self.host = host
        self.port = port
        self.client_id = client_id
        self.in_flight: deque[InFlightRequest] = deque()
        self.versions: dict[int, tuple[int, int]] = {}
        self._socket: socket.socket | None = None
        self._correlation_id = 0
        self._prefix = bytearray(4)
        self._frame: bytearray | None = None
        self._filled = 0

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_open(self) -> bool:
        return self._socket is not None

    def fileno(self) -> int:
        assert self._socket is not None
        return self._socket.fileno()

    def connect(self, timeout_ms: float) -> None:
        """Connects and learns which versions the broker speaks."""
        deadline_ms = now_ms() + timeout_ms
        try:
            stream = socket.create_connection((self.host, self.port), timeout=timeout_ms / 1000.0)
        except TimeoutError:
            raise ClientTimeout(f"{self}: no connection within {timeout_ms:.0f} ms") from None
        except OSError as error:
            raise BrokerUnreachable(f"{self}: {error.strerror or error}") from None
        stream.setblocking(False)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = stream
        try:
            self._negotiate(deadline_ms)
        except ClientError as error:
            self.close(error)
            raise

    def _negotiate(self, deadline_ms: float) -> None:
        """A broker that does not know our version of ApiVersions says so in version 0, and is asked in that one."""
        from kcore import __version__

        software = {"client_software_name": CLIENT_SOFTWARE_NAME, "client_software_version": __version__}
        response = self._exchange(apis.API_VERSIONS, min(3, apis.API_VERSIONS.max_version), software, deadline_ms)
        if response.error_code == UNSUPPORTED_VERSION:
            response = self._exchange(apis.API_VERSIONS, 0, {}, deadline_ms)
        if response.error_code:
            raise broker_error(response.error_code, str(self))
        self.versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}

    def _exchange(self, api: Api, version: int, fields: Mapping[str, Any], deadline_ms: float) -> Message:
        answers: list[Message] = []
        failures: list[ClientError] = []

        def on_response(response: Message | None, error: ClientError | None) -> None:
            if response is not None:
                answers.append(response)
            elif error is not None:
                failures.append(error)

        self._send(api, version, fields, deadline_ms, on_response)
        while not answers and not failures:
            self._wait(select.POLLIN, deadline_ms)
            self.receive()
        if failures:
            raise failures[0]
        return answers[0]

    def version_of(self, api: Api) -> int:
        """The newest version of an API that both sides speak."""
        if api.key not in self.versions:
            raise UnsupportedByBroker(f"{self}: the broker does not know {api.name}")
        low, high = self.versions[api.key]
        version = min(high, api.max_version, VERSION_CAPS.get(api.key, api.max_version))
        if version < max(low, api.min_version):
            raise UnsupportedByBroker(
                f"{self}: the broker speaks {api.name} {low} to {high}, this client {api.min_version} to "
                f"{VERSION_CAPS.get(api.key, api.max_version)}"
            )
        return version

    def send(self, api: Api, fields: Mapping[str, Any], timeout_ms: float, on_response: OnResponse | None) -> None:
        """Sends a request; without `on_response` no answer is expected (produce with acks=0)."""
        self._send(api, self.version_of(api), fields, now_ms() + timeout_ms, on_response)

    def _send(
        self, api: Api, version: int, fields: Mapping[str, Any], deadline_ms: float, on_response: OnResponse | None
    ) -> None:
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        payload = headers.encode_request(api, version, self._correlation_id, self.client_id, fields)
        self._write([struct.pack(">i", len(payload)), payload], deadline_ms)
        if on_response is not None:
            request = InFlightRequest(api, version, self._correlation_id, deadline_ms, on_response)
            self.in_flight.append(request)

    def _write(self, parts: list[bytes], deadline_ms: float) -> None:
        if self._socket is None:
            raise BrokerUnreachable(f"{self}: the connection is closed")
        pending = [memoryview(part) for part in parts]
        try:
            while pending:
                try:
                    sent = self._socket.sendmsg(pending)
                except BlockingIOError:
                    self._wait(select.POLLOUT, deadline_ms)
                    continue
                while pending and sent >= len(pending[0]):
                    sent -= len(pending.pop(0))
                if sent:
                    pending[0] = pending[0][sent:]
        except OSError as error:
            raise self._ended(error) from None

    def _wait(self, events: int, deadline_ms: float) -> None:
        poller = select.poll()
        poller.register(self.fileno(), events)
        if not poller.poll(max(0.0, deadline_ms - now_ms())):
            error = ClientTimeout(f"{self}: no answer in time")
            self.close(error)
            raise error

    def receive(self) -> int:
        """Takes what has arrived and answers the requests that it completes; returns how many."""
        completed = 0
        while self._socket is not None:
            try:
                frame = self._receive_frame(self._socket)
            except OSError as error:
                self.close(self._ended(error))
                break
            if frame is None:
                break
            self._complete(frame)
            completed += 1
        return completed

    def _receive_frame(self, stream: socket.socket) -> bytearray | None:
        """One whole frame, or None until more has come."""
        while True:
            target = self._prefix if self._frame is None else self._frame
            if self._filled < len(target):
                view = memoryview(target)[self._filled : self._filled + RECEIVE_BYTES]
                try:
                    received = stream.recv_into(view)
                except BlockingIOError:
                    return None
                if received == 0:
                    raise ConnectionResetError("the broker closed the connection")
                self._filled += received
                continue
            self._filled = 0
            if self._frame is not None:
                frame, self._frame = self._frame, None
                return frame
            size = int.from_bytes(self._prefix, "big", signed=True)
            if not 0 <= size <= MAX_RESPONSE_BYTES:
                raise ConnectionResetError(f"a response of {size} bytes: this is not a Kafka broker's port")
            self._frame = bytearray(size)

    def _complete(self, frame: bytearray) -> None:
        if not self.in_flight:
            self.close(BrokerUnreachable(f"{self}: an answer that nobody asked for"))
            return
        request = self.in_flight.popleft()
        try:
            correlation_id, response = headers.decode_response(request.api, _version_of_answer(request, frame), frame)
        except MessageError as error:
            self._fail(request, BrokerUnreachable(f"{self}: unreadable {request.api.name} response: {error}"))
            return
        if correlation_id != request.correlation_id:
            text = f"{self}: answer {correlation_id} where {request.correlation_id} was due"
            self._fail(request, BrokerUnreachable(text))
            return
        request.on_response(response, None)

    def _fail(self, request: InFlightRequest, error: ClientError) -> None:
        self.in_flight.appendleft(request)
        self.close(error)

    def expire(self, now: float) -> None:
        """Ends the connection when its oldest request has waited too long."""
        if self.in_flight and self.in_flight[0].deadline_ms <= now:
            self.close(ClientTimeout(f"{self}: no answer to {self.in_flight[0].api.name} in time"))

    def _ended(self, error: OSError) -> BrokerUnreachable:
        ended = BrokerUnreachable(f"{self}: {error.strerror or error}")
        self.close(ended)
        return ended

    def close(self, error: ClientError | None = None) -> None:
        """Ends the connection; what was in flight fails with `error`."""
        stream, self._socket = self._socket, None
        if stream is not None:
            stream.close()
        self._frame, self._filled = None, 0
        abandoned, self.in_flight = self.in_flight, deque()
        reason = error or BrokerUnreachable(f"{self}: the connection was closed")
        for request in abandoned:
            request.on_response(None, reason)
