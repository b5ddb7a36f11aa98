"""Virtual time: what is to happen, in order, and nothing happens in between."""

from __future__ import annotations

import heapq
from collections.abc import Callable

START_MS = 1_700_000_000_000


class Appointment:
    """Something that will be called, unless it is cancelled; what a coordinator takes for a TimerHandle."""

    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object] | None) -> None:
        self.callback = callback

    def cancel(self) -> bool:
        was_due = self.callback is not None
        self.callback = None
        return was_due


class Clockwork:
    """`now_ms` moves from one appointment to the next, and by `hold_up`."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.steps = 0
        self._queue: list[tuple[int, int, Appointment]] = []
        self._made = 0

    def time_ms(self) -> int:
        return self.now_ms

    def schedule(self, delay_ms: int, callback: Callable[[], object]) -> Appointment:
        appointment = Appointment(callback)
        self._made += 1
        heapq.heappush(self._queue, (self.now_ms + max(delay_ms, 0), self._made, appointment))
        return appointment

    def hold_up(self, pause_ms: int) -> None:
        """Time passes, and nothing is done meanwhile: what is due is late."""
        self.now_ms += pause_ms

    def step(self) -> bool:
        """Does what is next; False when nothing is left."""
        while self._queue:
            at_ms, _, appointment = heapq.heappop(self._queue)
            callback, appointment.callback = appointment.callback, None
            if callback is not None:
                self.now_ms = max(self.now_ms, at_ms)
                self.steps += 1
                callback()
                return True
        return False
