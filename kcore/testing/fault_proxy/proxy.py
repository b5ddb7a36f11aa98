"""FaultProxy: a proxy between clients and any Kafka cluster with network faults. Each broker gets a local port.

    with FaultProxy(broker.bootstrap_servers) as proxy:
        producer = Producer({"bootstrap.servers": proxy.bootstrap_servers})
        proxy.faults.delay(100, jitter_ms=50, seed=1)
        proxy.faults.disconnect(after_bytes=10, api="Produce", times=1)
        proxy.pause()

Clients cannot bypass it, because it rewrites the addresses in brokers' responses (`address_rewriting.py`). It opens a
port for a broker when a response first contains the broker. It must read the protocol, so it supports only plaintext
listeners, not TLS.

Concurrency: one thread runs all connections. Any other thread may call the methods. A method has taken effect when it
returns.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections import deque

from kcore.server.faults.registry import FaultRegistry
from kcore.testing.fault_proxy.connection import ProxyConnection
from kcore.testing.fault_proxy.flow import MAX_FRAME_BYTES
from kcore.testing.fault_proxy.proxy_fault import ProxyFault
from kcore.testing.faults import Faults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Set
    from typing import Any, Self, TypeAlias

    OnFrame: TypeAlias = Callable[[str, int, int, int], object]

LOOPBACK = "127.0.0.1"
BACKLOG = 128
MAX_BROKERS = 1000
MAX_CONNECTIONS = 2000
WAKE = b"\x00"


class Door:
    """The local port of one broker: the broker's address, and its node ids in the cluster."""

    __slots__ = ("address", "is_paused", "is_refusing", "listener", "nodes")

    def __init__(self, host: str, address: tuple[str, int]) -> None:
        self.address = address
        self.nodes: set[int] = set()
        self.is_paused = False
        self.is_refusing = False
        self.listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
        try:
            # Allow reuse of the port while closed connections are in TIME_WAIT.
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.listener.bind((host, 0))
            self.listener.listen(BACKLOG)
        except OSError:
            self.listener.close()
            raise
        self.listener.setblocking(False)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])


class FaultProxy:
    """`bootstrap_servers` are those of the cluster, which may be down. `host` is the address of the proxy's ports.

    `on_frame(direction, api key, version, size in bytes)` is called at the beginning of every frame, on the proxy's
    thread. API key -1: a response without a request.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        host: str = LOOPBACK,
        max_frame_bytes: int = MAX_FRAME_BYTES,
        on_frame: OnFrame | None = None,
    ) -> None:
        from kcore.client.network.addresses import parse_servers

        self.host = host
        self.max_frame_bytes = max_frame_bytes
        self.on_frame: OnFrame = on_frame or (lambda direction, api_key, version, size: None)
        self._servers = parse_servers(bootstrap_servers)
        self._registry = FaultRegistry(ProxyFault, lambda active: None)
        self.faults = Faults(ProxyFaults(self))
        self._doors: dict[tuple[str, int], Door] = {}
        self._connections: dict[ProxyConnection, Door] = {}
        self._commands: deque[Callable[[], None]] = deque()
        self._is_closing = False
        self._thread: threading.Thread | None = None

    # Starting and closing

    def start(self) -> Self:
        """Open a port for each bootstrap server and start forwarding."""
        self.selector: selectors.BaseSelector = selectors.DefaultSelector()
        self._waker, self._woken = socket.socketpair()
        self._woken.setblocking(False)
        self.selector.register(self._woken, selectors.EVENT_READ, self._run_commands)
        try:
            for server in self._servers:
                self._door_to(server)
        except OSError:
            self._leave()
            self._close_wakers()
            raise
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="kcli-fault-proxy", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Close every connection and every port."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._is_closing = True
        self._waker.send(WAKE)
        thread.join()
        self._close_wakers()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.close()

    # For tests

    @property
    def bootstrap_servers(self) -> str:
        """The proxy's bootstrap servers, for clients."""
        return ",".join(f"{self._shown_host}:{self._doors[server].port}" for server in self._servers)

    @property
    def ports(self) -> dict[int, int]:
        """Local port by broker id, for the brokers that responses have contained so far."""
        return {node: door.port for door in list(self._doors.values()) for node in sorted(door.nodes)}

    @property
    def connections(self) -> int:
        """Number of open client connections."""
        return len(self._connections)

    def pause(self, node: int | None = None) -> None:
        """Hold all data to and from a broker, or all brokers, until `resume`. Connections stay open."""
        self._do(lambda: self._set_paused(node, True))

    def resume(self, node: int | None = None) -> None:
        """Forward data again, held data first."""
        self._do(lambda: self._set_paused(node, False))

    def disconnect(self, node: int | None = None, *, reset: bool = False) -> None:
        """Close the connections to a broker, or to all, optionally by a reset. New ones are accepted."""
        self._do(lambda: close_all((connection for connection, _ in self._of(node)), reset=reset))

    def refuse(self, node: int | None = None) -> None:
        """Close the connections to a broker, or to all, and each new one at once, until `accept`."""
        self._do(lambda: self._set_refusing(node, True))

    def accept(self, node: int | None = None) -> None:
        """Accept connections again."""
        self._do(lambda: self._set_refusing(node, False))

    def _set_refusing(self, node: int | None, refusing: bool) -> None:
        for door in self._doors.values():
            if node is None or node in door.nodes:
                door.is_refusing = refusing
        if refusing:
            close_all(connection for connection, _ in self._of(node))

    def _of(self, node: int | None) -> list[tuple[ProxyConnection, Door]]:
        return [
            (connection, door) for connection, door in self._connections.items() if node is None or node in door.nodes
        ]

    def _set_paused(self, node: int | None, paused: bool) -> None:
        for door in self._doors.values():
            if node is None or node in door.nodes:
                door.is_paused = paused
        for connection, _ in self._of(node):
            if paused:
                connection.pause()
            else:
                connection.resume(time.monotonic())

    def _do(self, action: Callable[[], object]) -> None:
        """Run an action on the proxy's thread and wait for it."""
        if self._thread is None:
            raise RuntimeError("the proxy is not running: call start(), or use it in a `with` block")
        done = threading.Event()

        def command() -> None:
            action()
            done.set()

        self._commands.append(command)
        self._waker.send(WAKE)
        while not done.wait(1.0):
            if not self._thread.is_alive():
                raise RuntimeError("the proxy's thread has ended")

    # The loop

    def _run(self) -> None:
        try:
            while not self._is_closing:
                now = time.monotonic()
                due = [at for connection in self._connections if (at := connection.next_due()) is not None]
                timeout = max(0.0, min(due) - now) if due else None
                ready = self.selector.select(timeout)
                now = time.monotonic()
                for key, events in ready:
                    if isinstance(key.data, tuple):
                        connection, side = key.data
                        if connection.is_open and not connection.is_paused:
                            connection.on_ready(side, events, now)
                    else:
                        key.data()
                if due:
                    self._advance(now)
        finally:
            self._leave()

    def _advance(self, now: float) -> None:
        for connection in list(self._connections):
            at = connection.next_due()
            if at is not None and at <= now:
                connection.advance(now)

    def _run_commands(self) -> None:
        self._woken.recv(4096)
        while self._commands:
            self._commands.popleft()()

    def _accept(self, door: Door) -> None:
        try:
            client, _ = door.listener.accept()
        except OSError:
            return  # the client has given up
        if door.is_refusing or len(self._connections) >= MAX_CONNECTIONS:
            client.close()
            return
        try:
            upstream = connecting_to(door.address)
        except OSError:
            client.close()
            return
        client.setblocking(False)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = ProxyConnection(self, client, upstream, door.nodes)
        self._connections[connection] = door
        if door.is_paused:
            connection.pause()
        else:
            connection.advance(time.monotonic())

    def _leave(self) -> None:
        for connection in list(self._connections):
            connection.close()
        for door in self._doors.values():
            door.listener.close()
        self._doors.clear()
        self.selector.close()

    def _close_wakers(self) -> None:
        """Not done by the loop, which may end before another thread wakes it."""
        self._waker.close()
        self._woken.close()

    def end_silent(self) -> None:
        """Close the connections on which something was dropped."""
        if self._thread is not None:
            self._do(lambda: close_all(connection for connection in list(self._connections) if connection.is_silent))

    # For connections

    def strike(self, direction: str, api_key: int, nodes: Set[int]) -> ProxyFault | None:
        """Return the fault to apply to a frame, or None."""
        fault: ProxyFault | None = self._registry.strike(lambda fault: fault.is_meant_for(direction, api_key, nodes))
        return fault

    def translate(self, node: int, host: str, port: int) -> tuple[str, int]:
        """Return the address at which clients reach a broker: a port of the proxy."""
        door = self._door_to((host, port))
        door.nodes.add(node)
        return self.host, door.port

    def forget(self, connection: ProxyConnection) -> None:
        self._connections.pop(connection, None)

    def _door_to(self, address: tuple[str, int]) -> Door:
        door = self._doors.get(address)
        if door is None:
            if len(self._doors) >= MAX_BROKERS:
                raise OSError(f"more than {MAX_BROKERS} brokers")
            door = self._doors[address] = Door(self.host, address)
            self.selector.register(door.listener, selectors.EVENT_READ, lambda: self._accept(door))
        return door

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def connecting_to(address: tuple[str, int]) -> socket.socket:
    """Return a connecting socket. Failures to connect show when it is read from."""
    family, kind, protocol, _, resolved = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0]
    upstream = socket.socket(family, kind, protocol)
    try:
        upstream.setblocking(False)
        upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        upstream.connect_ex(resolved)
    except OSError:
        upstream.close()
        raise
    return upstream


def close_all(connections: Iterable[ProxyConnection], *, reset: bool = False) -> None:
    for connection in connections:
        connection.close(reset=reset)


class ProxyFaults:
    """The proxy's FaultControl."""

    def __init__(self, proxy: FaultProxy) -> None:
        self._proxy = proxy
        self._registry = proxy._registry

    def add(self, what: dict[str, Any]) -> int:
        return self._registry.add(what)

    def remove(self, number: int) -> None:
        self._registry.remove(number)

    def clear(self) -> None:
        """Also closes the connections with dropped data, because nothing more can be sent on them."""
        self._registry.clear()
        self._proxy.end_silent()

    def hits(self, number: int) -> int:
        return self._registry.hits(number)

    def wait(self, number: int, hits: int, timeout_s: float) -> bool:
        return self._registry.wait(number, hits, timeout_s)
