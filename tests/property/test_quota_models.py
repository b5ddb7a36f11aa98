"""Quotas against plain models of Kafka's rules: its token bucket, its order of precedence."""

from __future__ import annotations

import math
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.platform.memory_disk import MemoryDisk
from kcore.quota.client_quota_manager import CONTROLLER_MUTATION, FETCH, PRODUCE, REQUEST, ClientQuotaManager

SIZE = settings(max_examples=300, deadline=None, derandomize=True)


class ModelBucket:
    """`TokenBucket`, as Kafka 3.9 documents it."""

    def __init__(self, bound: float, burst_s: float) -> None:
        self.bound = bound
        self.most = bound * burst_s
        self.tokens = self.most
        self.now_ms = 0
        self.next_turn_ms = 0.0

    def refill(self, now_ms: int) -> None:
        self.tokens = min(self.most, self.tokens + self.bound * (now_ms - self.now_ms) / 1000)
        self.now_ms = now_ms

    def wait_ms(self) -> int:
        return 0 if self.tokens >= 0 else max(1, round(-self.tokens / self.bound * 1000))

    def charge(self, amount: float, strictly: bool) -> int:
        if strictly and self.tokens < 0:
            return self.wait_ms()
        self.tokens -= amount
        return 0 if strictly else self.wait_ms()

    def fetch(self, amount: float) -> int:
        """In debt nothing is given, and turns are: each begins when what was asked for before it has come back."""
        if round(-self.tokens / self.bound * 1000) <= 0:
            self.tokens -= amount
            return 0
        paid_ms = self.now_ms - self.tokens / self.bound * 1000
        turn_ms = min(max(paid_ms, self.next_turn_ms), paid_ms + self.most / self.bound * 1000)
        self.next_turn_ms = turn_ms + amount / self.bound * 1000
        return math.ceil(turn_ms - self.now_ms)


EVENTS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 100_000)), min_size=1, max_size=60)


@SIZE
@given(
    windows=st.integers(1, 12),
    window_s=st.integers(1, 3),
    bound=st.integers(1, 50_000),
    quota_type=st.sampled_from([PRODUCE, FETCH]),
    events=EVENTS,
)
def test_throttle_times_of_bytes(
    windows: int, window_s: int, bound: int, quota_type: int, events: list[tuple[int, int]]
) -> None:
    manager = ClientQuotaManager(MemoryDisk(), windows, window_s)
    manager.replace_limits([(quota_type, None, "app", float(bound))])
    model = ModelBucket(bound, max(1, windows - 1) * window_s)
    now_ms = 1_000_000
    for pause_ms, amount in events:
        now_ms += pause_ms
        model.refill(now_ms)
        expected = model.fetch(amount) if quota_type == FETCH else model.charge(amount, False)
        strictly = quota_type == FETCH
        throttle_ms = manager.charge_client(quota_type, "ann", "app", amount, now_ms, strictly=strictly)
        assert abs(throttle_ms - expected) <= 1
        measured = manager.tokens_of(quota_type, "ann", "app", now_ms)
        assert measured is not None
        assert math.isclose(measured[0], model.tokens, abs_tol=1e-3)


@SIZE
@given(windows=st.integers(1, 12), window_s=st.integers(1, 3), bound=st.integers(1, 50_000), events=EVENTS)
def test_throttle_times_of_request_time(windows: int, window_s: int, bound: int, events: list[tuple[int, int]]) -> None:
    """Nobody waits for longer than a window, or owes more than comes back in all of them."""
    manager = ClientQuotaManager(MemoryDisk(), windows, window_s)
    manager.replace_limits([(REQUEST, None, "app", float(bound))])
    model = ModelBucket(bound, max(1, windows - 1) * window_s)
    now_ms = 1_000_000
    for pause_ms, amount in events:
        now_ms += pause_ms
        model.refill(now_ms)
        model.charge(amount, False)
        model.tokens = max(model.tokens, -bound * windows * window_s)
        throttle_ms = manager.charge_client(REQUEST, "ann", "app", amount, now_ms)
        assert abs(throttle_ms - min(model.wait_ms(), window_s * 1000)) <= 1


@SIZE
@given(
    bound=st.integers(1, 50),
    strictly=st.booleans(),
    events=st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 300)), min_size=1, max_size=40),
)
def test_throttle_times_of_mutations(bound: int, strictly: bool, events: list[tuple[int, int]]) -> None:
    manager = ClientQuotaManager(MemoryDisk(), mutation_windows=10, mutation_window_s=2)
    manager.replace_limits([(CONTROLLER_MUTATION, "ann", None, float(bound))])
    model = ModelBucket(bound, 20)
    now_ms = 9_000_000
    for pause_ms, permits in events:
        now_ms += pause_ms
        model.refill(now_ms)
        throttle_ms = manager.charge_client(CONTROLLER_MUTATION, "ann", "app", permits, now_ms, strictly=strictly)
        assert abs(throttle_ms - model.charge(permits, strictly)) <= 1


class Quota(NamedTuple):
    type: int
    user: str | None
    client_id: str | None


NAMES = st.sampled_from([None, "", "a", "b"])
QUOTAS = st.builds(Quota, st.sampled_from([PRODUCE, FETCH]), NAMES, NAMES).filter(
    lambda quota: (quota.user, quota.client_id) != (None, None)
)


def level(quota: Quota, user: str, client_id: str) -> int | None:
    """Where a quota stands in Kafka's order for a client; None if it is for others."""
    order = [
        (user, client_id),
        (user, ""),
        (user, None),
        ("", client_id),
        ("", ""),
        ("", None),
        (None, client_id),
        (None, ""),
    ]
    names = (quota.user, quota.client_id)
    return order.index(names) if names in order else None


@SIZE
@given(quotas=st.dictionaries(QUOTAS, st.integers(1, 10**6), max_size=10), data=st.data())
def test_the_most_specific_quota_applies(quotas: dict[Quota, int], data: st.DataObject) -> None:
    manager = ClientQuotaManager(MemoryDisk())
    manager.replace_limits([(*quota, float(limit)) for quota, limit in quotas.items()])
    for _ in range(5):
        user, client_id = (data.draw(st.sampled_from(["a", "b", "c"])) for _ in range(2))
        quota_type = data.draw(st.sampled_from([PRODUCE, FETCH]))
        matching = {
            rank: limit
            for quota, limit in quotas.items()
            if quota.type == quota_type and (rank := level(quota, user, client_id)) is not None
        }
        found = manager.tokens_of(quota_type, user, client_id)
        assert (found and found[1]) == (matching[min(matching)] if matching else None)
