"""The broker's background work, done by the thread that moves the clock, in the order in which it is due."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from heapq import heappop, heappush

from kcore.logger import get_logger
from kcore.storage.scheduler import ScheduledTask, Scheduler

LOG = get_logger("tests.simulator")


class ManualScheduler(Scheduler):
    """Same face as the broker's own; nothing runs but in `run_due`. `now_ms` is the clock that it goes by."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        super().__init__()
        self._now_ms = now_ms
        self._tasks: list[tuple[int, int, ScheduledTask]] = []
        self._numbers = itertools.count()
        self._is_down = False

    def startup(self) -> None:
        """There is no thread to start."""

    def schedule(
        self, name: str, run: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        period_s = period_ms / 1000 if period_ms is not None and period_ms > 0 else None
        task = ScheduledTask(name, run, delay_ms / 1000, period_s)
        self._push(task, task.delay_s)
        return task

    def _push(self, task: ScheduledTask, delay_s: float) -> None:
        if not self._is_down:
            heappush(self._tasks, (self._now_ms() + int(delay_s * 1000), next(self._numbers), task))

    def run_due(self) -> None:
        """What is due now, and what that makes due at once."""
        while self._tasks and self._tasks[0][0] <= self._now_ms():
            _, _, task = heappop(self._tasks)
            if task.cancelled:
                continue
            try:
                task.run()
            except Exception as error:
                # As the broker's own does.
                LOG.error("Scheduled task %s failed", task.name, cause=error)
            if task.period_s is not None:
                self._push(task, task.period_s)

    def shutdown(self) -> None:
        self._is_down = True
        self._tasks.clear()
