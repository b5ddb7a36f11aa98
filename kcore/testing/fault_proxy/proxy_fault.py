"""ProxyFault: one fault of a FaultProxy: the frames it applies to, when it applies, and its effect."""

from __future__ import annotations

from kcore.protocol import apis
from kcore.server.faults.trigger import Trigger
from kcore.testing.fault_proxy.flow import FramePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container
    from typing import Any

REQUEST, RESPONSE = "request", "response"
MAX_DELAY_MS = 3_600_000


class ProxyFault:
    """A fault with these arguments:

    `api`                      Kafka's name of the API; None: all APIs
    `node`                     only connections to the broker with this id
    `direction`                "response" (default) or "request"
    `times, skip, probability, seed`   see Trigger
    `delay_ms, jitter_ms`      delays the frame and everything after it in its direction
    `drop`                     drops this frame and everything after it in its direction; the connection stays open
    `after_bytes, jitter_bytes`   closes the connection after this many bytes of the frame, including its length
    `reset`                    closes it by a reset (RST), which the peer receives as an error
    `piece_bytes, piece_ms`    sends the frame in pieces of this size at this interval
    """

    __slots__ = (
        "_after_bytes",
        "_delay_ms",
        "_jitter_bytes",
        "_jitter_ms",
        "_piece_bytes",
        "_piece_ms",
        "api_key",
        "direction",
        "drop",
        "node",
        "number",
        "reset",
        "trigger",
    )

    def __init__(
        self,
        number: int,
        *,
        api: str | None = None,
        node: int | None = None,
        direction: str = RESPONSE,
        delay_ms: int = 0,
        jitter_ms: int = 0,
        drop: bool = False,
        after_bytes: int | None = None,
        jitter_bytes: int = 0,
        reset: bool = False,
        piece_bytes: int | None = None,
        piece_ms: float = 0.0,
        **when: Any,
    ) -> None:
        self.trigger = Trigger(**when)
        if not 0 <= delay_ms <= MAX_DELAY_MS or not 0 <= jitter_ms <= MAX_DELAY_MS:
            raise ValueError(f"delay_ms={delay_ms}, jitter_ms={jitter_ms}: must be between 0 and {MAX_DELAY_MS}")
        if (after_bytes is not None and after_bytes < 0) or jitter_bytes < 0:
            raise ValueError(f"after_bytes={after_bytes}, jitter_bytes={jitter_bytes}: must not be negative")
        if direction not in (REQUEST, RESPONSE):
            raise ValueError(f"direction={direction!r}: must be {REQUEST} or {RESPONSE}")
        if drop and after_bytes is not None:
            raise ValueError(
                "drop and after_bytes cannot be combined: a connection is either silent or cut. Remove one"
            )
        if reset and after_bytes is None:
            raise ValueError("reset says how a connection is cut: after_bytes must be given with it")
        if piece_bytes is not None and piece_bytes < 1:
            raise ValueError(f"piece_bytes={piece_bytes}: must be at least 1")
        if not 0 <= piece_ms <= MAX_DELAY_MS or (piece_ms and piece_bytes is None):
            raise ValueError(f"piece_ms={piece_ms}: must be between 0 and {MAX_DELAY_MS}, and go with piece_bytes")
        if not (delay_ms or jitter_ms or drop or after_bytes is not None or piece_bytes is not None):
            raise ValueError("a fault without effect: delay_ms, drop, after_bytes or piece_bytes must be given")
        self.number = number
        self.api_key = None if api is None else api_key_of(api)
        self.node = node
        self.direction = direction
        self.drop = drop
        self.reset = reset
        self._piece_bytes = piece_bytes
        self._piece_ms = piece_ms
        self._delay_ms = delay_ms
        self._jitter_ms = jitter_ms
        self._after_bytes = after_bytes
        self._jitter_bytes = jitter_bytes

    def is_meant_for(self, direction: str, api_key: int, nodes: Container[int]) -> bool:
        return (
            direction == self.direction
            and (self.api_key is None or api_key == self.api_key)
            and (self.node is None or self.node in nodes)
        )

    def plan(self) -> FramePlan:
        """Return what to do with one frame to which the fault applies."""
        return FramePlan(
            delay_s=self.trigger.between(self._delay_ms, self._delay_ms + self._jitter_ms) / 1000,
            drop=self.drop,
            cut_at=self._cut_at(),
            reset=self.reset,
            piece_bytes=self._piece_bytes,
            piece_s=self._piece_ms / 1000,
        )

    def _cut_at(self) -> int | None:
        if self._after_bytes is None:
            return None
        return self.trigger.between(self._after_bytes, self._after_bytes + self._jitter_bytes)


def api_key_of(name: str) -> int:
    """Return the key of an API. Raises ValueError, which lists the valid names."""
    for api in apis.BY_KEY.values():
        if api.name == name:
            return api.key
    raise ValueError(f"API {name!r}: must be one of {', '.join(sorted(api.name for api in apis.BY_KEY.values()))}")
