"""Idle shares by a clock of the test's own."""

from __future__ import annotations

from kcore.metrics.recent_share import RecentShare

SECOND = 1_000_000_000


class Threads:
    """Two threads and the time."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.idle_ns = [0, 0]
        self.share = RecentShare(lambda: list(self.idle_ns), lambda: self.now_ns)

    def pass_time(self, seconds: int, *idle: float) -> list[float]:
        self.now_ns += seconds * SECOND
        self.idle_ns = [before + int(part * seconds * SECOND) for before, part in zip(self.idle_ns, idle, strict=True)]
        return self.share.rates()


def test_before_any_time_has_passed_nothing_is_idle() -> None:
    assert Threads().share.rates() == [0, 0]


def test_shares_since_the_start() -> None:
    assert Threads().pass_time(10, 0.5, 1) == [0.5, 1]


def test_what_is_more_than_a_minute_old_is_forgotten() -> None:
    threads = Threads()
    threads.pass_time(100, 0, 0)
    threads.pass_time(30, 1, 0.5)
    assert threads.pass_time(30, 1, 0.5) == [1, 0.5]


def test_two_who_ask_do_not_disturb_each_other() -> None:
    threads = Threads()
    threads.pass_time(50, 0, 0)
    assert threads.pass_time(0, 0, 0) == threads.share.rates() == [0, 0]
    assert threads.pass_time(50, 1, 1) == [0.5, 0.5]


def test_threads_may_be_added() -> None:
    threads = Threads()
    threads.pass_time(10, 1, 1)
    threads.idle_ns.append(0)
    assert threads.pass_time(10, 1, 1, 0.5) == [1, 1, 0.25]
