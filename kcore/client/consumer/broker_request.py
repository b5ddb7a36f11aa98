"""A request that a state machine of the consumer needs, and the backoff before it is repeated (KIP-580).

The state machines do no I/O. `poll(now_ms)` returns the requests that are due, and `wake_ms` is when the machine next
has something to do by itself. The driver (consumer_network.py, or a simulator) sends the requests and finishes each
exactly once, with the response or the error. Times are monotonic milliseconds.
"""

from __future__ import annotations

import math
import random

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from kcore.client.metadata.cluster import Node
    from kcore.protocol.apis import Api
    from kcore.protocol.message import Message

    Finish = Callable[[Message | None, Exception | None, float], None]

NEVER_MS = math.inf
JITTER = 0.2


class BrokerRequest:
    """`fields` returns the request for the negotiated version. If `node` is None, any broker may answer."""

    __slots__ = ("api", "fields", "finish", "max_version", "min_version", "node", "timeout_ms")

    def __init__(
        self,
        api: Api,
        fields: Callable[[int], Mapping[str, Any]],
        node: Node | None,
        finish: Finish,
        *,
        timeout_ms: float | None = None,
        min_version: int | None = None,
        max_version: int | None = None,
    ) -> None:
        self.api = api
        self.fields = fields
        self.node = node
        self.finish = finish
        self.timeout_ms = timeout_ms
        self.min_version = api.min_version if min_version is None else min_version
        self.max_version = api.max_version if max_version is None else max_version

    def __repr__(self) -> str:
        return f"BrokerRequest({self.api.name} to {self.node or 'any broker'})"


class Backoff:
    """`retry.backoff.ms`, doubled with every failure up to `retry.backoff.max.ms`, with a jitter of 20 %."""

    def __init__(self, backoff_ms: float, backoff_max_ms: float, chance: random.Random | None = None) -> None:
        self._backoff_ms = backoff_ms
        self._backoff_max_ms = max(backoff_ms, backoff_max_ms)
        self._chance = chance or random.Random()
        self._failures = 0
        self.until_ms = 0.0

    def failed(self, now_ms: float) -> None:
        delay_ms = min(self._backoff_max_ms, self._backoff_ms * 2.0 ** min(self._failures, 30))
        self._failures += 1
        self.until_ms = now_ms + delay_ms * self._chance.uniform(1.0 - JITTER, 1.0 + JITTER)

    def succeeded(self) -> None:
        self._failures = 0
        self.until_ms = 0.0
