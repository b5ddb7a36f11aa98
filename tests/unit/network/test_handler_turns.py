"""Which handlers are woken: one at a time while it comes back, as many as there are once it does not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType

from kcore.network.request import Request
from tests.unit.network.conftest import Server, request

Serve = Callable[..., Server]

HANDLERS = 4
PATIENCE_S = 60


class Handlers:
    """Threads that take one request each and keep it until they are let go."""

    def __init__(self, server: Server, count: int = HANDLERS) -> None:
        self.server = server
        self.let_go = threading.Event()
        self.taken = threading.Semaphore(0)
        self.bodies: list[bytes] = []
        for _ in range(count):
            server.handlers.append(threading.Thread(target=self._run))
            server.handlers[-1].start()

    def _run(self) -> None:
        channel = self.server.channel
        finished_turn = -1
        while not channel.closed:
            requests = channel.receive(1, 1000, finished_turn)
            for received in requests:
                self._work(received)
            finished_turn = requests[0].turn if requests else -1

    def _work(self, received: Request) -> None:
        self.bodies.append(received.frame[received.body :])
        self.taken.release()
        self.let_go.wait(PATIENCE_S)
        received.respond(b"done")

    def have_taken(self, count: int) -> bool:
        return all(self.taken.acquire(timeout=PATIENCE_S) for _ in range(count))


def test_requests_do_not_wait_for_a_handler_that_is_not_back(serve: Serve, probes: ModuleType) -> None:
    """Nobody lets go: each request needs a handler of its own."""
    server = serve()
    handlers = Handlers(server)
    clients = [server.connect() for _ in range(HANDLERS)]
    for number, client in enumerate(clients):
        client.send(request(3, b"%d" % number))
        assert handlers.have_taken(1), f"request {number} waits although handlers are idle"
    handlers.let_go.set()
    assert {client.read() for client in clients} == {b"done"}


def test_requests_that_come_together_do_not_wait_either(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    handlers = Handlers(server)
    clients = [server.connect() for _ in range(HANDLERS)]
    for client in clients:
        client.send(request(3, b"all"))
    assert handlers.have_taken(HANDLERS)
    handlers.let_go.set()
    assert {client.read() for client in clients} == {b"done"}


def test_handler_that_leaves_leaves_nothing_behind(serve: Serve, probes: ModuleType) -> None:
    """What came while it worked is taken by another, whether or not any processor has something to do."""
    server = serve(num_network_threads=1)
    first, second = server.connect(), server.connect()
    first.send(request(3, b"first"))
    taken = server.receive()
    handlers = Handlers(server, 1)
    handlers.let_go.set()
    second.send(request(3, b"second"))
    taken.respond(b"first done")
    server.channel.leave(taken.turn)
    assert first.read() == b"first done"
    assert second.read() == b"done"


def test_handler_that_stands_aside_is_not_waited_for(serve: Serve, probes: ModuleType) -> None:
    server = serve()
    first, second = server.connect(), server.connect()
    first.send(request(3, b"first"))
    taken = server.receive()
    assert server.channel.stand_aside()
    assert not server.channel.stand_aside(), "nobody is at work any more"
    handlers = Handlers(server, 1)
    handlers.let_go.set()
    second.send(request(3, b"second"))
    assert second.read() == b"done"
    server.channel.come_back()
    taken.respond(b"first done")
    assert first.read() == b"first done"
    server.channel.leave(taken.turn)
    second.send(request(3, b"third"))
    assert second.read() == b"done"


def test_handler_that_comes_back_late_disturbs_nobody(serve: Serve, probes: ModuleType) -> None:
    """It was written off when another was roused; what it is counted for now is its next request."""
    server = serve(num_network_threads=1)
    clients = [server.connect() for _ in range(3)]
    clients[0].send(request(3, b"slow"))
    slow = server.receive()
    handlers = Handlers(server, 1)
    handlers.let_go.set()
    clients[1].send(request(3, b"quick"))
    assert clients[1].read() == b"done"
    server.channel.leave(slow.turn)
    slow.respond(b"slow done")
    assert clients[0].read() == b"slow done"
    for _ in range(100):
        for client in clients:
            client.send(request(3, b"again"))
        assert {client.read() for client in clients} == {b"done"}
