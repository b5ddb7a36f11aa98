"""Bounds on connections: of the broker, of a listener, of an address, and on how fast new ones come."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from types import ModuleType

import pytest

from kcore.network.connection_quotas import ConnectionQuotas
from kcore.platform.real_disk import RealDisk
from tests.unit.network.conftest import Client, Server, request

Serve = Callable[..., Server]
UNBOUNDED = 2**31 - 1
TWO_LISTENERS = [("INTERNAL", "127.0.0.1", 0), ("EXTERNAL", "127.0.0.1", 0)]
INTERNAL, EXTERNAL = range(2)
MS = 1_000_000


class Bounded:
    """A server under connection quotas."""

    def __init__(self, serve: Serve, probes: ModuleType, windows: int = 11, **options: object) -> None:
        self.quotas = ConnectionQuotas(RealDisk(), windows)
        self.server = serve(connection_quotas=self.quotas, **options)
        self.ports = [port for _, _, port in self.server.server.bound_addresses()]
        self.probes = probes

    def limit(self, total: int = UNBOUNDED, **more: object) -> None:
        limits = {"of_listeners": [], "of_address": UNBOUNDED, "address_overrides": [], **more}
        self.quotas.set_limits(total, **limits)  # type: ignore[arg-type]

    def connect(self, listener: int = 0, source: str | None = None) -> Client:
        client = Client.__new__(Client)
        bind = (source, 0) if source else None
        client.socket = socket.create_connection(("127.0.0.1", self.ports[listener]), 60, bind)
        client.received = bytearray()
        self.server.clients.append(client)
        return client

    def is_served(self, client: Client) -> bool:
        client.send(request(self.probes.ECHO, b"hello"))
        return client.read() == b"hello"

    def hasten(self, listener: int = 0, source: str | None = None) -> Client:
        """One that came too fast and is kept waiting: the first or a later one, as fast as this machine is."""
        while not self.is_kept_waiting(client := self.connect(listener, source)):
            continue
        return client

    def is_kept_waiting(self, client: Client) -> bool:
        """Asks, and gets nothing for a while; it may ask only once."""
        client.send(request(self.probes.ECHO, b"patience"))
        client.socket.settimeout(0.05)
        try:
            client.read()
        except TimeoutError:
            client.socket.settimeout(60)
            return True
        return False


@pytest.fixture
def bounded(serve: Serve, probes: ModuleType) -> Callable[..., Bounded]:
    return lambda **options: Bounded(serve, probes, **options)


def test_a_connection_beyond_the_bound_waits_until_another_ends(bounded: Callable[..., Bounded]) -> None:
    broker = bounded()
    broker.limit(3)
    clients = [broker.connect() for _ in range(3)]
    assert all(broker.is_served(client) for client in clients)
    fourth = broker.connect()
    assert broker.is_kept_waiting(fourth)
    assert all(broker.is_served(client) for client in clients)
    clients[0].close()
    assert fourth.read() == b"patience"
    assert broker.quotas.open_connections == 3


def test_a_raised_bound_lets_those_in_who_wait(bounded: Callable[..., Bounded]) -> None:
    broker = bounded()
    broker.limit(1)
    assert broker.is_served(broker.connect())
    waiting = [broker.connect() for _ in range(5)]
    assert broker.is_kept_waiting(waiting[0])
    broker.limit(6)
    assert waiting[0].read() == b"patience"
    assert all(broker.is_served(client) for client in waiting)


def test_a_lowered_bound_closes_those_silent_for_longest(bounded: Callable[..., Bounded]) -> None:
    broker = bounded(num_network_threads=1)
    clients = [broker.connect() for _ in range(5)]
    for client in (*clients, clients[0]):
        assert broker.is_served(client)
    broker.limit(2)
    assert all(client.is_closed_by_server() for client in clients[1:4])
    assert broker.is_served(clients[4])
    assert broker.is_served(clients[0])


def test_a_listener_has_a_bound_of_its_own(bounded: Callable[..., Bounded]) -> None:
    broker = bounded(listeners=TWO_LISTENERS)
    broker.limit(of_listeners=[UNBOUNDED, 1])
    first = broker.connect(EXTERNAL)
    assert broker.is_served(first)
    second = broker.connect(EXTERNAL)
    assert broker.is_kept_waiting(second)
    assert broker.is_served(broker.connect(INTERNAL))
    first.close()
    assert second.read() == b"patience"


def test_brokers_get_through_to_each_other(bounded: Callable[..., Bounded]) -> None:
    """The protected listener takes connections beyond the bound, at the cost of those of others."""
    broker = bounded(listeners=TWO_LISTENERS, num_network_threads=2)
    broker.limit(2, protected_listener=INTERNAL)
    clients = [broker.connect(EXTERNAL) for _ in range(2)]
    assert all(broker.is_served(client) for client in clients)
    brokers = [broker.connect(INTERNAL) for _ in range(3)]
    assert all(broker.is_served(client) for client in brokers)
    assert all(client.is_closed_by_server() for client in clients)
    assert all(broker.is_served(client) for client in brokers)
    assert broker.is_kept_waiting(broker.connect(EXTERNAL))


def test_an_address_has_a_bound_and_others_have_their_own(bounded: Callable[..., Bounded]) -> None:
    broker = bounded()
    broker.limit(of_address=2, address_overrides=[("127.0.0.3", 0), ("127.0.0.4", 3)])
    first = [broker.connect(source="127.0.0.1") for _ in range(2)]
    assert all(broker.is_served(client) for client in first)
    assert broker.connect(source="127.0.0.1").is_closed_by_server()
    assert broker.is_served(broker.connect(source="127.0.0.2"))
    assert broker.connect(source="127.0.0.3").is_closed_by_server()
    assert all(broker.is_served(broker.connect(source="127.0.0.4")) for _ in range(3))
    assert broker.connect(source="127.0.0.4").is_closed_by_server()
    first[0].close()
    while broker.quotas.open_connections > 5:
        time.sleep(0.001)
    assert broker.is_served(broker.connect(source="127.0.0.1"))


def test_connections_that_come_too_fast_wait(bounded: Callable[..., Bounded]) -> None:
    """Two windows of a second, one a second: one is free, the next must wait until the rate is one again."""
    broker = bounded(windows=2)
    broker.quotas.set_rates(10.0, [])
    began_ns = time.monotonic_ns()
    clients = [broker.connect() for _ in range(14)]
    assert all(broker.is_served(client) for client in clients)
    # Ten at once in the first second; four more are four tenths of a second too many.
    assert time.monotonic_ns() - began_ns >= 390 * MS


def test_a_listener_has_a_rate_of_its_own(bounded: Callable[..., Bounded]) -> None:
    broker = bounded(listeners=TWO_LISTENERS, windows=2)
    broker.quotas.set_rates(None, [None, 1.0])
    assert broker.is_served(broker.connect(EXTERNAL))
    late = broker.hasten(EXTERNAL)
    assert all(broker.is_served(broker.connect(INTERNAL)) for _ in range(20))
    assert late.read() == b"patience"


def test_who_comes_too_fast_from_an_address_is_closed_later(bounded: Callable[..., Bounded]) -> None:
    broker = bounded(windows=2)
    broker.quotas.set_address_rates(None, [("127.0.0.2", 1.0)])
    assert broker.is_served(broker.connect(source="127.0.0.2"))
    hasty = broker.hasten(source="127.0.0.2")
    assert all(broker.is_served(broker.connect(source="127.0.0.1")) for _ in range(10))
    assert hasty.is_closed_by_server()
    broker.quotas.set_address_rates(None, [])
    assert broker.is_served(broker.connect(source="127.0.0.2"))


def test_the_default_rate_of_addresses(bounded: Callable[..., Bounded]) -> None:
    broker = bounded(windows=2)
    broker.quotas.set_address_rates(1.0, [("127.0.0.2", 100.0)])
    assert broker.is_served(broker.connect(source="127.0.0.1"))
    assert broker.hasten(source="127.0.0.1").is_closed_by_server()
    assert all(broker.is_served(broker.connect(source="127.0.0.2")) for _ in range(20))


def test_addresses_without_connections_are_forgotten(bounded: Callable[..., Bounded]) -> None:
    broker = bounded()
    for number in range(50):
        client = broker.connect(source=f"127.0.1.{number}")
        assert broker.is_served(client)
        client.close()
    while broker.quotas.open_connections:
        time.sleep(0.001)
    assert broker.quotas.known_addresses == 0


def test_the_server_stops_while_clients_wait(bounded: Callable[..., Bounded]) -> None:
    broker = bounded()
    broker.limit(1)
    broker.quotas.set_address_rates(1.0, [])
    assert broker.is_served(broker.connect())
    waiting = [broker.connect() for _ in range(3)]
    broker.server.server.shutdown(timeout_ms=1000)
    assert all(client.is_closed_by_server() for client in waiting)


def test_what_is_no_address_is_refused() -> None:
    quotas = ConnectionQuotas(RealDisk())
    with pytest.raises(ValueError, match="'somewhere' is no address"):
        quotas.set_limits(1, [], 1, [("somewhere", 1)])
    quotas.set_address_rates(None, [("::1", 1.0), ("10.0.0.1", 1.0)])
