"""Producer ids, given out from blocks that the controller allocates (RPCProducerIdManager, KIP-730).

A block is used up one id at a time and never given back: what is left of it when the broker stops is lost, so that no
id is ever given twice.
"""

from __future__ import annotations

from threading import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ProducerIds:
    """Safe to use from several threads."""

    __slots__ = ("_allocate", "_block", "_lock")

    def __init__(self, allocate: Callable[[], range]) -> None:
        self._allocate = allocate
        self._block: Iterator[int] = iter(())
        self._lock = Lock()

    def next(self) -> int:
        """An id that nobody has; what the controller raises when it cannot allocate a block reaches the caller."""
        with self._lock:
            producer_id = next(self._block, None)
            if producer_id is None:
                self._block = iter(self._allocate())
                producer_id = next(self._block)
            return producer_id
