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


def tokens(manager: ClientQuotaManager, user: str, client_id: str) -> float:
    """What may be produced now: by who was not seen before, ten seconds' worth."""
    measured = manager.tokens_of(PRODUCE, user, client_id, NOW_MS)
    assert measured is not None
    return measured[0]


def test_nothing_is_measured_or_remembered_without_a_quota(manager: ClientQuotaManager) -> None:
    assert not manager.enables(PRODUCE)
    assert manager.charge_client(PRODUCE, ANONYMOUS, "app", 1e12) == 0
    assert manager.charge_client(CONTROLLER_MUTATION, ANONYMOUS, "app", 1e12, strictly=True) == 0
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
    assert tokens(manager, "ann", "app") == 500.0
    if together is not None:
        assert tokens(manager, *together) == 500.0
    if apart is not None:
        assert tokens(manager, *apart) == 1000.0


def test_a_burst_after_silence(manager: ClientQuotaManager) -> None:
    """Ten seconds' worth at once is what a quota lets through, and not a byte more."""
    manager.replace_limits([(PRODUCE, None, "app", 100.0)])
    assert manager.most_at_once_for(PRODUCE, "ann", "app", NOW_MS) == 1000.0
    assert manager.charge_client(PRODUCE, "ann", "app", 1000, NOW_MS) == 0
    assert manager.charge_client(PRODUCE, "ann", "app", 50, NOW_MS) == 500
    later_ms = NOW_MS + SECOND // 2
    assert manager.charge_client(PRODUCE, "ann", "app", 0, later_ms) == 0
    assert manager.charge_client(PRODUCE, "ann", "app", 1, later_ms) == 10
    assert manager.charge_client(PRODUCE, "ann", "app", 1000, later_ms + 3600 * SECOND) == 0


def test_a_burst_is_not_repeated_before_it_is_paid_for(manager: ClientQuotaManager) -> None:
    """A rate over samples lets it through again as soon as its sample is forgotten."""
    manager.replace_limits([(PRODUCE, None, "app", 100.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 3000, NOW_MS) == 20 * SECOND
    assert manager.charge_client(PRODUCE, "ann", "app", 0, NOW_MS + 12 * SECOND) == 8 * SECOND
    assert manager.charge_client(PRODUCE, "ann", "app", 100, NOW_MS + 21 * SECOND) == 0
    assert manager.charge_client(PRODUCE, "ann", "app", 1, NOW_MS + 21 * SECOND) == 10


def test_who_is_within_the_quota_may_exceed_it_once(manager: ClientQuotaManager) -> None:
    """Strictly, as fetches are charged: whatever one takes, it is served in the end, and others wait for it."""
    manager.replace_limits([(FETCH, "", None, 100.0)])
    for now_ms in (NOW_MS, NOW_MS + 20 * SECOND):
        assert manager.charge_client(FETCH, "ann", "large", 3000, now_ms, strictly=True) == 0
        assert manager.charge_client(FETCH, "ann", "small", 1, now_ms, strictly=True) == 20 * SECOND
        # Nothing was used by it.
        assert manager.charge_client(FETCH, "ann", "small", 0, now_ms) == 20 * SECOND
        manager.charge_client(FETCH, "ann", "any", -1000, now_ms + 20 * SECOND)


def test_the_largest_answer(manager: ClientQuotaManager) -> None:
    """What is left, and a window's worth in any case: answers of one batch each would be a waste."""
    manager.replace_limits([(FETCH, "", None, 100.0)])
    assert manager.most_at_once_for(FETCH, "ann", "app", NOW_MS) == 1000.0
    manager.charge_client(FETCH, "ann", "app", 400, NOW_MS)
    assert manager.most_at_once_for(FETCH, "ann", "app", NOW_MS) == 600.0
    manager.charge_client(FETCH, "ann", "app", 5000, NOW_MS)
    assert manager.most_at_once_for(FETCH, "ann", "app", NOW_MS) == 100.0
    manager.replace_limits([(FETCH, "", None, math.inf)])
    assert manager.most_at_once_for(FETCH, "ann", "app", NOW_MS) == math.inf


def test_a_changed_quota_keeps_what_is_owed(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "app", 100.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 1500, NOW_MS) == 5 * SECOND
    manager.replace_limits([(PRODUCE, None, "app", 50.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 0, NOW_MS) == 10 * SECOND
    manager.replace_limits([(PRODUCE, None, "app", 1000.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 0, NOW_MS) == SECOND // 2
    manager.replace_limits([(PRODUCE, None, "app", math.inf)])
    assert manager.charge_client(PRODUCE, "ann", "app", 1e300, NOW_MS) == 0
    manager.replace_limits([(PRODUCE, None, "app", 10.0)])
    assert manager.charge_client(PRODUCE, "ann", "app", 110, NOW_MS) == SECOND


def test_another_quota_measures_anew(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "app", 10.0)])
    manager.charge_client(PRODUCE, "ann", "app", 1000, NOW_MS)
    manager.charge_client(PRODUCE, "bob", "app", 0, NOW_MS)
    manager.replace_limits([(PRODUCE, None, "app", 10.0), (PRODUCE, "ann", "app", 10.0)])
    assert tokens(manager, "ann", "app") == 100.0
    assert tokens(manager, "bob", "app") == -900.0
    manager.replace_limits([])
    assert manager.tokens_of(PRODUCE, "ann", "app") is None
    assert not manager.enables(PRODUCE)


def test_request_time_is_waited_for_no_longer_than_a_window(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(REQUEST, "", None, 1.0)])
    assert manager.charge_client(REQUEST, "ann", "app", 1e6, NOW_MS) == SECOND
    assert manager.charge_client(REQUEST, "ann", "app", 0, NOW_MS + 10 * SECOND) == SECOND
    # What was waited for so little of cannot be owed for ever.
    assert manager.charge_client(REQUEST, "ann", "app", 0, NOW_MS + 11 * SECOND) == 0


def test_a_missing_client_id_is_an_empty_one(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "", 10.0)])
    manager.charge_client(PRODUCE, "ann", None, 1000, NOW_MS)
    assert tokens(manager, "ann", "") == -900.0


def test_mutations_beyond_the_tokens_are_refused_or_delayed(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(CONTROLLER_MUTATION, "", None, 2.0)])
    # A full bucket holds eleven seconds' worth; what is not exhausted takes any number.
    assert manager.charge_client(CONTROLLER_MUTATION, "ann", "app", 32, NOW_MS, strictly=True) == 0
    assert manager.charge_client(CONTROLLER_MUTATION, "ann", "app", 1, NOW_MS, strictly=True) == 5 * SECOND
    assert manager.charge_client(CONTROLLER_MUTATION, "ann", "app", 1, NOW_MS + 5 * SECOND, strictly=True) == 0
    assert manager.charge_client(CONTROLLER_MUTATION, "bob", "app", 23, NOW_MS) == SECOND // 2
    assert manager.charge_client(CONTROLLER_MUTATION, "bob", "app", 1, NOW_MS) == SECOND


@pytest.mark.parametrize("strictly", [False, True])
def test_an_infinite_quota_of_mutations_delays_nobody(manager: ClientQuotaManager, strictly: bool) -> None:
    manager.replace_limits([(CONTROLLER_MUTATION, "", None, math.inf)])
    for now_ms in (NOW_MS, NOW_MS, NOW_MS + SECOND):
        assert manager.charge_client(CONTROLLER_MUTATION, "ann", "app", 1000, now_ms, strictly=strictly) == 0
    manager.replace_limits([(CONTROLLER_MUTATION, "", None, 2.0)])
    assert manager.charge_client(CONTROLLER_MUTATION, "ann", "app", 32, NOW_MS + SECOND) == 5 * SECOND


def test_the_least_recently_used_clients_are_forgotten(manager: ClientQuotaManager) -> None:
    manager.replace_limits([(PRODUCE, None, "", 10.0), (FETCH, "ann", None, 10.0)])
    for number in range(10_050):
        manager.charge_client(PRODUCE, "ann", f"client-{number}", 1000, NOW_MS)
        manager.charge_client(PRODUCE, "ann", "client-0", 0, NOW_MS)
    assert manager.client_count == 10_000
    assert manager.sensor_count == 10_001
    assert tokens(manager, "ann", "client-0") == -900.0
    assert tokens(manager, "ann", "client-1") == 100.0


def test_the_largest_names(manager: ClientQuotaManager) -> None:
    name = "ü" * 16_383
    manager.replace_limits([(PRODUCE, name, name, 10.0)])
    manager.charge_client(PRODUCE, name, name, 1000, NOW_MS)
    assert tokens(manager, name, name) == -900.0
    assert manager.tokens_of(PRODUCE, name, name[1:]) is None


def test_threads_charge_while_quotas_change(manager: ClientQuotaManager) -> None:
    """Nothing is lost: with a sensor that stays, what is missing is everything that was charged."""
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
    assert tokens(manager, "ann", "any") == 1e10 - 3 * 5_000 * 10


def test_impossible_quotas_are_refused(manager: ClientQuotaManager) -> None:
    with pytest.raises(ValueError, match="no quota of type 4"):
        manager.replace_limits([(4, None, "app", 1.0)])
    with pytest.raises(ValueError, match="no quota of type 0 for user None and client id None"):
        manager.replace_limits([(PRODUCE, None, None, 1.0)])
    with pytest.raises(ValueError, match="from 1 on"):
        ClientQuotaManager(MemoryDisk(), windows=0)
