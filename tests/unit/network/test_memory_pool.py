"""queued.max.request.bytes: what clients send in part or faster than it is handled fills no more memory than that."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest

from tests.unit.network.conftest import Client, Server, framed, header, request

Serve = Callable[..., Server]
KIB = 1024
MIB = 1024 * 1024
# A buffer is at most a quarter larger than the frame in it.
LARGEST_BUFFER = MIB + MIB // 4
METADATA = 3


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    """Whether `condition` came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.001)
    return True


def sized_request(api_key: int, size: int, fill: bytes = b"x") -> bytes:
    """A request whose frame, with its length, has `size` bytes."""
    return framed(header(api_key) + fill * (size - 4 - len(header(api_key))))


def start_sending(client: Client, *frames: bytes) -> threading.Thread:
    """Sends from a thread of its own, as the server may take its time."""

    def send() -> None:
        with contextlib.suppress(OSError):  # the test may close the connection meanwhile
            client.send(*frames)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def send_half(server: Server, frame: bytes) -> Client:
    """A client of which half a frame was received, or waits for memory."""
    client = server.connect()
    # Few bytes in the kernel's hands, so that the client notices when nobody receives.
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16 * KIB)
    start_sending(client, frame[: len(frame) // 2])
    return client


@pytest.mark.parametrize("processors", [1, 3])
def test_half_sent_frames_take_bounded_memory_and_all_finish(serve: Serve, probes: ModuleType, processors: int) -> None:
    server = serve(num_network_threads=processors, max_bytes=4 * MIB)
    server.handle(lambda received: received.respond(b"handled"))
    frame = sized_request(probes.ECHO, MIB)
    clients = [server.connect() for _ in range(40)]
    halves = [start_sending(client, frame[: MIB // 2]) for client in clients]
    assert wait_until(lambda: server.channel.memory.used >= 4 * MIB)
    others = [server.connect() for _ in range(6)]
    for number in range(100):
        for other in others:
            other.send(request(probes.ECHO, b"%d" % number), request(METADATA))
            assert other.read() == b"%d" % number
            assert other.read() == b"handled"
        assert server.channel.memory.used < 4 * MIB + LARGEST_BUFFER
    assert server.probe.calls == 600
    for half in halves:
        half.join()
    rest = [start_sending(client, frame[MIB // 2 :]) for client in reversed(clients)]
    for client in clients:
        assert client.read() == frame[4 + len(header(probes.ECHO)) :]
    for thread in rest:
        thread.join()
    assert wait_until(lambda: server.channel.memory.used == 0)


def test_memory_of_clients_that_leave_goes_to_those_who_wait(serve: Serve, probes: ModuleType) -> None:
    server = serve(max_bytes=2 * MIB)
    frame = sized_request(probes.ECHO, MIB)
    holders = [send_half(server, frame) for _ in range(2)]
    assert wait_until(lambda: server.channel.memory.used >= 2 * MIB)
    waiting = [server.connect() for _ in range(5)]
    leaving = [send_half(server, frame) for _ in range(5)]
    senders = [start_sending(client, frame) for client in waiting]
    small = server.connect()
    small.send(request(probes.ECHO, b"goes on"))
    assert small.read() == b"goes on"
    assert server.probe.calls == 1
    for client in leaving + holders:
        client.socket.shutdown(socket.SHUT_RDWR)
        client.close()
    for client in waiting:
        assert len(client.read()) > MIB - 100
    for sender in senders:
        sender.join()
    assert wait_until(lambda: server.channel.memory.used == 0)


def test_frame_larger_than_all_memory_is_received_alone(serve: Serve, probes: ModuleType) -> None:
    server = serve(max_bytes=20 * KIB)
    clients = [server.connect() for _ in range(3)]
    senders = [start_sending(client, sized_request(probes.ECHO, MIB)) for client in clients]
    for client, sender in zip(clients, senders, strict=True):
        assert len(client.read()) > MIB - 100
        sender.join()
    assert wait_until(lambda: server.channel.memory.used == 0)


def send_beginning(server: Server, client: Client, data: bytes, received: int) -> None:
    """Sends, and comes back when at least `received` bytes of it are with the server."""
    before = server.server.counters()["bytes_in"]
    client.send(data)
    assert wait_until(lambda: server.server.counters()["bytes_in"] - before >= received)


def test_nobody_waits_for_memory_that_others_hold_while_they_wait(serve: Serve, probes: ModuleType) -> None:
    """Were the first bytes of each frame to take all of the memory, none could ever be received to its end."""
    server = serve(max_bytes=MIB)
    frame = sized_request(probes.ECHO, 900 * KIB)
    clients = [server.connect() for _ in range(6)]
    for client in clients:
        send_beginning(server, client, frame[: 20 * KIB], 16 * KIB)
    senders = [start_sending(client, frame[20 * KIB :]) for client in clients]
    for client, sender in zip(clients, senders, strict=True):
        assert len(client.read()) > 800 * KIB
        sender.join()


def has_received_or_is_full(server: Server, received: int) -> bool:
    memory = server.channel.memory
    return memory.used >= memory.limit or server.server.counters()["bytes_in"] >= received


def test_nobody_keeps_the_memory_of_a_frame_for_the_next_one(serve: Serve, probes: ModuleType) -> None:
    server = serve(max_bytes=400 * KIB)
    first, second = sized_request(probes.ECHO, 150 * KIB), sized_request(probes.ECHO, 300 * KIB)
    clients = [server.connect() for _ in range(4)]
    for number, client in enumerate(clients, 1):
        beginning = start_sending(client, first + second[: 100 * KIB])
        received = number * (len(first) + 16 * KIB)
        assert wait_until(partial(has_received_or_is_full, server, received))
        beginning.join()
    senders = [start_sending(client, second[100 * KIB :]) for client in clients]
    for client, sender in zip(clients, senders, strict=True):
        assert len(client.read()) > 100 * KIB
        assert len(client.read()) > 200 * KIB
        sender.join()


@pytest.mark.parametrize("processors", [1, 2])
def test_client_that_never_pauses_starves_nobody(serve: Serve, probes: ModuleType, processors: int) -> None:
    """Memory for one frame at a time: those who wait get it between two frames of a stream."""
    server = serve(num_network_threads=processors, max_bytes=MIB)
    frame = sized_request(probes.SILENT, MIB)
    stop = threading.Event()
    greedy = [server.connect() for _ in range(2)]

    def stream(client: Client) -> None:
        while not stop.is_set():
            client.send(frame, frame)

    streams = [threading.Thread(target=stream, args=[client]) for client in greedy]
    for thread in streams:
        thread.start()
    assert wait_until(lambda: bool(server.probe.calls > 4))
    for client in [server.connect() for _ in range(4)]:
        sender = start_sending(client, sized_request(probes.ECHO, MIB))
        assert len(client.read()) > MIB - 100
        sender.join()
    stop.set()
    for thread in streams:
        thread.join()
    assert wait_until(lambda: server.channel.memory.used == 0)


def test_request_counts_until_it_is_answered(serve: Serve) -> None:
    server = serve(max_bytes=MIB)
    first, second = server.connect(), server.connect()
    first.send(sized_request(METADATA, 100 * KIB))
    received = server.receive()
    assert wait_until(lambda: server.channel.memory.used == 100 * KIB - 4)
    second.send(request(METADATA))
    small = server.receive()
    # The processor may still hold the receive buffer of what it has just handed over.
    assert wait_until(lambda: server.channel.memory.used == 100 * KIB - 4)
    received.respond(b"done")
    assert first.read() == b"done"
    assert wait_until(lambda: server.channel.memory.used == 0)
    small.respond(b"")
    first.send(sized_request(METADATA, 100 * KIB))
    del received
    received = server.receive()
    del received  # dropped without an answer: the connection ends, and its memory is free
    assert first.is_closed_by_server()
    assert wait_until(lambda: server.channel.memory.used == 0)


def test_requests_that_wait_for_handlers_hold_up_large_ones_only(serve: Serve, probes: ModuleType) -> None:
    server = serve(max_bytes=MIB)
    clients = [server.connect() for _ in range(30)]
    senders = [start_sending(client, sized_request(METADATA, 100 * KIB)) for client in clients]
    assert wait_until(lambda: server.channel.memory.used >= MIB)
    native = server.connect()
    native.send(request(probes.ECHO, b"not held up"))
    assert native.read() == b"not held up"
    assert server.channel.depth < 20
    for _ in clients:
        server.receive().respond(b"done")
        assert server.channel.memory.used < 2 * MIB
    assert [client.read() for client in clients] == [b"done"] * 30
    for sender in senders:
        sender.join()
    assert wait_until(lambda: server.channel.memory.used == 0)


def test_unbounded_memory_is_not_counted(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    assert server.channel.memory.limit == -1
    clients = [server.connect() for _ in range(8)]
    for client in clients:
        client.send(sized_request(probes.ECHO, 4 * MIB)[: 2 * MIB])
    assert server.channel.memory.used == 0


def test_who_waits_for_memory_is_not_idle(serve: Serve, probes: ModuleType) -> None:
    # Far above the pace at which the holder is kept from being idle itself: this thread may be held up in between.
    server = serve(max_bytes=MIB, max_idle_ms=3000)
    frame = sized_request(probes.ECHO, MIB)
    holder, waiting = server.connect(), server.connect()
    holder.send(frame[: MIB // 2])
    assert wait_until(lambda: server.channel.memory.used >= MIB)
    sender = start_sending(waiting, frame)
    silent = server.connect()
    silent_is_closed = threading.Event()

    def watch() -> None:
        if silent.is_closed_by_server():
            silent_is_closed.set()

    watcher = threading.Thread(target=watch)
    watcher.start()
    for position in range(MIB // 2, MIB - 1):
        holder.send(frame[position : position + 1])
        if silent_is_closed.wait(0.01):
            break
    watcher.join()
    assert silent_is_closed.is_set()
    holder.close()
    assert len(waiting.read()) > MIB - 100
    sender.join()


def test_shutdown_while_some_wait_for_memory(serve: Serve, probes: ModuleType) -> None:
    server = serve(max_bytes=MIB)
    clients = [send_half(server, sized_request(probes.ECHO, MIB)) for _ in range(6)]
    assert wait_until(lambda: server.channel.memory.used >= MIB)
    server.server.shutdown(timeout_ms=200)
    assert all(client.is_closed_by_server() for client in clients)
    assert server.channel.memory.used == 0


def test_any_mixture_of_clients_finishes(serve: Serve, probes: ModuleType) -> None:
    """Random sizes, halves, pauses and departures on three processors, with memory for little more than one frame."""
    server = serve(num_network_threads=3, max_bytes=600 * KIB, max_requests=3)
    server.handle(lambda received: received.respond(received.frame[received.body :]), threads=2)
    failures: list[BaseException] = []

    def live(seed: int) -> None:
        generator = random.Random(seed)
        try:
            for _ in range(30):
                client = Client(server.port)
                for _ in range(generator.randrange(1, 4)):
                    if not exchange(client, generator):
                        break
                client.close()
        except BaseException as failure:
            failures.append(failure)

    def exchange(client: Client, generator: random.Random) -> bool:
        """A few requests and their answers; False when the client leaves in the middle."""
        sizes = generator.choices([40, 9 * KIB, 70 * KIB, 300 * KIB, 900 * KIB], k=generator.randrange(1, 4))
        frames = [
            sized_request(generator.choice([probes.ECHO, METADATA]), size, bytes([number]))
            for number, size in enumerate(sizes)
        ]
        stream = b"".join(frames)
        cut = generator.randrange(len(stream))
        sender = start_sending(client, stream[:cut])
        if generator.random() < 0.2:
            return False
        sender.join()
        sender = start_sending(client, stream[cut:])
        for number, size in enumerate(sizes):
            assert client.read() == bytes([number]) * (size - 4 - len(header(0)))
        sender.join()
        return True

    lives = [threading.Thread(target=live, args=[seed]) for seed in range(12)]
    for thread in lives:
        thread.start()
    for thread in lives:
        thread.join()
    assert failures == []
    assert wait_until(lambda: server.channel.memory.used == 0)


def test_warm_buffers_are_given_back_after_idling(serve: Serve, probes: ModuleType) -> None:
    server = serve(buffer_idle_ms=20)
    clients = [server.connect() for _ in range(4)]
    for client in clients:
        client.send(sized_request(probes.ECHO, 2 * MIB))
        assert len(client.read()) > MIB
    assert wait_until(lambda: server.server.free_buffer_bytes() == 0)
    for client in clients:
        client.send(sized_request(probes.ECHO, 2 * MIB))
        assert len(client.read()) > MIB


def test_warm_buffers_are_kept_meanwhile_within_their_bound(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=1, free_buffer_bytes=3 * MIB, buffer_idle_ms=600_000)
    clients = [server.connect() for _ in range(6)]
    for client in clients:
        client.send(sized_request(probes.ECHO, MIB)[: MIB // 2])
    for client in clients:
        client.send(sized_request(probes.ECHO, MIB)[MIB // 2 :])
        assert len(client.read()) > MIB - 100
    assert wait_until(lambda: 0 < server.server.free_buffer_bytes() <= 3 * MIB)
