"""How these tests ask: clients of the engine with and without a thread, and the end of each request counted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kcore.client.errors import ClientError
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from kcore.client.network.requester import Requester
from kcore.protocol import apis
from kcore.protocol.message import Message

TIMEOUT_MS = 60_000.0


class Outcome:
    """How a request ended, and how often."""

    def __init__(self) -> None:
        self.response: Message | None = None
        self.error: ClientError | None = None
        self.calls = 0

    def __call__(self, response: Message | None, error: ClientError | None) -> None:
        self.response, self.error = response, error
        self.calls += 1

    @property
    def text(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"


@contextmanager
def requester(
    *ports: int, threaded: bool = False, request_timeout_ms: float = TIMEOUT_MS, **settings: Any
) -> Iterator[Requester]:
    """A client whose bootstrap servers listen on these ports of this machine."""
    network = NetworkClient([("127.0.0.1", port) for port in ports], **settings)
    thread = NetworkThread(network)
    if threaded:
        thread.start()
    asking = Requester(network, request_timeout_ms=request_timeout_ms, threaded=threaded)
    try:
        yield asking
    finally:
        thread.close()
        asking.close()


def ask(asking: Requester, name: str, timeout_ms: float | None = None) -> Outcome:
    """Begins a Metadata request to any node."""
    outcome = Outcome()
    asking.send(None, apis.METADATA, {"topics": [{"name": name}]}, outcome, timeout_ms=timeout_ms)
    return outcome


def settle(asking: Requester, *outcomes: Outcome) -> None:
    """Polls until all of them have come to an end."""
    while not all(outcome.calls for outcome in outcomes):
        asking.poll(TIMEOUT_MS)
