"""num.network.threads while connections are open: which processor gets the next one, and that all are answered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType

import pytest

from tests.unit.network.conftest import Client, Server, request

Serve = Callable[..., Server]


def opened_by_processor(server: Server) -> list[int]:
    return [opened for _, _, opened, _ in server.server.listener_connections()]


def connect_and_ask(server: Server, probes: ModuleType, count: int) -> list[Client]:
    """Connections that have been answered, so that their processors have them."""
    clients = [server.connect() for _ in range(count)]
    for client in clients:
        ask(client, probes)
    return clients


def ask(client: Client, probes: ModuleType) -> None:
    client.send(request(probes.ECHO, b"hello"))
    assert client.read() == b"hello"


def test_added_processors_get_their_share_and_old_connections_stay(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=1)
    old = connect_and_ask(server, probes, 2)
    server.server.resize(3)
    new = connect_and_ask(server, probes, 6)
    counts = opened_by_processor(server)
    assert counts[0] + counts[1] + counts[2] == 8
    assert min(counts[1:]) == 2
    for client in (*old, *new):
        ask(client, probes)


def test_processors_that_are_too_many_get_no_new_connection_but_serve_on(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=3)
    old = connect_and_ask(server, probes, 3)
    server.server.resize(1)
    connect_and_ask(server, probes, 4)
    assert opened_by_processor(server) == [5, 1, 1]
    for client in old:
        ask(client, probes)
    server.server.resize(2)
    connect_and_ask(server, probes, 2)
    assert opened_by_processor(server) == [6, 2, 1]


def test_handlers_answer_through_processors_that_were_added(serve: Serve) -> None:
    server = serve(num_network_threads=1)
    server.handle(lambda received: received.respond(received.frame[received.body :]))
    server.server.resize(4)
    clients = [server.connect() for _ in range(8)]
    for number, client in enumerate(clients):
        client.send(request(18, b"%d" % number))
    assert [client.read() for client in clients] == [b"%d" % number for number in range(8)]


def test_connections_come_and_go_while_the_number_changes(serve: Serve, probes: ModuleType) -> None:
    server = serve(num_network_threads=1)
    done = threading.Event()

    def resize() -> None:
        count = 1
        while not done.is_set():
            count = count % 6 + 1
            server.server.resize(count)

    resizer = threading.Thread(target=resize)
    resizer.start()
    try:
        for _ in range(30):
            for client in connect_and_ask(server, probes, 4):
                client.close()
    finally:
        done.set()
        resizer.join()


@pytest.mark.parametrize("count", [0, -1, 257])
def test_numbers_that_cannot_be_are_refused(serve: Serve, count: int) -> None:
    with pytest.raises(ValueError, match=r"num\.network\.threads must be between 1 and 256"):
        serve().server.resize(count)


def test_a_server_that_stops_does_not_grow(serve: Serve) -> None:
    server = serve(num_network_threads=1)
    server.server.stop_accepting()
    server.server.resize(4)
    assert len(server.server.processor_idle_ns()) == 1


def test_a_thread_that_the_system_refuses_is_started_by_the_next_attempt(
    serve: Serve, probes: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    server = serve(num_network_threads=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            server.server.resize(3)
    connect_and_ask(server, probes, 1)
    server.server.resize(3)
    connect_and_ask(server, probes, 6)
    assert sorted(opened_by_processor(server)) == [2, 2, 3]
