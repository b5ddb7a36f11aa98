"""What a client sees: frames in, answers out, in order, whoever answers."""

from __future__ import annotations

import gc
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from types import ModuleType

import pytest

from kcore.network.request import Request
from tests.unit.network.conftest import Client, Server, framed, header, request

Serve = Callable[..., Server]


def echo_in_python(received: Request) -> None:
    received.respond(received.frame[received.body :])


def test_native_handler_answers_without_any_handler_thread(serve: Serve, probes: ModuleType) -> None:
    client = serve().connect()
    client.send(request(probes.ECHO, b"hello"))
    assert client.read() == b"hello"


def test_python_handler_sees_the_header_and_both_addresses(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(18, b"body", version=3, correlation_id=-7, client_id="clïent".encode()))
    received = server.receive()
    assert (received.api_key, received.api_version, received.correlation_id) == (18, 3, -7)
    assert received.client_id == "clïent"
    assert received.frame[received.body :] == b"body"
    assert received.listener == 0
    assert (received.client_host, received.client_port) == client.socket.getsockname()
    assert (received.local_host, received.local_port) == ("127.0.0.1", server.port)
    received.respond(b"done")
    assert client.read() == b"done"


def test_null_client_id(serve: Serve) -> None:
    server = serve()
    server.connect().send(request(18, b"body", client_id=None))
    received = server.receive()
    assert received.client_id is None
    assert received.frame[received.body :] == b"body"


def test_tagged_fields_of_a_flexible_header_are_skipped(serve: Serve) -> None:
    server = serve()
    two_tags = b"\x02\x00\x01A\x81\x01\x03BCD"
    server.connect().send(framed(header(3, version=9) + two_tags + b"body"))
    received = server.receive()
    assert received.frame[received.body :] == b"body"


def test_header_below_the_first_flexible_version_has_no_tags(serve: Serve) -> None:
    server = serve()
    server.connect().send(framed(header(3, version=8) + b"\x00body"))
    received = server.receive()
    assert received.frame[received.body :] == b"\x00body"


def test_version_outside_the_native_range_goes_to_python(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    server.connect().send(request(probes.ECHO, b"x", version=2))
    assert server.receive().api_key == probes.ECHO


def test_native_handler_may_pass_a_request_on(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    client = server.connect()
    client.send(request(probes.PASS_ON, b"x"))
    server.receive().respond(b"from python")
    assert client.read() == b"from python"


def test_frames_may_arrive_in_pieces_cut_anywhere(serve: Serve, probes: ModuleType) -> None:
    """Every split point of two pipelined frames, the pieces sent apart by a round trip on another connection."""
    server = serve(num_network_threads=1)
    frames = request(probes.ECHO, b"first") + request(probes.ECHO, b"second", client_id=None)
    other = server.connect()
    client = server.connect()
    for cut in range(len(frames) + 1):
        client.send(frames[:cut])
        other.send(request(probes.ECHO))
        other.read()
        client.send(frames[cut:])
        assert [client.read(), client.read()] == [b"first", b"second"]


@pytest.mark.parametrize("size", [1, 255, 65_536, 262_140, 262_144, 300_000, 1_048_576, 5_000_000])
def test_frames_of_any_size(serve: Serve, probes: ModuleType, size: int) -> None:
    client = serve().connect()
    body = bytes(i * 7 & 0xFF for i in range(256)) * (size // 256 + 1)
    frames = [request(probes.ECHO, body[:size]), request(probes.ECHO, b"after")] * 2
    sender = threading.Thread(target=client.send, args=frames)
    sender.start()
    assert [client.read() for _ in range(4)] == [body[:size], b"after"] * 2
    sender.join()


def test_pipelined_requests_are_answered_in_order_whoever_answers(serve: Serve, probes: ModuleType) -> None:
    """Native and Python requests mixed, four handler threads: a native one may not overtake an earlier Python one."""
    server = serve()
    server.handle(echo_in_python, threads=4)
    client = server.connect()
    keys = [probes.ECHO if number % 3 else 3 for number in range(3000)]
    frames = [request(key, b"%d" % number) for number, key in enumerate(keys)]
    sender = threading.Thread(target=client.send, args=frames)
    sender.start()
    assert [client.read() for _ in keys] == [b"%d" % number for number in range(3000)]
    sender.join()


def test_nothing_is_executed_while_a_request_is_in_flight(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=1)
    client = server.connect()
    client.send(request(3, b"slow"), request(probes.ECHO, b"fast"))
    slow = server.receive()
    other = server.connect()
    other.send(request(probes.SILENT), request(probes.ECHO, b"sync"))
    assert other.read() == b"sync"
    assert server.probe.calls == 2  # both of `other`: the processor has long seen `fast` and left it
    assert client.has_nothing_to_read()
    slow.respond(b"slow")
    assert [client.read(), client.read()] == [b"slow", b"fast"]


def test_delayed_requests_are_answered_from_another_thread(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    clients = [server.connect() for _ in range(10)]
    for number, client in enumerate(clients):
        client.send(request(probes.DELAY, b"%d" % number), request(probes.ECHO, b"next"))
    assert server.probe.wait_for_held(10)
    assert server.probe.answer_held(server.server) == 10
    for number, client in enumerate(clients):
        assert [client.read(), client.read()] == [b"%d" % number, b"next"]


def test_request_without_answer_lets_the_next_one_through(serve: Serve, probes: ModuleType) -> None:
    """acks=0, natively and from Python."""
    server = serve()
    client = server.connect()
    client.send(request(probes.SILENT), request(3, b"silent"), request(probes.ECHO, b"heard"))
    server.receive().respond(None)
    assert client.read() == b"heard"


def test_native_handler_may_close(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    client = server.connect()
    client.send(request(probes.ECHO, b"before"), request(probes.HANG_UP))
    assert client.read() == b"before"
    assert client.is_closed_by_server()
    client = server.connect()
    client.send(request(probes.HANG_UP), request(probes.ECHO, b"after"))
    assert client.is_closed_by_server()


def test_last_words_are_sent_before_the_connection_closes(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    client = server.connect()
    client.send(request(probes.LAST_WORDS, b"goodbye"))
    assert client.read() == b"goodbye"
    assert client.is_closed_by_server()
    client = server.connect()
    client.send(request(3))
    server.receive().respond(b"goodbye too", close=True)
    assert client.read() == b"goodbye too"
    assert client.is_closed_by_server()


def test_request_that_a_handler_drops_closes_its_connection(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(3))
    server.receive()
    assert client.is_closed_by_server()


def test_a_request_may_die_in_a_cycle_with_its_stopped_server(probes: ModuleType) -> None:
    """As the traceback of a failed test makes one; in which order they are taken apart is up to the collector."""
    server = Server(probes, max_bytes=1 << 20)
    memory = server.channel.memory
    server.connect().send(request(18, bytes(100 * 1024)))
    knot: list[object] = [server.receive(), server]
    knot.append(knot)
    server.stop()
    assert memory.used > 0
    del server, knot
    gc.collect()
    assert memory.used == 0


def test_answering_twice_is_refused(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(3))
    received = server.receive()
    received.respond(b"once")
    with pytest.raises(RuntimeError, match="answered twice"):
        received.respond(b"twice")
    assert client.read() == b"once"


def test_client_that_stops_sending_still_gets_its_answers(serve: Serve, probes: ModuleType) -> None:
    """Half-open close: FIN after the requests, one of which is in flight."""
    server = serve()
    client = server.connect()
    client.send(request(3, b"slow"), request(probes.ECHO, b"fast"), request(probes.ECHO, b"partial")[:9])
    client.socket.shutdown(socket.SHUT_WR)
    server.receive().respond(b"slow")
    assert [client.read(), client.read()] == [b"slow", b"fast"]
    assert client.is_closed_by_server()


def test_answers_for_a_dead_connection_are_given_up(serve: Serve, probes: ModuleType) -> None:
    """From Python and natively, also when the slot has a new connection by then: that one gets nothing."""
    server = serve(num_network_threads=1)
    client = server.connect()
    client.send(request(3, b"x"))
    received = server.receive()
    server.server.close_connection(received.connection)
    assert client.is_closed_by_server()
    successor = server.connect()
    successor.send(request(3, b"y"))
    second = server.receive()
    assert second.connection != received.connection
    received.respond(b"too late")
    server.probe.answer_dead(server.server, received.connection)
    server.probe.answer_dead(server.server, 0xFFFF_FFFF_FFFF_FFFF)
    second.respond(b"mine")
    assert successor.read() == b"mine"
    assert server.probe.released == 2


def test_two_hundred_connections(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    server.handle(echo_in_python, threads=2)
    clients = [server.connect() for _ in range(200)]
    for _ in range(5):
        for number, client in enumerate(clients):
            client.send(request(probes.ECHO, b"n%d" % number), request(3, b"p%d" % number))
        for number, client in enumerate(clients):
            assert [client.read(), client.read()] == [b"n%d" % number, b"p%d" % number]
    assert server.server.connection_count() == 200
    assert server.server.counters()["requests"] == 2000


ECHO_CLIENT = """
import socket, sys
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
frame = bytes.fromhex(sys.argv[2])
print("ready", flush=True)
sys.stdin.readline()
for _ in range(1000):
    connection.sendall(frame)
    received = 0
    while received < int(sys.argv[3]):
        received += len(connection.recv(65536))
print("done", flush=True)
"""


def test_native_requests_are_answered_while_the_gil_is_held(serve: Serve, probes: ModuleType) -> None:
    """The client is another process; here no Python code runs until it has its thousand answers."""
    server = serve()
    frame = request(probes.ECHO, b"without the GIL")
    arguments = [str(server.port), frame.hex(), str(4 + len(b"without the GIL"))]
    with subprocess.Popen(
        [sys.executable, "-c", ECHO_CLIENT, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        assert client.stdout.readline() == b"ready\n"
        client.stdin.write(b"go\n")
        assert probes.hold_gil_until_readable(client.stdout.fileno(), 60_000)
        assert client.stdout.readline() == b"done\n"
    assert server.probe.calls == 1000


def test_ipv6_listener_and_listener_index(serve: Serve) -> None:
    server = serve(listeners=[("PLAINTEXT", "127.0.0.1", 0), ("INTERNAL", "::1", 0)])
    name, host, port = server.server.bound_addresses()[1]
    assert (name, host) == ("INTERNAL", "::1")
    client = Client(port, "::1")
    server.clients.append(client)
    client.send(request(3))
    received = server.receive()
    assert (received.listener, received.local_host, received.client_host) == (1, "::1", "::1")
    received.respond(b"six")
    assert client.read() == b"six"


def test_wildcard_listener_names_the_address_that_was_reached(serve: Serve) -> None:
    server = serve(listeners=[("PLAINTEXT", "", 0)])
    server.connect().send(request(3))
    assert server.receive().local_host == "127.0.0.1"


def test_port_that_is_taken_is_named(serve: Serve) -> None:
    server = serve()
    with pytest.raises(OSError, match=rf"PLAINTEXT://127.0.0.1:{server.port}: Address already in use"):
        serve(listeners=[("PLAINTEXT", "127.0.0.1", server.port)])


def test_api_keys_outside_the_table_go_to_python(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    for key in (-1, 127, 128, 32767, -32768):
        client.send(framed(struct.pack(">hhih", key, 0, 1, -1)))
        received = server.receive()
        assert received.api_key == key
        received.respond(b"")
        assert client.read() == b""
