"""Quotas against plain models of Kafka's rules: its sampled rate, its token bucket, its order of precedence."""

from __future__ import annotations

import math
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from kcore.platform.memory_disk import MemoryDisk
from kcore.quota.client_quota_manager import CONTROLLER_MUTATION, FETCH, PRODUCE, REQUEST, ClientQuotaManager

SIZE = settings(max_examples=300, deadline=None, derandomize=True)


class Sample:
    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.start = self.last = now_ms
        self.value = 0.0


class ModelRate:
    """`Rate` over `WindowedSum`, as Kafka 3.9 documents them."""

    def __init__(self, windows: int, window_ms: int) -> None:
        self.windows = windows
        self.window_ms = window_ms
        self.samples: list[Sample] = []
        self.current = 0

    def record(self, amount: float, now_ms: int) -> None:
        if not self.samples:
            self.samples.append(Sample(now_ms))
        if now_ms - self.samples[self.current].start >= self.window_ms:
            self.current = (self.current + 1) % (self.windows + 1)
            if self.current == len(self.samples):
                self.samples.append(Sample(now_ms))
            else:
                self.samples[self.current].reset(now_ms)
        self.samples[self.current].value += amount
        self.samples[self.current].last = now_ms

    def measure(self, now_ms: int) -> tuple[float, int]:
        for sample in self.samples:
            if now_ms - sample.last >= self.windows * self.window_ms:
                sample.reset(now_ms)
        elapsed = now_ms - min(sample.start for sample in self.samples)
        whole = elapsed // self.window_ms
        elapsed += max(0, self.windows - 1 - whole) * self.window_ms
        elapsed = max(elapsed, self.window_ms)
        return sum(sample.value for sample in self.samples) / (elapsed / 1000), elapsed

    def throttle_ms(self, bound: float, now_ms: int) -> int:
        observed, elapsed = self.measure(now_ms)
        return max(0, round((observed - bound) / bound * elapsed))


EVENTS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 100_000)), min_size=1, max_size=60)


@SIZE
@given(windows=st.integers(1, 12), window_s=st.integers(1, 3), bound=st.integers(1, 50_000), events=EVENTS)
def test_rates_and_throttle_times(windows: int, window_s: int, bound: int, events: list[tuple[int, int]]) -> None:
    manager = ClientQuotaManager(MemoryDisk(), windows, window_s)
    manager.replace_limits([(PRODUCE, None, "app", float(bound)), (REQUEST, None, "app", float(bound))])
    model = ModelRate(windows, window_s * 1000)
    now_ms = 1_000_000
    for pause_ms, amount in events:
        now_ms += pause_ms
        model.record(amount, now_ms)
        expected = model.throttle_ms(bound, now_ms)
        assert abs(manager.charge_client(PRODUCE, "ann", "app", amount, now_ms) - expected) <= 1
        bounded = manager.charge_client(REQUEST, "ann", "app", amount, now_ms)
        assert abs(bounded - min(expected, window_s * 1000)) <= 1
        measured = manager.rate_of(PRODUCE, "ann", "app", now_ms)
        assert measured is not None
        assert math.isclose(measured[0], model.measure(now_ms)[0], abs_tol=1e-6)


@settings(SIZE, max_examples=50)
@given(bound=st.integers(1000, 10**7), parts=st.lists(st.integers(1, 50), min_size=5, max_size=40))
def test_who_waits_as_long_as_it_is_told_keeps_the_rate(bound: int, parts: list[int]) -> None:
    """Requests of up to half a second's worth: ten minutes of them come to the quota within 10 %."""
    manager = ClientQuotaManager(MemoryDisk(), 11, 1)
    manager.replace_limits([(FETCH, "", None, float(bound))])
    now_ms = start_ms = 5_000_000
    total = 0.0
    while now_ms < start_ms + 600_000:
        for part in parts:
            total += bound * part / 100
            now_ms += manager.charge_client(FETCH, "ann", "app", bound * part / 100, now_ms)
    assert 0.9 <= total / (bound * (now_ms - start_ms) / 1000) <= 1.1


@SIZE
@given(amounts=st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 9000)), min_size=1, max_size=30))
def test_taking_back_leaves_nothing(amounts: list[tuple[int, int]]) -> None:
    manager = ClientQuotaManager(MemoryDisk())
    manager.replace_limits([(FETCH, None, "app", 1000.0)])
    now_ms = 77_000
    for pause_ms, amount in amounts:
        now_ms += pause_ms
        manager.charge_client(FETCH, "ann", "app", amount, now_ms)
        manager.uncharge_client(FETCH, "ann", "app", amount, now_ms)
        assert manager.rate_of(FETCH, "ann", "app", now_ms) == (0.0, 1000.0)


@SIZE
@given(
    bound=st.integers(1, 50),
    strictly=st.booleans(),
    events=st.lists(st.tuples(st.integers(0, 5000), st.integers(1, 300)), min_size=1, max_size=40),
)
def test_token_buckets(bound: int, strictly: bool, events: list[tuple[int, int]]) -> None:
    manager = ClientQuotaManager(MemoryDisk(), mutation_windows=10, mutation_window_s=2)
    manager.replace_limits([(CONTROLLER_MUTATION, "ann", None, float(bound))])
    tokens, now_ms, refilled_ms = math.inf, 9_000_000, 0
    for pause_ms, permits in events:
        now_ms += pause_ms
        tokens = min(20 * bound, tokens + bound * (now_ms - refilled_ms) / 1000)
        refilled_ms = now_ms
        if strictly and tokens < 0:
            expected = max(1, round(-tokens / bound * 1000))
        else:
            tokens -= permits
            expected = 0 if strictly or tokens >= 0 else max(1, round(-tokens / bound * 1000))
        assert abs(manager.mutate_for("ann", "app", permits, strictly, now_ms) - expected) <= 1


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
        found = manager.rate_of(quota_type, user, client_id)
        assert (found and found[1]) == (matching[min(matching)] if matching else None)
