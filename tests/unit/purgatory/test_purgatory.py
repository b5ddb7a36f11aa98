"""Operations complete once, on time, by whoever comes first, and leave nothing behind."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from types import ModuleType

import pytest

from kcore.purgatory.delayed_operation import live_operations
from kcore.purgatory.purgatory import Purgatory


@pytest.fixture
def purgatory() -> Iterator[Purgatory]:
    started = Purgatory("test")
    started.start()
    yield started
    started.shutdown()


@pytest.fixture
def manual() -> Iterator[Purgatory]:
    """Time stands still until a test moves it."""
    made = Purgatory("test", manual_clock=True)
    yield made
    made.shutdown()


def test_operation_whose_condition_holds_is_never_watched(probes: ModuleType, manual: Purgatory) -> None:
    gate = probes.Gate()
    gate.set_open()
    assert gate.wait(manual, [1, 2], 1000)
    assert (gate.completed, gate.expired) == (1, 0)
    assert (manual.watched, manual.delayed) == (0, 0)


def test_operation_completes_when_its_key_is_checked(probes: ModuleType, manual: Purgatory) -> None:
    gate = probes.Gate()
    assert not gate.wait(manual, [1, 2], 1000)
    assert (manual.watched, manual.delayed) == (2, 1)
    assert manual.check(1) == 0
    gate.set_open()
    assert manual.check(3) == 0
    assert manual.check(2) == 1
    assert (gate.completed, gate.expired) == (1, 0)
    assert manual.delayed == 0
    assert manual.check(1) == 0  # sweeps the other key's list
    assert manual.watched == 0


def test_operation_expires_at_its_deadline(probes: ModuleType, manual: Purgatory) -> None:
    gate = probes.Gate()
    manual.advance_clock(5_000)
    assert not gate.wait(manual, [1], 1000)
    manual.advance_clock(5_999)
    assert gate.expired == 0
    manual.advance_clock(6_000)
    assert (gate.completed, gate.expired) == (0, 1)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_operation_without_time_expires_at_once(probes: ModuleType, manual: Purgatory, timeout_ms: int) -> None:
    gate = probes.Gate()
    assert gate.wait(manual, [1], timeout_ms)
    assert (gate.completed, gate.expired) == (0, 1)


def test_endless_timeout(probes: ModuleType, manual: Purgatory) -> None:
    gate = probes.Gate()
    assert not gate.wait(manual, [1], 2**63 - 1)
    manual.advance_clock(10**12)
    assert gate.expired == 0


def test_expire_key_ends_every_operation_of_the_key(probes: ModuleType, manual: Purgatory) -> None:
    gate, other = probes.Gate(), probes.Gate()
    for _ in range(100):
        gate.wait(manual, [1, 2], 1000)
    other.wait(manual, [2], 1000)
    assert manual.expire_key(1) == 100
    assert (gate.expired, other.expired) == (100, 0)
    assert manual.delayed == 1


def test_one_check_completes_every_operation_of_a_key(probes: ModuleType, manual: Purgatory) -> None:
    gates = [probes.Gate() for _ in range(500)]
    for gate in gates:
        gate.wait(manual, [7], 1000)
    for gate in gates[::2]:
        gate.set_open()
    assert manual.check(7) == 250
    assert manual.watched == 250
    assert [gate.completed for gate in gates] == [1, 0] * 250


def test_completed_operations_are_swept_from_keys_that_nobody_checks(probes: ModuleType) -> None:
    before = live_operations()
    purgatory = Purgatory("test", purge_interval=100, manual_clock=True)
    gate = probes.Gate()
    for now in range(1000):
        gate.wait(purgatory, [1, 2, 3, 1000 + now], 1)
        purgatory.advance_clock(now + 2)
        assert purgatory.watched <= 2 * 100 + 8
        assert live_operations() - before <= 60
    assert gate.expired == 1000
    purgatory.shutdown()


def test_reaper_sweeps_in_the_background(probes: ModuleType) -> None:
    purgatory = Purgatory("test", purge_interval=10)
    purgatory.start()
    gate = probes.Gate()
    for number in range(1000):
        gate.wait(purgatory, [1, 10_000 + number], 60_000)
    assert gate.open_and_check(purgatory, 1) == 1000
    while purgatory.watched > 20:
        pass
    purgatory.shutdown()
    assert gate.broken_promises == (0, 0, 0)


def test_reaper_expires_and_never_early(probes: ModuleType, purgatory: Purgatory) -> None:
    gate = probes.Gate()
    timeouts = [random.Random(number).randrange(1, 300) for number in range(2000)]
    for number, timeout_ms in enumerate(timeouts):
        gate.wait(purgatory, [number % 10], timeout_ms, check_early=True)
    assert gate.wait_until_done(2000)
    assert gate.expired == 2000
    assert gate.broken_promises == (0, 0, 0)
    assert purgatory.delayed == 0


def test_operations_expire_while_the_gil_is_held(probes: ModuleType, purgatory: Purgatory) -> None:
    gate = probes.Gate()
    for timeout_ms in range(1, 101):
        gate.wait(purgatory, [1], timeout_ms)
    assert gate.wait_holding_the_gil(100)


def test_earlier_deadline_wakes_the_reaper(probes: ModuleType, purgatory: Purgatory) -> None:
    late, early = probes.Gate(), probes.Gate()
    late.wait(purgatory, [1], 60_000)
    early.wait(purgatory, [2], 5)
    assert early.wait_until_done(1)
    assert late.expired == 0


def test_shutdown_expires_what_waits_and_what_comes_later(probes: ModuleType) -> None:
    purgatory = Purgatory("test")
    purgatory.start()
    gate = probes.Gate()
    for _ in range(10):
        gate.wait(purgatory, [1], 60_000)
    purgatory.shutdown()
    assert gate.expired == 10
    assert gate.wait(purgatory, [1], 60_000)
    assert gate.expired == 11


def test_purgatory_without_shutdown_lets_go_of_its_operations(probes: ModuleType) -> None:
    purgatory = Purgatory("test", manual_clock=True)
    probes.Gate().wait(purgatory, [1, 2], 1000)
    del purgatory


def test_completion_races_expiry(probes: ModuleType, purgatory: Purgatory) -> None:
    """Four threads add, complete and expire: every operation ends exactly once and is tried by one at a time."""
    gates = [probes.Gate() for _ in range(50)]
    rounds = 3000
    ready = threading.Barrier(4)

    def add() -> None:
        generator = random.Random(1)
        ready.wait()
        for number in range(rounds):
            for gate in gates:
                gate.wait(purgatory, [number % 3, 3], generator.randrange(0, 3))

    def check(key: int) -> None:
        ready.wait()
        for number in range(rounds):
            for gate in gates[number % 7 :: 7]:
                gate.open_and_check(purgatory, key)
                gate.set_open(False)

    def expire() -> None:
        ready.wait()
        for number in range(rounds):
            purgatory.expire_key(number % 3)

    threads = [threading.Thread(target=add), threading.Thread(target=expire)]
    threads += [threading.Thread(target=check, args=(key,)) for key in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for gate in gates:
        assert gate.wait_until_done(rounds)
        assert gate.completed + gate.expired == rounds
        assert gate.broken_promises == (0, 0, 0)
    assert purgatory.delayed == 0
