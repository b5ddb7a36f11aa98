"""The thread that appends batches which take long to decompress.

A few kilobytes can decompress to hundreds of megabytes. Network threads and handlers serve other clients, so they do
not decompress such a batch: the handler passes the request to this thread, which answers it. With a single thread the
other processors stay free, and at most one such batch is in memory (`kcli.batch.max.decompressed.bytes`). It
decompresses without the GIL and before it takes the lock of the log.

The connection is muted until the response, so its requests stay in order. Waiting requests keep their frames in memory:
`queued.max.requests` bounds their number. Requests above it are answered with REQUEST_TIMED_OUT, which clients retry.
The thread starts with the first request.
"""

from __future__ import annotations

import threading
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    # Executes and answers a request.
    Work = Callable[[], None]
    # Closes the connection of a request that will not be executed.
    Abandon = Callable[[], None]


class LargeBatches:
    """The queue and its thread. At most `capacity` requests wait."""

    __slots__ = ("_capacity", "_changed", "_closed", "_thread", "_waiting")

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._waiting: deque[tuple[Work, Abandon]] = deque()

    @property
    def has_room(self) -> bool:
        """Whether a request can wait here. Handlers that check concurrently may exceed the bound by their number."""
        return len(self._waiting) < self._capacity

    def submit(self, work: Work, abandon: Abandon) -> None:
        """Queues a request. After shutdown, calls `abandon` instead."""
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
        """Finishes the request in progress and abandons those that wait."""
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
