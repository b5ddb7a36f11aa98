"""A tap between a client and a broker that counts what its fetches cost in bytes, seen from outside of both.

The broker advertises the tap's address, so that clients come back to it whatever they learn from metadata. Frames are
told apart by their length prefix; answers come in the order of requests on each connection.
"""

from __future__ import annotations

import socket
import threading
from collections import deque
from contextlib import suppress

from perf.processes import LOOPBACK

FETCH = 1
CHUNK = 1 << 18


class Frames:
    """Cuts a stream into frames, of which it gives the sizes and the first bytes."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        self._pending += data
        found = []
        while len(self._pending) >= 4:
            size = 4 + int.from_bytes(self._pending[:4], "big")
            if len(self._pending) < size:
                break
            found.append((size, bytes(self._pending[4:8])))
            del self._pending[:size]
        return found


class FetchTap:
    """Listens on `port` and passes everything on to `broker_port`."""

    def __init__(self, port: int, broker_port: int) -> None:
        self.broker_port = broker_port
        self.fetches = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((LOOPBACK, port))
        threading.Thread(target=self._accept, daemon=True).start()

    def counts(self) -> tuple[int, int, int]:
        """Fetches answered so far, and the bytes of their requests and answers."""
        with self._lock:
            return self.fetches, self.bytes_in, self.bytes_out

    def stop(self) -> None:
        for one in [self._listener, *self._sockets]:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection((LOOPBACK, self.broker_port))
                self._sockets += [client, broker]
                requests: deque[tuple[bool, int]] = deque()
                for run in (self._requests, self._answers):
                    threading.Thread(target=run, args=(client, broker, requests), daemon=True).start()

    def _requests(self, client: socket.socket, broker: socket.socket, requests: deque[tuple[bool, int]]) -> None:
        frames = Frames()
        with suppress(OSError):
            while data := client.recv(CHUNK):
                for size, head in frames.feed(data):
                    requests.append((int.from_bytes(head[:2], "big") == FETCH, size))
                broker.sendall(data)
            broker.shutdown(socket.SHUT_WR)

    def _answers(self, client: socket.socket, broker: socket.socket, requests: deque[tuple[bool, int]]) -> None:
        frames = Frames()
        with suppress(OSError):
            while data := broker.recv(CHUNK):
                for size, _ in frames.feed(data):
                    is_fetch, request_size = requests.popleft()
                    if is_fetch:
                        with self._lock:
                            self.fetches += 1
                            self.bytes_in += request_size
                            self.bytes_out += size
                client.sendall(data)
            client.shutdown(socket.SHUT_WR)
