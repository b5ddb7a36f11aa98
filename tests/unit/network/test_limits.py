"""Bounds: frames, queues, slow readers, idle clients, descriptors, and the end."""

from __future__ import annotations

import os
import random
import resource
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kcore.logger import LIMITED, LINES_EACH
from kcore.network.request_channel import RequestChannel
from tests.unit.network.conftest import Server, framed, header, request

Serve = Callable[..., Server]


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (struct.pack(">i", 1001), "1001 bytes is larger than socket.request.max.bytes (1000)"),
        (struct.pack(">i", 2**31 - 1), "larger than socket.request.max.bytes"),
        (struct.pack(">i", -1), "a request of -1 bytes is no request"),
        (struct.pack(">i", 0), "a request of 0 bytes is no request"),
        (b"GET / HTTP/1.1\r\n\r\n", "larger than socket.request.max.bytes"),
        (framed(b"\x00\x03\x00\x00\x00\x00\x00\x01"), "malformed"),  # no client id
        (framed(b"\x00\x03\x00\x00\x00\x00\x00\x01\x00\x05abc"), "malformed"),  # client id cut
        (framed(b"\x00\x03\x00\x00\x00\x00\x00\x01\xff\xfe"), "malformed"),  # client id of -2 bytes
        (framed(header(3, version=9)), "malformed"),  # no tagged fields
        (framed(header(3, version=9) + b"\x01\x00\x7f"), "malformed"),  # tag longer than the frame
        (framed(header(3, version=9) + b"\x01\x00\xff\xff\xff\xff\x0f"), "malformed"),  # tag of a negative length
        (framed(header(3, version=9) + b"\xff\xff\xff\xff\x7f"), "malformed"),  # over-long varint
    ],
)
def test_frame_that_breaks_a_rule_closes_with_one_line(
    serve: Serve, capfd: pytest.CaptureFixture[str], frame: bytes, rule: str
) -> None:
    server = serve(max_request_bytes=1000)
    client = server.connect()
    address = "{}:{}".format(*client.socket.getsockname())
    client.send(frame)
    assert client.is_closed_by_server()
    assert server.channel.receive(1, 0) == []  # a handler thread's visit, which writes the line
    [line] = capfd.readouterr().err.splitlines()
    assert f"WARN [kcore.network] Closing the connection of {address}: " in line
    assert rule in line
    assert server.server.counters()["connections_refused"] == 1


def test_rubbish_harms_nobody(serve: Serve, probes: ModuleType) -> None:
    """Random frames, valid ones with bytes changed, and streams cut anywhere: others are served as before."""
    server = serve(max_request_bytes=1 << 20)
    server.handle(lambda received: received.respond(received.frame))
    bystander = server.connect()
    generator = random.Random(2026)
    valid = request(3, b"\x00" + b"x" * 40, version=9) + request(probes.ECHO, b"y" * 40)
    for number in range(300):
        stream = bytearray(valid * 3)
        for _ in range(generator.randrange(8)):
            stream[generator.randrange(len(stream))] = generator.randrange(256)
        client = server.connect()
        client.send(bytes(stream[: generator.randrange(len(stream))]) if number % 3 else generator.randbytes(200))
        if number % 2:
            client.close()
        bystander.send(request(probes.ECHO, b"%d" % number))
        assert bystander.read() == b"%d" % number


def test_largest_allowed_frame_passes(serve: Serve, probes: ModuleType) -> None:
    client = serve(max_request_bytes=1000).connect()
    body = b"x" * (1000 - len(header(probes.ECHO)))
    client.send(request(probes.ECHO, body))
    assert client.read() == body


def test_flood_of_broken_frames_is_logged_within_bounds(serve: Serve, capfd: pytest.CaptureFixture[str]) -> None:
    LIMITED.report(0)
    capfd.readouterr()
    server = serve()
    for _ in range(150):
        client = server.connect()
        client.send(struct.pack(">i", -1))
        assert client.is_closed_by_server()
    server.channel.receive(1, 0)
    LIMITED.report(0)
    lines = [line.partition("] ")[2] for line in capfd.readouterr().err.splitlines()]
    assert len(lines) == LINES_EACH + 2
    # What a handler had to log, and what found no room to wait for it.
    cause = "a request of N bytes is no request, client 127.0.0.1"
    assert f"WARN [kcore.network] {64 - LINES_EACH} more lines were left out: {cause}" in lines
    assert any(line.startswith("WARN [kcore.network] 86 more lines were left out: ") for line in lines)


@pytest.mark.parametrize("bound", [{"max_requests": 2}])
def test_full_request_channel_mutes_connections_and_loses_nothing(
    serve: Serve, probes: ModuleType, bound: dict[str, int]
) -> None:
    server = serve(num_network_threads=1, **bound)
    clients = [server.connect() for _ in range(20)]
    for number, client in enumerate(clients):
        client.send(request(3, b"%060d" % number))
    native = server.connect()
    native.send(request(probes.ECHO, b"not held up"))
    assert native.read() == b"not held up"
    assert server.channel.depth == 2
    for _ in clients:
        received = server.receive()
        received.respond(received.frame[received.body :])
    assert [client.read() for client in clients] == [b"%060d" % number for number in range(20)]


def test_request_larger_than_the_bytes_bound_is_not_stuck(serve: Serve) -> None:
    server = serve(max_bytes=100)
    client = server.connect()
    client.send(request(3, b"x" * 5000))
    server.receive().respond(b"ok")
    assert client.read() == b"ok"


def test_slow_reader_is_muted_and_gets_everything_in_the_end(serve: Serve, probes: ModuleType) -> None:
    """It pipelines 64 MiB of answers without reading; the server stops executing its requests, and serves others."""
    server = serve(num_network_threads=1)
    slow = server.connect()
    slow.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    body = os.urandom(1 << 20)
    sender = threading.Thread(target=slow.send, args=[request(probes.ECHO, body)] * 64)
    sender.start()
    other = server.connect()
    for _ in range(200):
        other.send(request(probes.ECHO, b"quick"))
        assert other.read() == b"quick"
    assert server.probe.calls < 200 + 64
    for _ in range(64):
        assert slow.read() == body
    sender.join()


def test_idle_connection_is_closed_and_a_waiting_one_is_not(serve: Serve, probes: ModuleType) -> None:
    # Longer than this thread may be held up between a connection and its request.
    server = serve(max_idle_ms=2000)
    waiting = server.connect()
    waiting.send(request(probes.DELAY, b"long poll"))
    assert server.probe.wait_for_held(1)
    idle = server.connect()
    idle.send(request(probes.ECHO, b"once"))
    assert idle.read() == b"once"
    assert idle.is_closed_by_server()
    assert server.server.counters()["connections_idle_closed"] == 1
    assert server.probe.answer_held(server.server) == 1
    assert waiting.read() == b"long poll"


@pytest.fixture
def use_up_descriptors() -> Iterator[Callable[[], None]]:
    """Leaves the process not one free descriptor until the test is over."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fillers: list[int] = []

    def use_up() -> None:
        highest = max(map(int, os.listdir("/proc/self/fd")))
        while not fillers or fillers[-1] < highest:
            fillers.append(os.dup(2))
        resource.setrlimit(resource.RLIMIT_NOFILE, (fillers[-1] + 1, hard))

    yield use_up
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    for filler in fillers:
        os.close(filler)


def test_clients_are_turned_away_when_descriptors_run_out(
    serve: Serve, probes: ModuleType, use_up_descriptors: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    server = serve()
    established = server.connect()
    established.send(request(probes.ECHO, b"accepted"))
    assert established.read() == b"accepted"
    late = socket.socket()
    late.settimeout(60)
    use_up_descriptors()
    late.connect(("127.0.0.1", server.port))
    assert late.recv(1) == b""
    late.close()
    established.send(request(probes.ECHO, b"still here"))
    assert established.read() == b"still here"
    server.channel.receive(1, 0)
    assert "no file descriptor left" in capfd.readouterr().err


def test_shutdown_answers_what_is_in_flight_and_nothing_later(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=1)
    in_python, in_purgatory, idle = server.connect(), server.connect(), server.connect()
    in_python.send(request(3, b"python"), request(probes.ECHO, b"never executed"))
    in_purgatory.send(request(probes.DELAY, b"purgatory"))
    received = server.receive()
    assert server.probe.wait_for_held(1)
    stopping = threading.Thread(target=server.server.shutdown, args=(20_000,))
    stopping.start()
    assert idle.is_closed_by_server()  # from here on it drains
    received.respond(b"python")
    server.probe.answer_held(server.server)
    stopping.join()
    assert in_python.read() == b"python"
    assert in_python.is_closed_by_server()
    assert in_purgatory.read() == b"purgatory"
    assert server.probe.calls == 0


def test_shutdown_gives_up_at_its_deadline(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(3))
    received = server.receive()
    server.server.shutdown(timeout_ms=1)
    assert client.is_closed_by_server()
    received.respond(b"too late")


def test_stop_accepting_keeps_open_connections(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    client = server.connect()
    client.send(request(probes.ECHO, b"1"))
    assert client.read() == b"1"
    server.server.stop_accepting()
    with pytest.raises(ConnectionRefusedError):
        server.connect()
    client.send(request(probes.ECHO, b"2"))
    assert client.read() == b"2"


def test_closed_channel_hands_out_nothing_and_closes_what_waited(serve: Serve) -> None:
    server = serve()
    client = server.connect()
    client.send(request(3))
    waiter = threading.Thread(target=lambda: server.channel.receive(1, 20_000))
    server.receive().respond(b"")
    client.read()
    waiter.start()
    server.channel.close()
    waiter.join()
    assert server.channel.receive(1, 20_000) == []
    client.send(request(3))
    assert client.is_closed_by_server()


def test_channel_without_requests_times_out() -> None:
    assert RequestChannel(10).receive(1, 1) == []


def test_channel_needs_room() -> None:
    with pytest.raises(ValueError, match=r"queued\.max\.requests"):
        RequestChannel(0)


def part_bytes(data: bytes) -> bytes:
    return b"\x00" + struct.pack(">q", len(data)) + data


def part_file(position: int, size: int) -> bytes:
    return b"\x01" + struct.pack(">qq", position, size)


@pytest.mark.parametrize("spin_us", [0, 60])
def test_responses_of_bytes_and_file_ranges(serve: Serve, probes: ModuleType, tmp_path: Path, spin_us: int) -> None:
    """Small ranges are copied, large ones sent from the file, empty ones skipped; every range is released once."""
    content = os.urandom(3_000_000)
    (tmp_path / "segment").write_bytes(content)
    with (tmp_path / "segment").open("rb") as segment:
        server = serve(descriptor=segment.fileno(), spin_us=spin_us)
        client = server.connect()
        ranges = [(0, 1), (5, 4095), (7, 4096), (11, 0), (13, 65_536), (1000, 2_900_000), (2_999_999, 1)]
        body = b"".join(part_bytes(b"<%d>" % size) + part_file(at, size) for at, size in ranges) + part_bytes(b"end")
        expected = b"".join(b"<%d>" % size + content[at : at + size] for at, size in ranges) + b"end"
        client.send(*[request(probes.PARTS, body)] * 3)
        assert [client.read() for _ in range(3)] == [expected] * 3
        client.send(request(probes.PARTS, b"".join(part_bytes(b"%05d" % i) + part_file(i, 2) for i in range(500))))
        assert client.read() == b"".join(b"%05d" % i + content[i : i + 2] for i in range(500))
        assert server.probe.released == 3 * len(ranges) + 500


@pytest.mark.parametrize("size", [100, 100_000])
def test_file_shorter_than_its_range_ends_the_connection(
    serve: Serve, probes: ModuleType, tmp_path: Path, size: int
) -> None:
    (tmp_path / "segment").write_bytes(b"x" * 50)
    with (tmp_path / "segment").open("rb") as segment:
        server = serve(descriptor=segment.fileno())
        client = server.connect()
        client.send(request(probes.PARTS, part_bytes(b"header") + part_file(0, size)))
        with pytest.raises(EOFError):
            client.read()
        assert server.probe.released == 1
