"""Callables that run on a handler thread after a while, unless somebody was earlier."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial

import pytest

from kcore.network.request_channel import RequestChannel
from kcore.purgatory.purgatory import Purgatory
from kcore.purgatory.timer import Timer


class Clockwork:
    """A timer whose clock the test moves, and a channel that the test drains as a handler thread would."""

    def __init__(self) -> None:
        self.channel = RequestChannel(10)
        self.purgatory = Purgatory("timer", manual_clock=True)
        self.timer = Timer(self.channel, purgatory=self.purgatory)
        self.fired: list[object] = []

    def advance(self, now_ms: int) -> None:
        self.purgatory.advance_clock(now_ms)

    def run_handlers(self) -> list[object]:
        self.channel.receive(1, 0)
        fired, self.fired = self.fired, []
        return fired


@pytest.fixture
def clockwork() -> Iterator[Clockwork]:
    made = Clockwork()
    yield made
    made.timer.shutdown()


def test_callback_fires_once_on_a_handler_thread(clockwork: Clockwork) -> None:
    handle = clockwork.timer.schedule(100, lambda: clockwork.fired.append("due"))
    clockwork.advance(99)
    assert clockwork.run_handlers() == []
    clockwork.advance(100)
    assert clockwork.fired == []  # the reaper itself runs no Python
    assert clockwork.run_handlers() == ["due"]
    assert handle.settled
    assert not handle.cancel()
    assert clockwork.run_handlers() == []
    assert clockwork.timer.scheduled == 0


def test_callbacks_fire_in_the_order_of_their_deadlines(clockwork: Clockwork) -> None:
    for delay in (500, 3, 20, 21, 400, 1):
        clockwork.timer.schedule(delay, partial(clockwork.fired.append, delay))
    clockwork.advance(1000)
    assert clockwork.run_handlers() == [1, 3, 20, 21, 400, 500]


def test_cancelled_callback_never_fires(clockwork: Clockwork) -> None:
    handle = clockwork.timer.schedule(100, lambda: clockwork.fired.append("due"))
    assert handle.cancel()
    assert not handle.cancel()
    clockwork.advance(1000)
    assert clockwork.run_handlers() == []


def test_cancelling_wins_while_no_handler_has_begun(clockwork: Clockwork) -> None:
    handle = clockwork.timer.schedule(100, lambda: clockwork.fired.append("due"))
    clockwork.advance(100)
    assert handle.cancel()
    del handle
    assert clockwork.run_handlers() == []
    assert clockwork.timer.scheduled == 0


def test_completing_runs_the_other_callable_instead(clockwork: Clockwork) -> None:
    fired = clockwork.fired
    handle = clockwork.timer.schedule(100, lambda: fired.append("expired"), lambda: fired.append("completed"))
    assert handle.complete()
    assert not handle.complete()
    clockwork.advance(1000)
    assert clockwork.run_handlers() == ["completed"]


def test_callback_without_delay_fires_at_the_next_visit(clockwork: Clockwork) -> None:
    clockwork.timer.schedule(0, lambda: clockwork.fired.append("now"))
    assert clockwork.run_handlers() == ["now"]


def test_callback_may_schedule_another(clockwork: Clockwork) -> None:
    def again() -> None:
        clockwork.fired.append("first")
        clockwork.timer.schedule(100, lambda: clockwork.fired.append("second"))

    clockwork.timer.schedule(100, again)
    clockwork.advance(100)
    assert clockwork.run_handlers() == ["first"]
    clockwork.advance(200)
    assert clockwork.run_handlers() == ["second"]


def test_failing_callback_is_logged_and_stops_nobody(clockwork: Clockwork, capfd: pytest.CaptureFixture[str]) -> None:
    clockwork.timer.schedule(1, lambda: 1 // 0)
    clockwork.timer.schedule(2, lambda: clockwork.fired.append("next"))
    clockwork.advance(10)
    assert clockwork.run_handlers() == ["next"]
    error = capfd.readouterr().err
    assert "ERROR [kcore.purgatory.timer] A delayed callback failed: ZeroDivisionError" in error
    assert "Traceback" in error


def test_forgotten_handle_still_fires(clockwork: Clockwork) -> None:
    """Nobody need keep what `schedule` answers."""
    clockwork.timer.schedule(1, lambda: clockwork.fired.append("due"))
    clockwork.advance(1)
    assert clockwork.run_handlers() == ["due"]


def test_shutdown_cancels_what_waits_and_what_is_queued(clockwork: Clockwork) -> None:
    clockwork.timer.schedule(1, lambda: clockwork.fired.append("queued"))
    clockwork.timer.schedule(1000, lambda: clockwork.fired.append("waiting"))
    clockwork.advance(1)
    clockwork.timer.shutdown()
    assert clockwork.run_handlers() == []
    assert clockwork.timer.scheduled == 0


def test_closed_channel_drops_what_expires(clockwork: Clockwork) -> None:
    clockwork.timer.schedule(1, lambda: clockwork.fired.append("queued"))
    clockwork.timer.schedule(2, lambda: clockwork.fired.append("later"))
    clockwork.advance(1)
    clockwork.channel.close()
    clockwork.advance(2)
    assert clockwork.run_handlers() == []


def test_thousands_of_timers_with_a_reaper_and_handler_threads() -> None:
    """5,000 session time-outs, half of them renewed: each fires once or was cancelled, never both."""
    channel = RequestChannel(10)
    timer = Timer(channel, "sessions")
    fired: set[int] = set()
    done = threading.Event()

    def expire(member: int) -> None:
        assert member not in fired
        fired.add(member)
        if len(fired) == 2500:
            done.set()

    def run_handler() -> None:
        while not channel.closed:
            channel.receive(16, 1000)

    handlers = [threading.Thread(target=run_handler) for _ in range(3)]
    for handler in handlers:
        handler.start()
    handles = [
        timer.schedule(60_000 if member % 2 else 1 + member % 200, partial(expire, member)) for member in range(5000)
    ]
    assert done.wait(60)
    assert sum(handle.cancel() for handle in handles) == 2500
    assert fired == set(range(0, 5000, 2))
    assert timer.scheduled == 0
    timer.shutdown()
    channel.close()
    for handler in handlers:
        handler.join()
