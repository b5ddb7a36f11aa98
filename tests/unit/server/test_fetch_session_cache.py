"""Which fetch sessions are kept, against a plain model of Kafka's rules (FetchSessionCacheShard, KIP-227)."""

from __future__ import annotations

import random

import pytest

from kcore import errors
from kcore.purgatory.purgatory import Purgatory
from kcore.replication.replica_manager import ReplicaManager
from kcore.server.fast_path.fetch_session import epoch_after, live_sessions
from kcore.server.fast_path.session_cache import FetchSessionCache
from kcore.server.fetch_sessions import open_session, take_up_session

EVICTION_MS = 120_000
CONSUMER, FOLLOWER = False, True


def replicas() -> ReplicaManager:
    return ReplicaManager(1, Purgatory("Fetch", 1000, True), Purgatory("Produce", 1000, True))


def new_cache(slots: int, max_partitions: int = 1000) -> FetchSessionCache:
    return FetchSessionCache(replicas(), slots, max_partitions, manual_clock=True)


def asked(count: int) -> list[tuple[bytes, int, int, int, int, int]]:
    return [(b"topic", index, -1, 0, -1, 1000) for index in range(count)]


def begin(cache: FetchSessionCache, size: int, privileged: bool = CONSUMER) -> int:
    return open_session(cache, False, privileged, asked(size), [(0, 0, 0, 0, False)] * size)


def use(cache: FetchSessionCache, session_id: int, epoch: int, size: int) -> None:
    """An incremental request after which the session has `size` partitions."""
    session = take_up_session(cache, session_id, epoch, False, asked(size), [(b"topic", i) for i in range(size, 100)])
    assert session is not None


def is_kept(cache: FetchSessionCache, session_id: int) -> bool:
    try:
        take_up_session(cache, session_id, -5, False, [], [])
    except errors.InvalidFetchSessionEpochError:
        return True
    except errors.FetchSessionIdNotFoundError:
        return False
    raise AssertionError("no session is of epoch -5")


def test_ids_are_random_and_positive() -> None:
    cache = new_cache(500)
    ids = [begin(cache, 1) for _ in range(500)]
    assert len(set(ids)) == 500
    assert all(0 < session_id < 2**31 for session_id in ids)
    assert max(ids) > 2**28
    assert (cache.sessions, cache.partitions, cache.evictions) == (500, 500, 0)
    assert begin(new_cache(1), 1) != begin(new_cache(1), 1)


def test_a_young_session_is_not_pushed_out_by_a_consumer() -> None:
    cache = new_cache(1)
    kept = begin(cache, 1)
    cache.advance_clock(EVICTION_MS)
    assert begin(cache, 50) == 0
    assert is_kept(cache, kept)


def test_one_that_is_not_used_is_pushed_out_by_anyone() -> None:
    cache = new_cache(2)
    first, second = begin(cache, 90), begin(cache, 90)
    cache.advance_clock(EVICTION_MS)
    use(cache, second, 1, 90)
    cache.advance_clock(EVICTION_MS + 1)
    assert begin(cache, 1) != 0
    assert (is_kept(cache, first), is_kept(cache, second)) == (False, True)
    assert (cache.sessions, cache.partitions, cache.evictions) == (2, 91, 1)


def test_an_old_session_in_use_gives_way_to_a_larger_one_only() -> None:
    cache = new_cache(1)
    old = begin(cache, 10)
    cache.advance_clock(EVICTION_MS - 1)
    use(cache, old, 1, 10)
    cache.advance_clock(EVICTION_MS + 1)
    use(cache, old, 2, 10)
    assert begin(cache, 10) == 0
    assert begin(cache, 11) != 0
    assert not is_kept(cache, old)


def test_a_follower_pushes_out_any_consumer_and_no_consumer_a_follower() -> None:
    cache = new_cache(1)
    consumer = begin(cache, 90)
    follower = begin(cache, 1, FOLLOWER)
    assert follower != 0
    assert not is_kept(cache, consumer)
    cache.advance_clock(EVICTION_MS)
    use(cache, follower, 1, 1)
    cache.advance_clock(EVICTION_MS + 1)
    use(cache, follower, 2, 1)
    assert begin(cache, 90) == 0
    assert begin(cache, 2, FOLLOWER) != 0


def test_partitions_in_all_are_bounded() -> None:
    cache = new_cache(10, max_partitions=20)
    first = begin(cache, 12)
    assert begin(cache, 9) == 0
    second = begin(cache, 8)
    assert cache.partitions == 20
    assert begin(cache, 21) == 0, "nobody is pushed out in vain"
    use(cache, second, 1, 5)
    assert cache.partitions == 17
    with pytest.raises(errors.FetchSessionIdNotFoundError):
        use(cache, second, 2, 9)
    assert (is_kept(cache, first), is_kept(cache, second)) == (True, False)
    assert (cache.sessions, cache.partitions) == (1, 12)


def test_a_session_takes_one_epoch_only() -> None:
    cache = new_cache(1)
    session_id = begin(cache, 1)
    for epoch in range(1, 50):
        use(cache, session_id, epoch, 1)
        for wrong in (epoch, epoch + 2, -epoch):
            with pytest.raises(errors.InvalidFetchSessionEpochError):
                use(cache, session_id, wrong, 1)


def test_epochs_wrap_to_one() -> None:
    assert [epoch_after(epoch) for epoch in (0, 1, 2**31 - 2, 2**31 - 1)] == [1, 2, 2**31 - 1, 1]


def test_nothing_is_left_of_sessions_that_ended() -> None:
    before = live_sessions()
    cache = new_cache(3)
    ids = [begin(cache, 5) for _ in range(3)]
    assert live_sessions() == before + 3
    begin(cache, 5)
    held = take_up_session(cache, ids[0], 1, False, [], [])
    cache.remove_session(ids[0])
    assert live_sessions() == before + 3, "who uses it keeps it"
    del held
    assert live_sessions() == before + 2
    assert take_up_session(cache, ids[1], 1, False, [], [(b"topic", index) for index in range(5)]) is None
    assert live_sessions() == before + 1
    cache.clear()
    assert live_sessions() == before


class ModelSession:
    """What Kafka's cache knows of a session."""

    def __init__(self, privileged: bool, size: int, now: int) -> None:
        self.privileged = privileged
        self.size = size
        self.created = self.used = now
        self.epoch = 1

    def is_evictable_by(self, privileged: bool) -> bool:
        return self.used - self.created > EVICTION_MS or (privileged and not self.privileged)


class ModelCache:
    """FetchSessionCacheShard in a few lines: ids are those that the tested cache gave."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.sessions: dict[int, ModelSession] = {}

    def victim(self, privileged: bool, size: int, now: int) -> int | None:
        oldest = min(self.sessions, key=lambda id: self.sessions[id].used, default=None)
        if oldest is not None and now - self.sessions[oldest].used > EVICTION_MS:
            return oldest
        keys = [
            (session.privileged, session.size, id)
            for id, session in self.sessions.items()
            if session.is_evictable_by(privileged)
        ]
        return min(keys)[2] if keys and (privileged, size, 0) >= min(keys) else None


@pytest.mark.parametrize("seed", range(8))
def test_random_lives_of_sessions_agree_with_the_model(seed: int) -> None:
    draw = random.Random(seed)
    slots = draw.choice((1, 2, 5, 20))
    cache, model = new_cache(slots, max_partitions=10**9), ModelCache(slots)
    now = evictions = 0
    for _ in range(1500):
        # Distinct times, so that the one used longest ago is a single one.
        now += draw.choice((1, 1, 100, 10_000, 50_000))
        cache.advance_clock(now)
        known = list(model.sessions)
        action = draw.random()
        if action < 0.4:
            privileged, size = draw.random() < 0.2, draw.randint(1, 8)
            victim = model.victim(privileged, size, now) if len(known) >= slots else None
            session_id = begin(cache, size, privileged)
            assert (session_id != 0) == (len(known) < slots or victim is not None)
            if victim is not None:
                del model.sessions[victim]
                evictions += 1
            if session_id:
                assert session_id not in model.sessions
                model.sessions[session_id] = ModelSession(privileged, size, now)
        elif known and action < 0.95:
            session_id = draw.choice(known)
            session = model.sessions[session_id]
            size = draw.randint(1, 8)
            use(cache, session_id, session.epoch, size)
            session.epoch, session.used, session.size = session.epoch + 1, now, size
        elif known:
            session_id = draw.choice(known)
            assert cache.remove_session(session_id)
            del model.sessions[session_id]
        assert all(is_kept(cache, session_id) == (session_id in model.sessions) for session_id in known)
        assert cache.sessions == len(model.sessions)
        assert cache.partitions == sum(session.size for session in model.sessions.values())
        assert cache.evictions == evictions
