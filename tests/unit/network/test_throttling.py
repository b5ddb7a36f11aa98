"""A connection that exceeded a quota is muted for as long as its answer says, and nobody else is."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from types import ModuleType

from tests.unit.network.conftest import Client, Server, request

Serve = Callable[..., Server]

FOR_EVER_MS = 3_600_000
MS = 1_000_000


def throttle(server: Server, client: Client, throttle_ms: int) -> int:
    """Has one request of a client answered with a throttle time; the time before that, in nanoseconds."""
    client.send(request(18, b"first"))
    received = server.receive()
    before_ns = time.monotonic_ns()
    received.respond(b"slow down", throttle_ms=throttle_ms)
    assert client.read() == b"slow down"
    return before_ns


def test_a_throttled_connection_executes_nothing_while_others_go_on(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=1)
    throttled, other = server.connect(), server.connect()
    throttle(server, throttled, FOR_EVER_MS)
    throttled.send(request(18, b"second"), request(probes.ECHO, b"third"))
    # One processor looks after both: what it answers now comes after what it left lying.
    for number in range(20):
        other.send(request(probes.ECHO, b"%d" % number))
        assert other.read() == b"%d" % number
    assert server.channel.depth == 0
    assert throttled.has_nothing_to_read()


def test_it_goes_on_when_its_time_is_over_and_not_before(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    client = server.connect()
    before_ns = throttle(server, client, 60)
    client.send(request(18, b"second"), request(probes.ECHO, b"third"))
    received = server.receive()
    assert received.frame[received.body :] == b"second"
    assert received.received_ns >= before_ns + 60 * MS
    received.respond(b"at last")
    assert (client.read(), client.read()) == (b"at last", b"third")


def test_what_it_had_sent_already_waits_too(serve: Serve) -> None:
    """Frames that came in one piece with the first one are in the buffer of the connection, not in its socket."""
    server = serve()
    client = server.connect()
    client.send(request(18, b"first"), request(18, b"second"), request(18, b"third"))
    for body in (b"first", b"second"):
        received = server.receive()
        assert received.frame[received.body :] == body
        before_ns = time.monotonic_ns()
        received.respond(body, throttle_ms=30)
        assert client.read() == body
    received = server.receive()
    assert received.received_ns >= before_ns + 30 * MS
    received.respond(b"third")
    assert client.read() == b"third"


def test_many_connections_come_back_each_at_its_time(serve: Serve) -> None:
    server = serve(num_network_threads=1)
    clients = [server.connect() for _ in range(150)]
    chosen = random.Random(7)
    due_ns: dict[bytes, int] = {}
    for number, client in enumerate(clients):
        client.send(request(18, b"first %d" % number), request(18, b"second %d" % number))
    left = {number for number in range(len(clients)) if number % 5 == 0}
    back: set[int] = set()
    while len(back | left) < len(clients):
        received = server.receive()
        turn, number = received.frame[received.body :].split()
        if turn == b"second":
            assert received.received_ns >= due_ns[number]
            back.add(int(number))
            received.respond(b"done")
            continue
        throttle_ms = chosen.randint(20, 200)
        due_ns[number] = time.monotonic_ns() + throttle_ms * MS
        received.respond(b"slow down", throttle_ms=throttle_ms)
        if int(number) in left:
            # Some leave while they are muted, from any place in the queue.
            clients[int(number)].close()


def test_a_large_answer_is_sent_while_its_connection_is_throttled(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(18))
    server.receive().respond(b"x" * (32 << 20), throttle_ms=FOR_EVER_MS)
    assert client.read() == b"x" * (32 << 20)


def test_an_answer_that_waits_to_be_sent_leaves_although_the_next_request_is_in_a_handler(
    serve: Serve, probes: ModuleType
) -> None:
    server = serve()
    client = server.connect()
    client.send(request(probes.ECHO, b"x" * (32 << 20)), request(18, b"waits"))
    assert client.read() == b"x" * (32 << 20)
    server.receive().respond(b"done")
    assert client.read() == b"done"


def test_a_request_without_an_answer_throttles_too(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(18, b"acks=0"), request(18, b"next"))
    received = server.receive()
    before_ns = time.monotonic_ns()
    received.respond(None, throttle_ms=40)
    following = server.receive()
    assert following.received_ns >= before_ns + 40 * MS
    following.respond(b"done")
    assert client.read() == b"done"


def test_a_throttled_connection_is_idle_like_any_other(serve: Serve) -> None:
    """Else those that clients have left behind would be kept for as long as they are throttled."""
    server = serve(max_idle_ms=1_500)
    gone, silent = server.connect(), server.connect()
    throttle(server, gone, FOR_EVER_MS)
    throttle(server, silent, FOR_EVER_MS)
    gone.close()
    assert silent.is_closed_by_server()
    deadline_s = time.monotonic() + 20
    while server.server.connection_count() and time.monotonic() < deadline_s:
        time.sleep(0.001)
    assert server.server.connection_count() == 0
    assert server.server.counters()["connections_idle_closed"] == 2


def test_the_server_stops_while_connections_are_throttled(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    throttle(server, client, FOR_EVER_MS)
    client.send(request(18, b"second"))
    server.server.shutdown(timeout_ms=FOR_EVER_MS)
    assert client.is_closed_by_server()
