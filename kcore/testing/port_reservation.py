"""Reserves ports for a broker, also while it is down.

A socket that is bound with SO_REUSEADDR and never listens has three effects: the kernel does not assign its port as a
free port, a broker can still listen on this port, and connections are refused while none does.
"""

from __future__ import annotations

from _socket import AF_INET, AF_INET6, SO_REUSEADDR, SOCK_CLOEXEC, SOCK_STREAM, SOL_SOCKET, socket

FREE = "0"


class PortReservation:
    """Reserves a free port for every listener with port 0. `close` releases the ports."""

    def __init__(self, listeners: str) -> None:
        self._sockets: list[socket] = []
        try:
            self.listeners = ",".join(self._reserved(entry.strip()) for entry in listeners.split(","))
        except BaseException:
            self.close()
            raise

    def _reserved(self, listener: str) -> str:
        name, _, address = listener.partition("://")
        host, _, port = address.rpartition(":")
        if port != FREE:
            return listener
        return f"{name}://{host}:{self._reserve(host.strip('[]'))}"

    def _reserve(self, host: str) -> int:
        held = socket(AF_INET6 if ":" in host else AF_INET, SOCK_STREAM | SOCK_CLOEXEC)
        self._sockets.append(held)
        held.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        held.bind((host, 0))
        return int(held.getsockname()[1])

    def close(self) -> None:
        """Release the ports."""
        while self._sockets:
            self._sockets.pop().close()
