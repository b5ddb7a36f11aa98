"""What is measured together, what a change of quotas does to it, and how many clients are remembered."""

from __future__ import annotations

import math
import threading

import pytest

from kcore.platform.memory_disk import MemoryDisk
from kcore.quota.client_quota_manager import (
    ANONYMOUS,
    CONTROLLER_MUTATION,
    FETCH,
    PRODUCE,
    REQUEST,
    ClientQuotaManager,
)

NOW_MS = 1_000_000
SECOND = 1000


@pytest.fixture
def manager() -> ClientQuotaManager:
    return ClientQuotaManager(MemoryDisk())


def rate(manager: ClientQuotaManager, user: str, client_id: str, type: int = PRODUCE) -> float:
    measured = manager.rate_of(type, user, client_id, NOW_MS)
    assert measured is not None
    return measured[0]


def test_nothing_is_measured_or_remembered_without_a_quota(manager: ClientQuotaManager) -> None:
    assert not manager.enables(PRODUCE)
    assert manager.charge_client(PRODUCE, ANONYMOUS, "app", 1e12) == 0
    assert manager.mutate_for(ANONYMOUS, "app", 1e12, True) == 0
    assert manager.client_count == 0
    manager.replace_limits([(FETCH, None, "", 10.0)])
    assert manager.enables(FETCH)
    assert manager.charge_client(PRODUCE, ANONYMOUS, "app", 1e12) == 0
    assert manager.client_count == 0


@pytest.mark.parametrize(
    ("quota", "together", "apart"),
    [
        (("ann", None), ("ann", "other"), None),
        (("", None), ("ann", "other"), ("bob", "app")),
        ((None, "app"), ("bob", "app"), None),
        ((None, ""), ("bob", "app"), ("ann", "other")),
        (("ann", ""), None, ("ann", "other")),
        (("", "app"), None, ("bob", "app")),
    ],
)
def test_what_is_measured_together(
    manager: ClientQuotaManager,
    quota: tuple[str | None, str | None],
    together: tuple[str, str] | None,
    apart: tuple[str, str] | None,
) -> None:
    manager.replace_limits([(PRODUCE, *quota, 100.0)])
    manager.charge_client(PRODUCE, "ann", "app", 500, NOW_MS)
    assert rate(manager, "ann", "app") == 50.0
    if together is not None:
        assert rate(manager, *together) == 50.0
    if apart is not None:
        assert rate(manager, *apart) == 0.0


def test_a_burst_after_silence_fits_the_windows(manager: ClientQuotaManager) -> None:
    """Ten seconds' worth at once is what a quota lets through, and not a byte more."""
    manager.replace_limits([(PRODUCE, None, "app", 100.0)])
    assert manager.most_at_once_for(PRODUCE, "ann", "app") == 1000.0
    assert manager.charge_client(PRODUCE, "ann", "app", 1000, NOW_MS) == 0
    assert manager.charge_client(PRODUCE, "ann", "app", 50, NOW_MS) == 500


def test_a_changed_quota_keeps_what_was_measured(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "app", 100.0)])
    manager.charge_client(PRODUCE, "ann", "app", 1000, NOW_MS)
    manager.replace_limits([(PRODUCE, None, "app", 50.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 0, NOW_MS) == 10 * SECOND
    manager.replace_limits([(PRODUCE, None, "app", 1000.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 0, NOW_MS) == 0


def test_another_quota_measures_anew(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "app", 10.0)])
    manager.charge_client(PRODUCE, "ann", "app", 1000, NOW_MS)
    manager.charge_client(PRODUCE, "bob", "app", 0, NOW_MS)
    manager.replace_limits([(PRODUCE, None, "app", 10.0), (PRODUCE, "ann", "app", 10.0)])
    assert rate(manager, "ann", "app") == 0.0
    assert rate(manager, "bob", "app") == 100.0
    manager.replace_limits([])
    assert manager.rate_of(PRODUCE, "ann", "app") is None
    assert not manager.enables(PRODUCE)


def test_request_time_is_waited_for_no_longer_than_a_window(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(REQUEST, "", None, 1.0)])
    assert manager.charge_client(REQUEST, "ann", "app", 1e6, NOW_MS) == SECOND


def test_a_missing_client_id_is_an_empty_one(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "", 10.0)])
    manager.charge_client(PRODUCE, "ann", None, 1000, NOW_MS)
    assert rate(manager, "ann", "") == 100.0


def test_mutations_beyond_the_tokens_are_refused_or_delayed(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(CONTROLLER_MUTATION, "", None, 2.0)])
    # A full bucket holds eleven seconds' worth; what is not exhausted takes any number.
    assert manager.mutate_for("ann", "app", 32, True, NOW_MS) == 0
    assert manager.mutate_for("ann", "app", 1, True, NOW_MS) == 5 * SECOND
    assert manager.mutate_for("ann", "app", 1, True, NOW_MS + 5 * SECOND) == 0
    assert manager.mutate_for("bob", "app", 23, False, NOW_MS) == SECOND // 2
    assert manager.mutate_for("bob", "app", 1, False, NOW_MS) == SECOND


@pytest.mark.parametrize("strictly", [False, True])
def test_an_infinite_quota_of_mutations_delays_nobody(manager: ClientQuotaManager, strictly: bool) -> None:
    manager.replace_limits([(CONTROLLER_MUTATION, "", None, math.inf)])
    for now_ms in (NOW_MS, NOW_MS, NOW_MS + SECOND):
        assert manager.mutate_for("ann", "app", 1000, strictly, now_ms) == 0
    manager.replace_limits([(CONTROLLER_MUTATION, "", None, 2.0)])
    assert manager.mutate_for("ann", "app", 32, False, NOW_MS + SECOND) == 5 * SECOND


def test_the_least_recently_used_clients_are_forgotten(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "", 10.0), (FETCH, "ann", None, 10.0)])
    for number in range(10_050):
        manager.charge_client(PRODUCE, "ann", f"client-{number}", 1000, NOW_MS)
        manager.charge_client(PRODUCE, "ann", "client-0", 0, NOW_MS)
    assert manager.client_count == 10_000
    assert manager.sensor_count == 10_001
    assert rate(manager, "ann", "client-0") == 100.0
    assert rate(manager, "ann", "client-1") == 0.0


def test_the_largest_names(manager: ClientQuotaManager) -> None:
    name = "ü" * 16_383
    manager.replace_limits([(PRODUCE, name, name, 10.0)])
    manager.charge_client(PRODUCE, name, name, 1000, NOW_MS)
    assert rate(manager, name, name) == 100.0
    assert manager.rate_of(PRODUCE, name, name[1:]) is None


def test_threads_charge_while_quotas_change(manager: ClientQuotaManager) -> None:
    """Nothing is lost: with a sensor that stays, the sum is everything that was charged."""
    stop = threading.Event()

    def change() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            others = [(FETCH, None, f"app-{number}", 1.0) for number in range(turn % 5)]
            manager.replace_limits([(PRODUCE, "", None, 1e9), *others])

    def charge(thread: int) -> None:
        for number in range(5_000):
            manager.charge_client(PRODUCE, "ann", f"app-{thread}-{number % 50}", 10, NOW_MS)
            manager.charge_client(FETCH, "ann", f"app-{number % 5}", 1, NOW_MS)

    manager.replace_limits([(PRODUCE, "", None, 1e9)])
    changer = threading.Thread(target=change)
    chargers = [threading.Thread(target=charge, args=(thread,)) for thread in range(3)]
    for thread in (changer, *chargers):
        thread.start()
    for thread in chargers:
        thread.join()
    stop.set()
    changer.join()
    assert rate(manager, "ann", "any") == 3 * 5_000 * 10 / 10


def test_impossible_quotas_are_refused(manager: ClientQuotaManager) -> None:
    with pytest.raises(ValueError, match="no quota of type 4"):
        manager.replace_limits([(4, None, "app", 1.0)])
    with pytest.raises(ValueError, match="no quota of type 0 for user None and client id None"):
        manager.replace_limits([(PRODUCE, None, None, 1.0)])
    with pytest.raises(ValueError, match="from 1 on"):
        ClientQuotaManager(MemoryDisk(), windows=0)
