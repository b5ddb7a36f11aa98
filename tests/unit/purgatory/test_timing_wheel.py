"""The wheel against a sorted list: everything expires once, at its deadline, in order."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

# From the next tick to beyond the fifth overflow wheel (20 ** 6 ms).
DELAYS = st.one_of(st.integers(-5, 25), st.integers(0, 10_000), st.integers(0, 100_000_000))


@given(start=st.integers(0, 10**13), delays=st.lists(DELAYS, max_size=60), steps=st.lists(st.integers(0, 10**6)))
@settings(max_examples=300, deadline=None)
def test_entries_expire_at_the_first_look_at_or_after_their_deadline(
    probes: ModuleType, start: int, delays: list[int], steps: list[int]
) -> None:
    wheel = probes.Wheel(start)
    waiting = {}
    for token, delay in enumerate(delays):
        accepted = wheel.add(token, start + delay, start)
        assert accepted == (delay > 0)
        if accepted:
            waiting[token] = start + delay
    now = start
    for step in [*steps, 100_000_001]:
        now += step
        due = wheel.advance(now)
        assert [waiting[token] for token in due] == sorted(waiting[token] for token in due)
        assert set(due) == {token for token, deadline in waiting.items() if deadline <= now}
        for token in due:
            del waiting[token]
        assert len(wheel) == len(waiting)
    assert not waiting


def wheel_machine(probes: ModuleType) -> type[RuleBasedStateMachine]:
    class WheelMachine(RuleBasedStateMachine):
        """Adds, removes and looks at any time; the clock may jump far; entries may come while others are due."""

        @initialize(start=st.integers(0, 10**13))
        def begin(self, start: int) -> None:
            self.now = start
            self.wheel = probes.Wheel(start)
            self.waiting: dict[int, int] = {}
            self.tokens = 0

        @rule(delay=DELAYS, late=st.integers(0, 500))
        def add(self, delay: int, late: int) -> None:
            """`late`: the clock moved on since the wheel was last looked at."""
            self.now += late
            self.tokens += 1
            if self.wheel.add(self.tokens, self.now + delay, self.now):
                self.waiting[self.tokens] = self.now + delay
            else:
                assert delay <= 0

        @rule(data=st.data())
        def remove(self, data: st.DataObject) -> None:
            if self.waiting:
                token = data.draw(st.sampled_from(sorted(self.waiting)))
                del self.waiting[token]
                assert self.wheel.remove(token)

        @rule(step=st.one_of(st.integers(0, 50), st.integers(0, 10**7)))
        def advance(self, step: int) -> None:
            self.now += step
            due = self.wheel.advance(self.now)
            assert set(due) == {token for token, deadline in self.waiting.items() if deadline <= self.now}
            for token in due:
                del self.waiting[token]

        @rule()
        def advance_to_next(self) -> None:
            """As the reaper does: it sleeps until the wheel says so, which is never after the first deadline."""
            if self.waiting and self.wheel.next_ms > self.now:
                self.advance(self.wheel.next_ms - self.now)

        @invariant()
        def nothing_is_forgotten(self) -> None:
            if hasattr(self, "wheel"):
                assert len(self.wheel) == len(self.waiting)
                if self.waiting:
                    assert self.wheel.next_ms <= min(self.waiting.values())

    return WheelMachine


def test_wheel_agrees_with_a_dictionary_whatever_is_done(probes: ModuleType) -> None:
    run_state_machine_as_test(
        wheel_machine(probes), settings=settings(max_examples=100, stateful_step_count=40, deadline=None)
    )


@pytest.mark.parametrize("delay", [1, 19, 20, 21, 399, 400, 401, 7_999, 8_000, 8_001, 160_000, 3_200_000, 64_000_001])
def test_reaper_wakes_few_times_for_one_entry(probes: ModuleType, delay: int) -> None:
    """At most once a wheel that the entry passes through, and at its deadline to the millisecond."""
    wheel = probes.Wheel(12_345)
    wheel.add("entry", 12_345 + delay, 12_345)
    wakes = 0
    while True:
        wakes += 1
        now = wheel.next_ms
        if wheel.advance(now):
            break
    assert now == 12_345 + delay
    assert wakes <= 7
