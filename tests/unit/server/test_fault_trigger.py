"""When a fault strikes."""

from __future__ import annotations

import pytest

from kcore.server.faults.trigger import Trigger


def series(trigger: Trigger, count: int) -> list[bool]:
    return [trigger.strikes() for _ in range(count)]


def test_always_unless_something_else_is_said() -> None:
    trigger = Trigger()
    assert series(trigger, 5) == [True] * 5
    assert (trigger.hits, trigger.is_spent) == (5, False)


def test_the_nth() -> None:
    trigger = Trigger(skip=2, times=1)
    assert series(trigger, 5) == [False, False, True, False, False]
    assert (trigger.hits, trigger.is_spent) == (1, True)


def test_a_seed_gives_the_same_series_again() -> None:
    first, second = (series(Trigger(probability=0.3, seed=5), 1000) for _ in range(2))
    assert first == second
    assert first != series(Trigger(probability=0.3, seed=6), 1000)
    assert 200 < sum(first) < 400


def test_times_count_strikes_and_not_events() -> None:
    trigger = Trigger(probability=0.5, seed=1, times=10)
    assert sum(series(trigger, 1000)) == 10
    assert trigger.is_spent


def test_numbers_between_two_belong_to_the_series() -> None:
    first, second = ([trigger.between(5, 9) for _ in range(200)] for trigger in (Trigger(seed=2), Trigger(seed=2)))
    assert first == second
    assert set(first) == {5, 6, 7, 8, 9}
    assert Trigger().between(7, 7) == 7


@pytest.mark.parametrize(
    "arguments", [{"times": 0}, {"skip": -1}, {"probability": 0.0}, {"probability": 1.1}, {"probability": -0.1}]
)
def test_what_cannot_be(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        Trigger(**arguments)  # type: ignore[arg-type]
