"""The scheduler: order, repetition, failure and shutdown of background tasks."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

import pytest

from kcore.storage.scheduler import Scheduler

LONG_MAX = 2**63 - 1
PATIENCE_S = 30.0


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    scheduler = Scheduler()
    scheduler.startup()
    yield scheduler
    scheduler.shutdown()


def test_a_task_runs_once_without_a_period(scheduler: Scheduler) -> None:
    runs: queue.Queue[int] = queue.Queue()
    scheduler.schedule("once", lambda: runs.put(1))
    scheduler.schedule("later", lambda: runs.put(2), delay_ms=1)
    assert [runs.get(timeout=PATIENCE_S), runs.get(timeout=PATIENCE_S)] == [1, 2]
    assert runs.empty()


def test_the_earlier_task_runs_first_whatever_the_order_of_scheduling() -> None:
    scheduler = Scheduler()
    runs: queue.Queue[str] = queue.Queue()
    scheduler.schedule("late", lambda: runs.put("late"), delay_ms=500)
    scheduler.schedule("early", lambda: runs.put("early"), delay_ms=5)
    scheduler.startup()
    assert [runs.get(timeout=PATIENCE_S), runs.get(timeout=PATIENCE_S)] == ["early", "late"]
    scheduler.shutdown()


@pytest.mark.parametrize("period_ms", [0, -1])
def test_a_period_of_nothing_is_none(scheduler: Scheduler, period_ms: int) -> None:
    runs: queue.Queue[None] = queue.Queue()
    passed = threading.Event()
    scheduler.schedule("once", lambda: runs.put(None), period_ms=period_ms)
    scheduler.schedule("behind", passed.set, delay_ms=20)
    assert passed.wait(PATIENCE_S)
    assert runs.qsize() == 1


def test_a_sleeping_thread_is_woken_by_an_earlier_task(scheduler: Scheduler) -> None:
    ran = threading.Event()
    scheduler.schedule("never", lambda: None, delay_ms=LONG_MAX, period_ms=LONG_MAX)
    scheduler.schedule("now", ran.set)
    assert ran.wait(PATIENCE_S)


def test_a_periodic_task_repeats_until_it_is_cancelled(scheduler: Scheduler) -> None:
    runs: queue.Queue[None] = queue.Queue()
    task = scheduler.schedule("often", lambda: runs.put(None), period_ms=1)
    for _ in range(5):
        runs.get(timeout=PATIENCE_S)
    task.cancel()
    # One scheduled behind it says when the cancelled task's turn has passed.
    passed = threading.Event()
    scheduler.schedule("behind", passed.set, delay_ms=20)
    assert passed.wait(PATIENCE_S)
    count = runs.qsize()
    passed.clear()
    scheduler.schedule("behind", passed.set, delay_ms=20)
    assert passed.wait(PATIENCE_S)
    assert runs.qsize() == count


def test_the_delay_counts_from_the_end_of_a_run(scheduler: Scheduler) -> None:
    gate, started = threading.Event(), queue.Queue[float]()

    def slow() -> None:
        started.put(time.monotonic())
        gate.wait(PATIENCE_S)

    scheduler.schedule("slow", slow, period_ms=1)
    started.get(timeout=PATIENCE_S)
    assert started.empty(), "no run while one is running"
    gate.set()
    started.get(timeout=PATIENCE_S)


def test_a_failed_run_is_logged_and_the_schedule_goes_on(
    scheduler: Scheduler, capsys: pytest.CaptureFixture[str]
) -> None:
    runs: queue.Queue[None] = queue.Queue()

    def fail() -> None:
        runs.put(None)
        raise ValueError("no luck today")

    task = scheduler.schedule("unlucky", fail, period_ms=1)
    runs.get(timeout=PATIENCE_S)
    runs.get(timeout=PATIENCE_S)
    task.cancel()
    scheduler.shutdown()
    error = capsys.readouterr().err
    assert "Scheduled task unlucky failed" in error
    assert "no luck today" in error


def test_shutdown_waits_for_the_running_task_and_runs_no_other() -> None:
    scheduler = Scheduler()
    scheduler.startup()
    entered, gate = threading.Event(), threading.Event()
    ended: list[str] = []

    def slow() -> None:
        entered.set()
        gate.wait(PATIENCE_S)
        ended.append("slow")

    scheduler.schedule("slow", slow, period_ms=1)
    scheduler.schedule("other", lambda: ended.append("other"), delay_ms=1)
    assert entered.wait(PATIENCE_S)
    stopper = threading.Thread(target=scheduler.shutdown)
    stopper.start()
    while scheduler._thread is not None:
        time.sleep(0)
    gate.set()
    stopper.join(PATIENCE_S)
    assert ended == ["slow"]
    scheduler.shutdown()
    scheduler.schedule("too late", lambda: ended.append("too late"))
    assert ended == ["slow"]
