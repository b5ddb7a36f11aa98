"""What a processor counts of requests: native ones, delayed ones, those of handlers; alone and in one go."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from kcore.network.request_metrics import TIMES, ApiTotals
from tests.unit.network.conftest import Server, request

Serve = Callable[..., Server]

ECHO, DELAY, SILENT = 100, 102, 104
HANDLED = 18
MS = 1_000_000
TIMEOUT_S = 60
HEADER_BYTES = 8 + 2 + len("test")


def counted(server: Server, api_key: int, requests: int) -> ApiTotals:
    """The API's totals once so many of its requests were counted, which is an instant after their answers."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        totals = server.server.request_totals().get(api_key)
        if totals is not None and totals.requests >= requests:
            assert totals.requests == requests
            return totals
        assert time.monotonic() < deadline, totals and totals.requests


def spent_ms(totals: ApiTotals, name: str) -> float:
    counts, sum_ns = totals.times[name]
    assert sum(counts) == totals.requests, name
    return sum_ns / MS


def test_a_native_request(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(ECHO, b"four"))
    assert client.read() == b"four"
    totals = counted(server, ECHO, 1)
    assert totals.versions == {0: 1}
    assert totals.errors == {0: 1}
    assert totals.request_bytes[1] == HEADER_BYTES + 4
    assert totals.response_bytes[1] == 4
    for name in ("RemoteTimeMs", "ThrottleTimeMs", "ResponseQueueTimeMs"):
        assert spent_ms(totals, name) == 0
    assert spent_ms(totals, "LocalTimeMs") > 0
    parts = sum(spent_ms(totals, name) for name in TIMES if name not in ("TotalTimeMs", "ThrottleTimeMs"))
    assert parts == pytest.approx(spent_ms(totals, "TotalTimeMs"), abs=1e-6)


@pytest.mark.parametrize("count", [2, 128, 129, 1000])
def test_requests_that_come_in_one_go(serve: Serve, count: int) -> None:
    server = serve()
    client = server.connect()
    client.send(*[request(ECHO, b"%04d" % number) for number in range(count)])
    assert [client.read() for _ in range(count)] == [b"%04d" % number for number in range(count)]
    totals = counted(server, ECHO, count)
    assert totals.response_bytes[1] == 4 * count
    assert sum(totals.response_bytes[0]) == count
    # They share the time of their row, and nothing of it is lost or counted twice.
    local_counts, _ = totals.times["LocalTimeMs"]
    assert sum(local_counts) == count
    parts = sum(spent_ms(totals, name) for name in TIMES if name not in ("TotalTimeMs", "ThrottleTimeMs"))
    assert parts == pytest.approx(spent_ms(totals, "TotalTimeMs"), abs=1e-6)


def test_the_wait_of_a_delayed_request_is_remote_time(serve: Serve) -> None:
    server = serve(num_network_threads=1)
    client, other = server.connect(), server.connect()
    client.send(request(DELAY, b"later"))
    server.probe.wait_for_held(1)
    # Once the processor answers another it is done with the first one, so that the time from here on is not local.
    other.send(request(ECHO, b"now"))
    assert other.read() == b"now"
    spin(30)
    server.probe.answer_held(server.server)
    assert client.read() == b"later"
    totals = counted(server, DELAY, 1)
    assert 30 <= spent_ms(totals, "RemoteTimeMs") <= spent_ms(totals, "TotalTimeMs")


def test_a_handlers_request_waits_in_the_queue_and_is_worked_on(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(HANDLED, b"?"))
    received = server.receive()
    spin(20)
    received.begin()
    spin(30)
    received.respond(b"!")
    assert client.read() == b"!"
    totals = counted(server, HANDLED, 1)
    assert spent_ms(totals, "RequestQueueTimeMs") >= 20
    assert spent_ms(totals, "LocalTimeMs") >= 30
    assert spent_ms(totals, "RemoteTimeMs") == 0
    # Handlers count their errors themselves.
    assert totals.errors == {}
    server.server.errors.count(HANDLED, 35, 2)
    server.server.errors.count(HANDLED, -1, 1)
    assert counted(server, HANDLED, 1).errors == {35: 2, -1: 1}


def test_what_is_answered_after_its_handler_left_is_remote_time(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(HANDLED, b"?"))
    received = server.receive()
    began_ns = time.monotonic_ns()
    received.begin()
    received.leave()
    local_ms = (time.monotonic_ns() - began_ns) / MS
    spin(30)
    received.respond(b"!")
    assert client.read() == b"!"
    totals = counted(server, HANDLED, 1)
    assert spent_ms(totals, "RemoteTimeMs") >= 30
    assert spent_ms(totals, "LocalTimeMs") <= local_ms


def test_throttle_time_is_what_the_answer_says(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(HANDLED, b"?"))
    server.receive().respond(b"!", throttle_ms=25)
    assert client.read() == b"!"
    totals = counted(server, HANDLED, 1)
    assert spent_ms(totals, "ThrottleTimeMs") == 25
    assert spent_ms(totals, "TotalTimeMs") > 0


def test_a_request_behind_one_that_waits_begins_when_that_is_answered(serve: Serve) -> None:
    """As in Kafka, which does not read from a muted connection."""
    server = serve()
    client = server.connect()
    began_ns = time.monotonic_ns()
    client.send(request(HANDLED, b"first"), request(HANDLED, b"second"))
    first = server.receive()
    spin(40)
    first.respond(b"1")
    second = server.receive()
    second.respond(b"2")
    assert (client.read(), client.read()) == (b"1", b"2")
    totals = counted(server, HANDLED, 2)
    # The one after the other: the 40 ms are not in both.
    assert 40 <= spent_ms(totals, "TotalTimeMs") <= (time.monotonic_ns() - began_ns) / MS


def test_requests_without_answers_count_too(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(SILENT), request(ECHO, b"x"), request(SILENT), request(SILENT))
    assert client.read() == b"x"
    totals = counted(server, SILENT, 3)
    assert totals.response_bytes[1] == 0
    assert totals.errors == {0: 3}


def test_answers_that_nobody_reads_end_with_their_connection(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.socket.setblocking(False)
    with pytest.raises(BlockingIOError):
        client.send(*[request(ECHO, bytes(1 << 20)) for _ in range(64)])
    while server.server.counters()["requests"] == 0:
        pass
    client.close()
    deadline = time.monotonic() + TIMEOUT_S
    while server.server.connection_count() > 0:
        assert time.monotonic() < deadline
    executed = server.server.counters()["requests"]
    assert counted(server, ECHO, executed).requests == executed


@pytest.mark.parametrize(("version", "versions"), [(31, {31: 1}), (32, {}), (-1, {}), (32766, {})])
def test_versions_beyond_the_table_count_in_the_sum_only(serve: Serve, version: int, versions: dict[int, int]) -> None:
    server = serve()
    client = server.connect()
    client.send(request(HANDLED, b"?", version=version))
    server.receive().respond(b"!")
    client.read()
    assert counted(server, HANDLED, 1).versions == versions


@pytest.mark.parametrize("api_key", [-1, 128, 32767, -32768])
def test_keys_beyond_the_table_are_not_counted(serve: Serve, api_key: int) -> None:
    server = serve()
    client = server.connect()
    client.send(request(api_key, b"?"))
    server.receive().respond(b"!")
    client.send(request(ECHO, b"after"))
    assert (client.read(), client.read()) == (b"!", b"after")
    counted(server, ECHO, 1)
    assert set(server.server.request_totals()) == {ECHO}


def test_connections_are_counted_by_listener(serve: Serve) -> None:
    listeners = [("ONE", "127.0.0.1", 0), ("TWO", "127.0.0.1", 0)]
    server = serve(listeners=listeners, num_network_threads=1)
    client = server.connect()
    client.send(request(ECHO, b"x"))
    client.read()
    assert server.server.listener_connections() == [(0, 0, 1, 0), (1, 0, 0, 0)]
    client.close()
    deadline = time.monotonic() + TIMEOUT_S
    while server.server.listener_connections() != [(0, 0, 1, 1), (1, 0, 0, 0)]:
        assert time.monotonic() < deadline


def test_handlers_that_wait_are_idle(serve: Serve) -> None:
    server = serve()
    before_ns = server.channel.handler_idle_ns
    assert server.channel.receive(1, 30) == []
    assert server.channel.handler_idle_ns - before_ns >= 29 * MS


def test_network_threads_are_idle_while_they_wait(serve: Serve) -> None:
    """Without anything that wakes them."""
    server = serve(num_network_threads=2)
    before_ns = server.server.processor_idle_ns()
    deadline = time.monotonic() + TIMEOUT_S
    # As soon as they have come to wait, which may be later than now.
    while any(now - then < 40 * MS for then, now in zip(before_ns, server.server.processor_idle_ns(), strict=True)):
        assert time.monotonic() < deadline
        spin(5)


def spin(duration_ms: int) -> None:
    """Lets time pass that is to be measured."""
    end_ns = time.monotonic_ns() + duration_ms * MS
    while time.monotonic_ns() < end_ns:
        pass
