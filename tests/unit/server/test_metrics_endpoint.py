"""The HTTP endpoint under scrapers of every kind: correct, wrong, slow, many."""

from __future__ import annotations

import errno
import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from kcore.server import metrics_endpoint
from kcore.server.metrics_endpoint import MAX_HEAD_BYTES, MetricsEndpoint

TEXT = b"# a metric\nsomething 1\n"


class Served:
    """An endpoint whose text and readiness the test sets."""

    def __init__(self, **options: int) -> None:
        self.text: Callable[[], bytes] = lambda: TEXT
        self.is_ready = True
        settings = {"max_connections": 4, "timeout_ms": 10_000, **options}
        self.endpoint = MetricsEndpoint("127.0.0.1", 0, lambda: self.text(), lambda: self.is_ready, **settings)
        self.endpoint.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.endpoint.port), timeout=60)

    def get(self, path: str, method: str = "GET") -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.endpoint.port, timeout=60)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get_in_the_end(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Where the endpoint has little patience, and a busy machine may need longer than that."""
        while True:
            try:
                return self.get(path)
            except (ConnectionError, http.client.HTTPException):
                continue

    def raw(self, request: bytes) -> bytes:
        """Everything that is answered until the end."""
        with self.connect() as connection:
            connection.sendall(request)
            return rest_of(connection)


def rest_of(connection: socket.socket) -> bytes:
    answer = b""
    try:
        while chunk := connection.recv(1 << 16):
            answer += chunk
    except ConnectionResetError:
        pass
    return answer


@pytest.fixture
def served() -> Iterator[Served]:
    served = Served()
    yield served
    served.endpoint.stop()


def test_metrics(served: Served) -> None:
    status, headers, body = served.get("/metrics")
    assert (status, body) == (200, TEXT)
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert headers["Content-Length"] == str(len(TEXT))
    assert served.get("/metrics?name=something")[2] == TEXT


def test_head_has_no_body(served: Served) -> None:
    status, headers, body = served.get("/metrics", "HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(TEXT)))


def test_health_and_readiness(served: Served) -> None:
    assert served.get("/ready")[0] == 200
    served.is_ready = False
    assert served.get("/ready")[0] == 503
    assert served.get("/health")[0] == 200


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        (b"GET /else HTTP/1.1", 404),
        (b"POST /metrics HTTP/1.1", 405),
        (b"GET /metrics", 400),
        (b"GET /metrics HTTP/2", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    ],
    ids=["unknown", "method", "no version", "HTTP 2", "TLS"],
)
def test_wrong_requests_are_told_so(served: Served, request_line: bytes, status: int) -> None:
    answer = served.raw(request_line + b"\r\nHost: x\r\n\r\n")
    assert answer.split(b" ", 2)[1] == str(status).encode()


def test_a_request_in_single_bytes(served: Served) -> None:
    with served.connect() as connection:
        for byte in b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n":
            connection.sendall(bytes([byte]))
        assert rest_of(connection).endswith(b"alive\n")


def test_an_endless_head_is_refused(served: Served) -> None:
    answer = served.raw(b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * (MAX_HEAD_BYTES // 6))
    assert answer.startswith(b"HTTP/1.1 431 ")


def test_a_text_that_fails_is_an_error_and_not_the_end(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> bytes:
        raise RuntimeError("no metrics today")

    served.text = broken
    assert served.get("/metrics")[0] == 500
    served.text = lambda: TEXT
    assert served.get("/metrics")[2] == TEXT
    assert "no metrics today" in capsys.readouterr().err


def test_many_who_say_nothing_leave_room_when_their_time_is_over() -> None:
    served = Served(max_connections=2, timeout_ms=200)
    try:
        silent = [served.connect() for _ in range(2)]
        # Answered by nobody, and closed by the endpoint.
        assert [rest_of(connection) for connection in silent] == [b"", b""]
        assert served.get_in_the_end("/metrics")[2] == TEXT
    finally:
        served.endpoint.stop()


def test_more_than_allowed_are_closed_at_once(served: Served) -> None:
    silent = [served.connect() for _ in range(4)]
    try:
        with served.connect() as one_more:
            assert rest_of(one_more) == b""
    finally:
        for connection in silent:
            connection.close()


def test_who_does_not_read_is_cut_off() -> None:
    served = Served(timeout_ms=300)
    served.text = lambda: bytes(32 << 20)
    try:
        with served.connect() as lazy:
            lazy.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            assert served.get_in_the_end("/health")[0] == 200
            # The endpoint's own record of the connection ends with it.
            while served.endpoint._scrapes:
                threading.Event().wait(0.01)
            assert len(rest_of(lazy)) < 32 << 20
    finally:
        served.endpoint.stop()


@pytest.mark.parametrize(("host", "reason"), [("127.0.0.1", "Address already in use"), ("no host", "not known")])
def test_an_address_that_cannot_be_had_is_named(served: Served, host: str, reason: str) -> None:
    port = served.endpoint.port
    taken = MetricsEndpoint(host, port, lambda: b"", bool, max_connections=1, timeout_ms=1)
    with pytest.raises(OSError, match=f"metrics.host={host} metrics.port={port}: .*{reason}; choose another"):
        taken.start()


def test_urls_for_a_person_at_this_machine() -> None:
    def url(host: str) -> str:
        return MetricsEndpoint(host, 9404, lambda: b"", bool, max_connections=1, timeout_ms=1).url

    assert url("") == url("0.0.0.0") == "http://localhost:9404/metrics"
    assert url("::1") == "http://[::1]:9404/metrics"
    assert url("broker.example") == "http://broker.example:9404/metrics"


class WithoutDescriptors:
    """A listening socket whose first attempt to accept fails for want of a descriptor."""

    def __init__(self, listener: socket.socket) -> None:
        self.fileno = listener.fileno
        self.close = listener.close
        self.calls = 0
        self._listener = listener

    def accept(self) -> tuple[socket.socket, object]:
        self.calls += 1
        if self.calls == 1:
            raise OSError(errno.EMFILE, "Too many open files")
        return self._listener.accept()


def test_without_descriptors_it_pauses_and_serves_later(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that cannot be accepted stays ready: the thread must not ask for it without end."""
    paused, go_on = threading.Event(), threading.Event()

    def sleep(_: float) -> None:
        paused.set()
        go_on.wait(60)

    monkeypatch.setattr(metrics_endpoint, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    listener = WithoutDescriptors(served.endpoint._listener)
    monkeypatch.setattr(served.endpoint, "_listener", listener)
    with served.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        assert paused.wait(60)
        assert listener.calls == 1
        go_on.set()
        assert rest_of(connection).endswith(b"alive\n")
