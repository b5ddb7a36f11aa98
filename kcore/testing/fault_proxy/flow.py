"""One direction of a connection through a FaultProxy: divides the bytes from one side into frames for the other.

    size int32 | request header ...            size int32 | correlation id int32 | ...

A flow uses no sockets: `receive` takes received bytes, and `due` returns the bytes to send. Frames are forwarded in
pieces as they arrive. Responses that must be rewritten are collected first. The order is kept: a delayed frame delays
those after it.

Limits: from QUEUE_BYTES on `is_full` is set, and the caller stops reading. A collected frame has at most
`max_frame_bytes`.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class FrameRules(Protocol):
        """Decides about a frame when its size (with the length's bytes) and its first bytes are known."""

        def on_frame(self, head: bytes, size: int) -> FramePlan: ...
        def on_collected(self, frame: bytes) -> bytes: ...


QUEUE_BYTES = 1 << 20
LENGTH_BYTES = 4
MAX_FRAME_BYTES = 256 << 20


class FrameTooLarge(ValueError):
    """A frame that must be collected exceeds the limit."""


class FramePlan:
    """What to do with a frame: collect, delay, cut or silence the connection after some bytes, send in pieces."""

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
    """`rules` decide about each frame. They get its first `looked_at` bytes after the length. Times are seconds of a
    monotonic clock.
    """

    def __init__(self, rules: FrameRules, looked_at: int, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._rules = rules
        self._looked_at = looked_at
        self._max_frame_bytes = max_frame_bytes
        self._queue: deque[tuple[float, memoryview]] = deque()
        self._queued_bytes = 0
        self._head = bytearray()
        self._plan = FramePlan()
        self._left = 0  # bytes of the current frame
        self._collected: bytearray | None = None
        self._not_before = 0.0
        self.is_dead = False  # everything further is dropped
        self.is_cut = False  # the connection is closed after the queue is sent
        self.is_reset = False  # and that by a reset
        self.has_ended = False  # the sending side has closed

    @property
    def is_full(self) -> bool:
        return self._queued_bytes >= QUEUE_BYTES

    @property
    def is_empty(self) -> bool:
        return not self._queue

    def next_due(self) -> float | None:
        """Return when the next bytes may be sent; None if nothing is queued."""
        return self._queue[0][0] if self._queue else None

    def due(self, now: float) -> memoryview | None:
        """Return the next bytes to send, if they are due."""
        if self._queue and self._queue[0][0] <= now:
            return self._queue[0][1]
        return None

    def sent(self, size: int) -> None:
        """Note that `size` bytes of the last result of `due` were sent."""
        due, piece = self._queue.popleft()
        self._queued_bytes -= size
        if size < len(piece):
            self._queue.appendleft((due, piece[size:]))

    def receive(self, data: bytes, now: float) -> None:
        """Process received bytes. Raises FrameTooLarge."""
        view = memoryview(data)
        while len(view) and not self.is_dead and not self.is_cut:
            if self._left == 0:
                view = self._receive_head(view, now)
            else:
                size = min(self._left, len(view))
                self._pass(view[:size], now)
                view = view[size:]

    def _receive_head(self, view: memoryview, now: float) -> memoryview:
        """Collect the first bytes of a frame, and begin it when they are complete. Returns the remaining bytes."""
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
        """Process the next bytes of the current frame."""
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
    """Return the size before a frame. A negative one, which is invalid, counts as 0."""
    return max(0, int.from_bytes(head[:LENGTH_BYTES], "big", signed=True))
