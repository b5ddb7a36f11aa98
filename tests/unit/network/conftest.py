"""A socket server with native probes behind it, and a client that speaks frames and nothing else."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from kcore.network.dispatch import DispatchTable
from kcore.network.request import Request
from kcore.network.request_channel import RequestChannel
from kcore.network.socket_server import SocketServer
from kcore.platform.real_disk import RealDisk
from tests.native import build


def header(api_key: int, version: int = 0, correlation_id: int = 1, client_id: bytes | None = b"test") -> bytes:
    size = -1 if client_id is None else len(client_id)
    return struct.pack(">hhih", api_key, version, correlation_id, size) + (client_id or b"")


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def request(api_key: int, body: bytes = b"", **fields: Any) -> bytes:
    return framed(header(api_key, **fields) + body)


class Client:
    """A blocking socket that reads and writes whole frames."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.socket = socket.create_connection((host, port), timeout=60)
        self.received = bytearray()

    def send(self, *frames: bytes) -> None:
        self.socket.sendall(b"".join(frames))

    def read(self) -> bytes:
        """The next response without its length."""
        (size,) = struct.unpack(">i", self._take(4))
        return self._take(size)

    def _take(self, size: int) -> bytes:
        while len(self.received) < size:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise EOFError(f"closed with {len(self.received)} of {size} bytes")
            self.received += chunk
        taken = bytes(self.received[:size])
        del self.received[:size]
        return taken

    def is_closed_by_server(self) -> bool:
        """Waits for the end of the stream; False when bytes come instead."""
        try:
            return not self.received and self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def has_nothing_to_read(self) -> bool:
        """Whether nothing has arrived so far."""
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1, socket.MSG_PEEK) is None
        except BlockingIOError:
            return not self.received
        finally:
            self.socket.settimeout(60)

    def close(self) -> None:
        self.socket.close()


class Server:
    """A started SocketServer, its channel, its probe and, when asked for, handler threads."""

    def __init__(self, probes: ModuleType, **options: Any) -> None:
        channel_options = {name: options.pop(name) for name in ("max_requests", "max_bytes") if name in options}
        self.dispatch = DispatchTable()
        self.dispatch.set_first_flexible(3, 9)
        self.probe = probes.NetworkProbe(self.dispatch, options.pop("descriptor", -1))
        self.channel = RequestChannel(**channel_options)
        listeners = options.pop("listeners", [("PLAINTEXT", "127.0.0.1", 0)])
        options.setdefault("num_network_threads", 2)
        self.server = SocketServer(listeners, RealDisk(), self.channel, self.dispatch, **options)
        self.server.start()
        self.port = self.server.bound_addresses()[0][2]
        self.clients: list[Client] = []
        self.handlers: list[threading.Thread] = []

    def connect(self) -> Client:
        client = Client(self.port)
        self.clients.append(client)
        return client

    def handle(self, function: Callable[[Request], None], threads: int = 1) -> None:
        """Runs `function` on every request that reaches the channel."""

        def run() -> None:
            finished_turn = -1
            while not self.channel.closed:
                requests = self.channel.receive(16, 1000, finished_turn)
                for received in requests:
                    function(received)
                finished_turn = requests[0].turn if requests else -1

        for _ in range(threads):
            self.handlers.append(threading.Thread(target=run))
            self.handlers[-1].start()

    def receive(self) -> Request:
        """The next request of the channel."""
        [received] = self.channel.receive(1, 60_000)
        return received

    def stop(self) -> None:
        self.server.shutdown(timeout_ms=200)
        self.channel.close()
        for handler in self.handlers:
            handler.join()
        for client in self.clients:
            client.close()


@pytest.fixture(scope="session")
def probes() -> ModuleType:
    return build.load("network_probe")


@pytest.fixture
def serve(probes: ModuleType) -> Iterator[Callable[..., Server]]:
    """Starts servers with the given options; every one is stopped, and must then hold no connection and no memory."""
    servers: list[Server] = []

    def start(**options: Any) -> Server:
        servers.append(Server(probes, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
        assert server.server.connection_count() == 0
        assert server.channel.memory.used == 0
