"""The one thread that appends batches which take long to decompress.

A few kilobytes can become hundreds of megabytes. Network threads and handlers have other clients to serve, so neither
decompresses such a batch: the handler leaves the request to this thread, which answers it. There is one such thread, so
that the other processors stay free, and at most one such batch is in memory (`kcli.batch.max.decompressed.bytes`). It
decompresses without the interpreter lock and before it takes the lock of the log.

Its connection is muted until the answer, so the order of a connection's requests is kept. The requests that wait keep
their frames in memory: `queued.max.requests` bounds their number, and what exceeds it is answered REQUEST_TIMED_OUT,
which clients retry. The thread starts with the first such request; a broker that never gets one has no thread.
"""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Does the work of a request and answers it.
    Work = Callable[[], None]
    # Ends the connection of a request whose work is not done any more.
    Abandon = Callable[[], None]


class LargeBatches:
    """The queue and its thread; at most `capacity` requests wait."""

    __slots__ = ("_capacity", "_changed", "_closed", "_thread", "_waiting")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._waiting: deque[tuple[Work, Abandon]] = deque()

    @property
    def has_room(self) -> bool:
        """Whether a request can wait here; handlers that ask at the same time may exceed the bound by their number."""
        return len(self._waiting) < self._capacity

    def submit(self, work: Work, abandon: Abandon) -> None:
        """Has the thread do the work after what waits already."""
        with self._changed:
            if not self._closed:
                self._waiting.append((work, abandon))
                self._changed.notify()
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="kafka-large-batches", daemon=True)
                    self._thread.start()
                return
        abandon()

    def shutdown(self) -> None:
        """Finishes the work that has begun, and abandons what waits."""
        with self._changed:
            self._closed = True
            abandoned = list(self._waiting)
            self._waiting.clear()
            self._changed.notify()
        if self._thread is not None:
            self._thread.join()
        for _, abandon in abandoned:
            abandon()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return
                work, _ = self._waiting.popleft()
            work()
