"""Clients that share a quota and take all they can hold its rate: any minute of it, on a clock of the test's own."""

from __future__ import annotations

import heapq
import random

import pytest

from kcore.platform.memory_disk import MemoryDisk
from kcore.quota.client_quota_manager import ANONYMOUS, FETCH, PRODUCE, REQUEST, ClientQuotaManager

START_MS = 1_000_000
# Longer than what is let through at once needs to come back.
WARM_UP_MS = 15_000
MINUTE_MS = 60_000
LENGTH_MS = 4 * MINUTE_MS
RATE = 6_000_000.0

Given = list[tuple[int, float]]


class Clients:
    """They ask again as soon as their answer, and then their throttle time, is over."""

    def __init__(self, rate: float) -> None:
        self.quotas = ClientQuotaManager(MemoryDisk())
        self.quotas.replace_limits([(kind, "", None, rate) for kind in (PRODUCE, FETCH, REQUEST)])
        self.random = random.Random(20)
        self.throttled = 0

    def run(self, kind: int, *clients: tuple[float, tuple[int, int]]) -> list[Given]:
        """Each with what it asks for at a time, and how many milliseconds a round trip takes it.

        What each of them was given when.
        """
        given: list[Given] = [[] for _ in clients]
        turns = [(START_MS, number) for number in range(len(clients))]
        while turns[0][0] < START_MS + LENGTH_MS:
            now_ms, number = heapq.heappop(turns)
            amount, round_trip_ms = clients[number]
            throttle_ms = self.serve(kind, f"client-{number}", amount, now_ms, given[number])
            self.throttled += throttle_ms > 0
            heapq.heappush(turns, (now_ms + throttle_ms + self.random.randint(*round_trip_ms), number))
        return given

    def serve(self, kind: int, client_id: str, amount: float, now_ms: int, given: Given) -> int:
        if kind != FETCH:
            given.append((now_ms, amount))
            return self.quotas.charge_client(kind, ANONYMOUS, client_id, amount, now_ms)
        # As a fetch is answered: no more is read than may be, and nothing is given to who has to wait.
        amount = min(amount, self.quotas.most_at_once_for(FETCH, ANONYMOUS, client_id, now_ms))
        throttle_ms = self.quotas.charge_client(FETCH, ANONYMOUS, client_id, amount, now_ms, strictly=True)
        if not throttle_ms:
            given.append((now_ms, amount))
        return throttle_ms


def held(given: list[Given], rate: float) -> list[float]:
    """The ratio to the quota of every minute after the warm-up, by the tenth of a second in which it begins."""
    first_ms = START_MS + WARM_UP_MS
    tenths = [0.0] * ((LENGTH_MS - WARM_UP_MS) // 100)
    for one in given:
        for now_ms, amount in one:
            if now_ms >= first_ms and now_ms < START_MS + LENGTH_MS:
                tenths[(now_ms - first_ms) // 100] += amount
    minute = MINUTE_MS // 100
    return [sum(tenths[at : at + minute]) / (rate * MINUTE_MS / 1000) for at in range(len(tenths) - minute + 1)]


def assert_held(given: list[Given], rate: float) -> None:
    ratios = held(given, rate)
    assert len(ratios) > 1000
    assert min(ratios) >= 0.9
    assert max(ratios) <= 1.1


def total(given: Given) -> float:
    return sum(amount for _, amount in given)


NEAR, FAR = (1, 3), (5, 60)


@pytest.mark.parametrize(
    ("seconds_worth", "round_trip_ms"),
    [(worth, NEAR) for worth in (0.001, 0.01, 0.08, 1 / 3, 1.0, 3.0, 10.0, 100.0)]
    + [(worth, FAR) for worth in (0.08, 1 / 3, 1.0, 3.0, 10.0, 100.0)],
)
def test_fetches(seconds_worth: float, round_trip_ms: tuple[int, int]) -> None:
    """What three consumers ask for at a time, from a batch to far more than the quota lets through at once."""
    clients = Clients(RATE)
    given = clients.run(FETCH, *[(RATE * seconds_worth, round_trip_ms)] * 3)
    assert_held(given, RATE)
    assert clients.throttled
    assert all(total(one) > RATE * LENGTH_MS / 1000 / 6 for one in given)


@pytest.mark.parametrize("seconds_worth", [0.08, 1.0, 10.0])
def test_who_is_near_is_not_always_served_first(seconds_worth: float) -> None:
    """Two that ask within a millisecond, and one that takes longer than it takes what they fetch to come back."""
    amount = RATE * seconds_worth
    given = Clients(RATE).run(FETCH, (amount, (1, 1)), (amount, (1, 1)), (amount, (50, 50)))
    assert_held(given, RATE)
    assert total(given[2]) > RATE * LENGTH_MS / 1000 / 5


def test_who_fetches_much_at_a_time_is_served_beside_who_fetches_little() -> None:
    given = Clients(RATE).run(FETCH, (5 * RATE, NEAR), (RATE / 100, NEAR), (RATE / 100, NEAR))
    assert_held(given, RATE)
    answers = [len(one) for one in given]
    assert min(answers) > 0.8 * max(answers)


def test_who_goes_away_leaves_its_turns_to_the_others() -> None:
    """Ninety consumers ask once and never again."""
    clients = Clients(RATE)
    for number in range(90):
        clients.serve(FETCH, f"gone-{number}", RATE, START_MS, [])
    assert_held(clients.run(FETCH, *[(RATE / 12, NEAR)] * 3), RATE)


@pytest.mark.parametrize("seconds_worth", [0.001, 0.05, 0.5, 2.0])
def test_produces(seconds_worth: float) -> None:
    """They are served before they wait, so that each may be ahead by a request."""
    clients = Clients(RATE)
    assert_held(clients.run(PRODUCE, *[(RATE * seconds_worth, NEAR)] * 3), RATE)
    assert clients.throttled


@pytest.mark.parametrize("milliseconds", [0.1, 1.0, 5.0])
def test_request_time(milliseconds: float) -> None:
    """Two percent of a thread's time, used by requests that take this long each.

    Clients that never wait for longer than a window could exceed it by longer ones.
    """
    clients = Clients(2.0)
    assert_held(clients.run(REQUEST, *[(milliseconds / 10, NEAR)] * 3), 2.0)
    assert clients.throttled
