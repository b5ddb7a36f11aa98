"""Producer ids from blocks that the controller allocates (RPCProducerIdManager, KIP-730).

The ids that remain in a block when the broker stops are lost, so no id is assigned twice.
"""

from __future__ import annotations

from threading import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class ProducerIds:
    """Assigns producer ids. Thread-safe."""

    __slots__ = ("_allocate", "_block", "_lock")

    def __init__(self, allocate: Callable[[], range]) -> None:
        self._allocate = allocate
        self._block: Iterator[int] = iter(())
        self._lock = Lock()

    def next(self) -> int:
        """A new producer id. Errors of the controller's allocation propagate."""
        with self._lock:
            producer_id = next(self._block, None)
            if producer_id is None:
                self._block = iter(self._allocate())
                producer_id = next(self._block)
            return producer_id
