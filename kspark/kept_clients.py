"""Clients that a worker process keeps for the next task with the same settings, as Spark keeps the process.

A micro-batch then costs no connection. They are closed when the process ends, or by `close`, for a process that goes on
when Spark is done.
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
    """One for each set of settings; two tasks at once have one each."""

    def __init__(self, make: Callable[[dict[str, str]], Client]) -> None:
        self._make = make
        self._idle: dict[tuple[tuple[str, str], ...], Client] = {}
        atexit.register(self.close)

    @contextmanager
    def lent(self, settings: dict[str, str]) -> Iterator[Client]:
        """For a task; whoever fails with it has it closed, as nobody knows what it is still at."""
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
        """Those that nobody has."""
        while self._idle:
            self._idle.popitem()[1].close(0)
