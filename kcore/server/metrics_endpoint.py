"""The HTTP endpoint that Prometheus scrapes: `/metrics`, `/health` and `/ready` on `metrics.host` and `metrics.port`.

    GET /metrics   all metrics, in text format 0.0.4
    GET /health    200 while the process responds
    GET /ready     200 while the broker serves clients, 503 before and after

One thread serves all connections, one request each. Bounds protect the broker from scrapers: `metrics.max.connections`
connections at a time, and further ones are closed at once; `metrics.connection.timeout.ms` per connection, idle or not;
MAX_HEAD_BYTES for a request's head. Request bodies are not read.

This module is imported only if the endpoint is enabled.
"""

from __future__ import annotations

import errno
import os
import select
import socket
import threading
import time

from kcore.logger import get_logger
from kcore.metrics.registry import CONTENT_TYPE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LOG = get_logger("kcore.server.metrics")

MAX_HEAD_BYTES = 8192
BACKLOG = 16
# Pause before the next accept when the system has no descriptor or memory for a connection.
PAUSE_S = 0.1
HEAD_END = b"\r\n\r\n"
PLAIN = "text/plain; charset=utf-8"
REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Scrape:
    """One connection: the bytes received, the bytes still to send, and its deadline."""

    __slots__ = ("deadline_s", "outgoing", "received", "socket")

    def __init__(self, connection: socket.socket, deadline_s: float) -> None:
        self.socket = connection
        self.deadline_s = deadline_s
        self.received = bytearray()
        self.outgoing: memoryview | None = None


class MetricsEndpoint:
    """`render` returns the text of /metrics; `is_ready` says whether clients are served. `start` binds and serves."""

    def __init__(
        self,
        host: str,
        port: int,
        render: Callable[[], bytes],
        is_ready: Callable[[], bool],
        *,
        max_connections: int,
        timeout_ms: int,
    ) -> None:
        self.host = host
        self.port = port
        self._render = render
        self._is_ready = is_ready
        self._max_connections = max_connections
        self._timeout_s = timeout_ms / 1000
        self._scrapes: dict[int, Scrape] = {}
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The URL for a scraper on this machine."""
        host = {"": "localhost", "0.0.0.0": "localhost", "::": "localhost"}.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/metrics"

    def start(self) -> None:
        """Binds the socket and starts the thread. Raises OSError if the address cannot be bound."""
        try:
            self._listener = open_listener(self.host, self.port)
        except OSError as error:
            # Without errno: the advice for a port in use differs from that for a client listener.
            raise OSError(
                f"cannot serve metrics at metrics.host={self.host} metrics.port={self.port}: {error.strerror}; "
                "choose another address, or remove metrics.port",
            ) from error
        self.port = self._listener.getsockname()[1]
        listener = self._listener
        self._wakeup, self._waker = os.pipe()
        self._poll = select.poll()
        self._poll.register(listener, select.POLLIN)
        self._poll.register(self._wakeup, select.POLLIN)
        self._thread = threading.Thread(target=self._run, name="kafka-metrics-endpoint", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Closes everything. Responses in progress are cut off."""
        if self._thread is None:
            return
        os.write(self._waker, b"\0")
        self._thread.join()
        self._thread = None
        for scrape in list(self._scrapes.values()):
            self._close(scrape)
        self._listener.close()
        os.close(self._wakeup)
        os.close(self._waker)

    # The loop

    def _run(self) -> None:
        while True:
            for descriptor, _ in self._poll.poll(self._poll_timeout_ms()):
                if descriptor == self._wakeup:
                    return
                if descriptor == self._listener.fileno():
                    self._accept()
                elif descriptor in self._scrapes:
                    self._serve(self._scrapes[descriptor])
            now_s = time.monotonic()
            for scrape in [scrape for scrape in self._scrapes.values() if scrape.deadline_s <= now_s]:
                self._close(scrape)

    def _poll_timeout_ms(self) -> float | None:
        if not self._scrapes:
            return None
        first_s = min(scrape.deadline_s for scrape in self._scrapes.values())
        return max(0.0, (first_s - time.monotonic()) * 1000 + 1)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            # Without a descriptor the waiting client would be reported again at once, so pause. Otherwise it is gone.
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                time.sleep(PAUSE_S)
            return
        if len(self._scrapes) >= self._max_connections:
            LOG.warn_once(
                "Closing a scraper's connection: metrics.max.connections (%d) are open", self._max_connections
            )
            connection.close()
            return
        connection.setblocking(False)
        self._scrapes[connection.fileno()] = Scrape(connection, time.monotonic() + self._timeout_s)
        self._poll.register(connection, select.POLLIN)

    def _serve(self, scrape: Scrape) -> None:
        try:
            if scrape.outgoing is None:
                self._receive(scrape)
            if scrape.outgoing is not None:
                self._send(scrape)
        except BlockingIOError:
            pass
        except OSError:
            self._close(scrape)

    def _receive(self, scrape: Scrape) -> None:
        chunk = scrape.socket.recv(MAX_HEAD_BYTES)
        scrape.received += chunk
        if HEAD_END in scrape.received:
            answer = self._answer(bytes(scrape.received))
        elif len(scrape.received) >= MAX_HEAD_BYTES:
            answer = response(431, "the head of the request is too large\n")
        elif not chunk:
            self._close(scrape)
            return
        else:
            return
        scrape.outgoing = memoryview(answer)
        self._poll.modify(scrape.socket, select.POLLOUT)

    def _send(self, scrape: Scrape) -> None:
        assert scrape.outgoing is not None
        scrape.outgoing = scrape.outgoing[scrape.socket.send(scrape.outgoing) :]
        if not scrape.outgoing:
            scrape.socket.shutdown(socket.SHUT_WR)
            self._close(scrape)

    def _close(self, scrape: Scrape) -> None:
        del self._scrapes[scrape.socket.fileno()]
        self._poll.unregister(scrape.socket)
        scrape.socket.close()

    # Answers

    def _answer(self, head: bytes) -> bytes:
        parts = head.split(b"\r\n", 1)[0].split(b" ")
        if len(parts) != 3 or not parts[2].startswith(b"HTTP/1."):
            return response(400, "not a request of HTTP/1\n")
        method, target, _ = parts
        if method not in (b"GET", b"HEAD"):
            return response(405, "only GET and HEAD\n", "Allow: GET, HEAD\r\n")
        answer = self._resource(target.split(b"?", 1)[0])
        return answer if method == b"GET" else answer[: answer.index(HEAD_END) + len(HEAD_END)]

    def _resource(self, path: bytes) -> bytes:
        if path == b"/metrics":
            try:
                return response(200, self._render(), content_type=CONTENT_TYPE)
            except Exception as error:
                LOG.error("Cannot render the metrics", cause=error)
                return response(500, "the metrics could not be rendered; the broker's log says why\n")
        if path == b"/health":
            return response(200, "alive\n")
        if path == b"/ready":
            return response(200, "ready\n") if self._is_ready() else response(503, "not serving\n")
        return response(404, "there are /metrics, /health and /ready\n")


def open_listener(host: str, port: int) -> socket.socket:
    """A listening socket. An empty host means every interface."""
    family, _, _, _, address = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[
        0
    ]
    listener = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def response(status: int, body: str | bytes, headers: str = "", content_type: str = PLAIN) -> bytes:
    """A complete HTTP response. The connection closes after it."""
    payload = body.encode() if isinstance(body, str) else body
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(payload)}\r\nConnection: close\r\n{headers}\r\n"
    )
    return head.encode() + payload
