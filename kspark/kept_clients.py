"""Keeps the clients of a Python worker process for its next task with the same settings.

Spark reuses worker processes, so a micro-batch needs no new connection. Clients are closed at process exit, or by
`close` in a process that outlives Spark.
"""

from __future__ import annotations

import atexit
from contextlib import contextmanager
from typing import Generic, TypeVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kcore.client.consumer.consumer import Consumer
    from kcore.client.producer import Producer

Client = TypeVar("Client", bound="Consumer | Producer")


class KeptClients(Generic[Client]):
    """Idle clients, at most one per set of settings. Two concurrent tasks get one client each."""

    def __init__(self, make: Callable[[dict[str, str]], Client]) -> None:
        self._make = make
        self._idle: dict[tuple[tuple[str, str], ...], Client] = {}
        atexit.register(self.close)

    @contextmanager
    def lent(self, settings: dict[str, str]) -> Iterator[Client]:
        """Lend a client to a task. If the task fails, the client is closed, because its state is unknown."""
        key = tuple(sorted(settings.items()))
        client = self._idle.pop(key, None) or self._make(settings)
        try:
            yield client
        except BaseException:
            client.close(0)
            raise
        surplus = self._idle.get(key)
        self._idle[key] = client
        if surplus is not None:
            surplus.close(0)

    def close(self) -> None:
        """Close the idle clients."""
        while self._idle:
            self._idle.popitem()[1].close(0)
