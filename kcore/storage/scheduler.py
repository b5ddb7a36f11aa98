"""Background work on a schedule: Kafka's `KafkaScheduler` with one thread.

Tasks run one at a time. A periodic task runs again a fixed delay after it ended, so a slow task never piles up. The
thread sleeps until the next task is due; only a new, earlier task wakes it.
"""

from __future__ import annotations

import time
from heapq import heappop, heappush
from threading import Condition, Thread

from kcore.logger import get_logger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

log = get_logger(__name__)

# Longer than any process runs, and a valid timeout for a condition: Kafka's "never" is Long.MAX_VALUE ms.
_LONGEST_WAIT_S = 10 * 365 * 86_400.0


class ScheduledTask:
    """One task. Call `cancel` to stop it from running again."""

    __slots__ = ("cancelled", "delay_s", "name", "period_s", "run")

    def __init__(self, name: str, run: Callable[[], None], delay_s: float, period_s: float | None) -> None:
        self.name = name
        self.run = run
        self.delay_s = delay_s
        self.period_s = period_s
        self.cancelled = False

    def cancel(self) -> None:
        """Prevents further runs. A run that has begun continues to its end."""
        self.cancelled = True


class Scheduler:
    """Runs scheduled tasks. Tasks that are scheduled before `startup` wait for it."""

    __slots__ = ("_condition", "_queue", "_sequence", "_stopping", "_thread")

    def __init__(self) -> None:
        self._condition = Condition()
        self._queue: list[tuple[float, int, ScheduledTask]] = []
        self._sequence = 0
        self._stopping = False
        self._thread: Thread | None = None

    def startup(self) -> None:
        """Starts the thread."""
        with self._condition:
            if self._thread is None:
                self._thread = Thread(target=self._run, name="kafka-scheduler", daemon=True)
                self._thread.start()

    def schedule(
        self, name: str, run: Callable[[], None], delay_ms: int = 0, period_ms: int | None = None
    ) -> ScheduledTask:
        """Runs a task once after `delay_ms` and, if `period_ms` is above 0, again `period_ms` after each end.

        After `shutdown` tasks are accepted but never run.
        """
        period_s = period_ms / 1000 if period_ms is not None and period_ms > 0 else None
        task = ScheduledTask(name, run, delay_ms / 1000, period_s)
        with self._condition:
            if not self._stopping:
                self._push(task, task.delay_s)
        return task

    def _push(self, task: ScheduledTask, delay_s: float) -> None:
        due = time.monotonic() + min(delay_s, _LONGEST_WAIT_S)
        self._sequence += 1
        heappush(self._queue, (due, self._sequence, task))
        if self._queue[0][2] is task:
            self._condition.notify()

    def shutdown(self) -> None:
        """Waits for the running task and runs no other one. Does nothing when called again."""
        with self._condition:
            self._stopping = True
            self._queue.clear()
            self._condition.notify()
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _run(self) -> None:
        while (task := self._next_due()) is not None:
            try:
                task.run()
            except Exception as error:
                # A failed run must not end the schedule: the next run may succeed, and the error is logged.
                log.error("Scheduled task %s failed", task.name, cause=error)
            if task.period_s is not None and not task.cancelled:
                with self._condition:
                    if not self._stopping:
                        self._push(task, task.period_s)

    def _next_due(self) -> ScheduledTask | None:
        """Waits for the next task that is due; None when the scheduler stops."""
        with self._condition:
            while not self._stopping:
                if not self._queue:
                    self._condition.wait()
                    continue
                due, _, task = self._queue[0]
                remaining_s = due - time.monotonic()
                if task.cancelled:
                    heappop(self._queue)
                elif remaining_s <= 0:
                    return heappop(self._queue)[2]
                else:
                    self._condition.wait(remaining_s)
            return None
