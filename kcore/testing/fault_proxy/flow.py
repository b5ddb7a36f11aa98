"""One direction of a connection through a FaultProxy: bytes of one side, cut into frames, on their way to the other.

    size int32 | request header ...            size int32 | correlation id int32 | ...

A flow knows no sockets: `receive` takes what has arrived and `due` gives what may be sent. Frames pass in pieces as
they come, except for answers that have to be rewritten, which are collected first. What is queued keeps its order: a
frame that is held back holds back those behind it.

Bounds: `is_full` from QUEUE_BYTES on, when whoever fills it stops reading; a collected frame has at most
`max_frame_bytes`.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class FrameRules(Protocol):
        """What is to become of a frame, asked when its size, its length's bytes included, and first bytes are there."""

        def on_frame(self, head: bytes, size: int) -> FramePlan: ...
        def on_collected(self, frame: bytes) -> bytes: ...


QUEUE_BYTES = 1 << 20
LENGTH_BYTES = 4
MAX_FRAME_BYTES = 256 << 20


class FrameTooLarge(ValueError):
    """A frame that would have to be collected is larger than the proxy takes."""


class FramePlan:
    """Whether a frame is collected, how long it is held back, after how many of its bytes the line is cut or dead, and
    in which pieces it passes.
    """

    __slots__ = ("collect", "cut_at", "delay_s", "drop", "piece_bytes", "piece_s", "reset")

    def __init__(
        self,
        *,
        collect: bool = False,
        delay_s: float = 0.0,
        drop: bool = False,
        cut_at: int | None = None,
        reset: bool = False,
        piece_bytes: int | None = None,
        piece_s: float = 0.0,
    ) -> None:
        self.collect = collect
        self.delay_s = delay_s
        self.drop = drop
        self.cut_at = cut_at
        self.reset = reset
        self.piece_bytes = piece_bytes
        self.piece_s = piece_s


class Flow:
    """`rules` are asked about each frame, and shown its first `looked_at` bytes behind the length; times are seconds of
    one monotonic clock.
    """

    def __init__(self, rules: FrameRules, looked_at: int, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._rules = rules
        self._looked_at = looked_at
        self._max_frame_bytes = max_frame_bytes
        self._queue: deque[tuple[float, memoryview]] = deque()
        self._queued_bytes = 0
        self._head = bytearray()
        self._plan = FramePlan()
        self._left = 0  # of the frame that passes
        self._collected: bytearray | None = None
        self._not_before = 0.0
        self.is_dead = False  # nothing gets through any more
        self.is_cut = False  # nothing more is to come: the connection ends when the queue is sent
        self.is_reset = False  # and does so by a reset
        self.has_ended = False  # the side that sends has closed

    @property
    def is_full(self) -> bool:
        return self._queued_bytes >= QUEUE_BYTES

    @property
    def is_empty(self) -> bool:
        return not self._queue

    def next_due(self) -> float | None:
        """When something may be sent; None when nothing is queued."""
        return self._queue[0][0] if self._queue else None

    def due(self, now: float) -> memoryview | None:
        """What may be sent next."""
        if self._queue and self._queue[0][0] <= now:
            return self._queue[0][1]
        return None

    def sent(self, size: int) -> None:
        """So many bytes of what `due` gave are gone."""
        due, piece = self._queue.popleft()
        self._queued_bytes -= size
        if size < len(piece):
            self._queue.appendleft((due, piece[size:]))

    def receive(self, data: bytes, now: float) -> None:
        """Takes what has arrived; raises FrameTooLarge."""
        view = memoryview(data)
        while len(view) and not self.is_dead and not self.is_cut:
            if self._left == 0:
                view = self._receive_head(view, now)
            else:
                size = min(self._left, len(view))
                self._pass(view[:size], now)
                view = view[size:]

    def _receive_head(self, view: memoryview, now: float) -> memoryview:
        """Takes the first bytes of a frame, and begins it when all of them are there; answers what follows them."""
        missing = self._head_size() - len(self._head)
        self._head += view[:missing]
        if len(self._head) >= LENGTH_BYTES and len(self._head) == self._head_size():
            head, self._head = bytes(self._head), bytearray()
            self._begin(head, now)
        return view[missing:]

    def _head_size(self) -> int:
        if len(self._head) < LENGTH_BYTES:
            return LENGTH_BYTES
        return LENGTH_BYTES + min(self._looked_at, frame_size(self._head))

    def _begin(self, head: bytes, now: float) -> None:
        size = frame_size(head)
        self._plan = plan = self._rules.on_frame(head[LENGTH_BYTES:], LENGTH_BYTES + size)
        self._not_before = max(self._not_before, now + plan.delay_s)
        if plan.drop:
            self.is_dead = True
            return
        self._left = LENGTH_BYTES + size
        if plan.collect:
            if size > self._max_frame_bytes:
                raise FrameTooLarge(f"an answer of {size} bytes is above max_frame_bytes ({self._max_frame_bytes})")
            self._collected = bytearray()
        self._pass(memoryview(head), now)

    def _pass(self, piece: memoryview, now: float) -> None:
        """The next bytes of the frame that has begun."""
        self._left -= len(piece)
        if self._collected is None:
            self._push(piece, now)
        else:
            self._collected += piece
            if self._left == 0:
                frame, self._collected = bytes(self._collected[LENGTH_BYTES:]), None
                frame = self._rules.on_collected(frame)
                self._push(memoryview(len(frame).to_bytes(LENGTH_BYTES, "big") + frame), now)

    def _push(self, piece: memoryview, now: float) -> None:
        if self._plan.cut_at is not None:
            piece = piece[: self._plan.cut_at]
            self._plan.cut_at -= len(piece)
            self.is_cut = self._plan.cut_at == 0
            self.is_reset = self.is_cut and self._plan.reset
        size = self._plan.piece_bytes or len(piece)
        for begin in range(0, len(piece), max(1, size)):
            self._queue.append((max(now, self._not_before), piece[begin : begin + size]))
            self._not_before = max(now, self._not_before) + self._plan.piece_s
        self._queued_bytes += len(piece)


def frame_size(head: bytes | bytearray) -> int:
    """What the length before a frame says; a negative one, which nobody may send, counts as 0."""
    return max(0, int.from_bytes(head[:LENGTH_BYTES], "big", signed=True))
