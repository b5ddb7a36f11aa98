"""Committed offsets in memory: transactions kept apart, tombstones, and what expires when (KIP-211)."""

from __future__ import annotations

import pytest

from kcore.coordinator.group.member import Member, MemberProfile
from kcore.coordinator.group.offset_expiry import expired_places, is_subscribed
from kcore.coordinator.group.offsets import CommittedOffset, Offsets
from kcore.coordinator.group.rebalancing import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE, STABLE
from kcore.coordinator.group.state import Group
from kcore.protocol.records import CONSUMER_PROTOCOL_SUBSCRIPTION

READ = ("read", 0)
SEEN = ("seen", 0)
DAY_MS = 86_400_000
WEEK_MS = 7 * DAY_MS


def at(offset: int, record_offset: int = 0, committed_ms: int = 0, expire_ms: int = -1) -> CommittedOffset:
    return CommittedOffset(offset, -1, "", committed_ms, expire_ms, record_offset)


def offset_of(offsets: Offsets, group: str = "g") -> int | None:
    committed = offsets.of_group(group).get(READ)
    return None if committed is None else committed.offset


# --- transactions ---------------------------------------------------------------------------------------------------


def test_offset_of_a_transaction_counts_from_its_commit() -> None:
    offsets = Offsets()
    offsets.put_pending(1, "g", READ, at(5, record_offset=10))
    assert offset_of(offsets) is None
    assert offsets.pending_places("g") == {READ}
    assert (offsets.count, offsets.has_any("g"), offsets.groups_with_any()) == (0, True, ["g"])
    offsets.complete_transaction(1, is_commit=True)
    assert offset_of(offsets) == 5
    assert (offsets.count, offsets.pending_places("g"), offsets.has_open_transaction("g")) == (1, set(), False)


def test_offset_of_an_aborted_transaction_never_counts() -> None:
    offsets = Offsets()
    offsets.put("g", READ, at(3, record_offset=9))
    offsets.put_pending(1, "g", READ, at(5, record_offset=10))
    offsets.complete_transaction(1, is_commit=False)
    assert offset_of(offsets) == 3
    assert not offsets.pending_places("g")


def test_later_commit_outdoes_a_transaction_that_ends_after_it() -> None:
    offsets = Offsets()
    offsets.put_pending(1, "g", READ, at(5, record_offset=10))
    offsets.put("g", READ, at(8, record_offset=11))
    offsets.complete_transaction(1, is_commit=True)
    assert offset_of(offsets) == 8


def test_transactions_of_several_producers_end_each_by_itself() -> None:
    offsets = Offsets()
    offsets.put_pending(1, "g", READ, at(5, record_offset=10))
    offsets.put_pending(2, "g", SEEN, at(6, record_offset=11))
    offsets.put_pending(2, "other", READ, at(7, record_offset=12))
    offsets.complete_transaction(1, is_commit=False)
    assert offsets.pending_places("g") == {SEEN}
    offsets.complete_transaction(2, is_commit=True)
    assert list(offsets.of_group("g")) == [SEEN]
    assert offset_of(offsets, "other") == 7


def test_tombstone_ends_what_is_pending_too() -> None:
    offsets = Offsets()
    offsets.put("g", READ, at(3, record_offset=9))
    offsets.put_pending(1, "g", READ, at(5, record_offset=10))
    offsets.remove("g", READ)
    assert not offsets.has_open_transaction("g")
    assert not list(offsets.places("g"))
    offsets.complete_transaction(1, is_commit=True)
    assert not offsets.has_any("g")


def test_marker_without_offsets_changes_nothing() -> None:
    offsets = Offsets()
    offsets.complete_transaction(4, is_commit=True)
    assert not offsets.groups_with_any()


def test_count_is_of_places() -> None:
    offsets = Offsets()
    for offset in range(3):
        offsets.put("g", READ, at(offset))
        offsets.put("g", SEEN, at(offset))
    assert offsets.count == 2
    offsets.remove("g", READ)
    offsets.remove("g", READ)
    offsets.remove("nobody", READ)
    assert offsets.count == 1


# --- expiry ---------------------------------------------------------------------------------------------------------


def group_of(state: str, protocol_type: str | None, topics: list[str] | None = None, since_ms: int = -1) -> Group:
    group = Group("g", 0, 100)
    group.state, group.protocol_type, group.state_since_ms = state, protocol_type, since_ms
    if topics is not None:
        group.protocol_name = "range"
        metadata = CONSUMER_PROTOCOL_SUBSCRIPTION.encode(1, {"topics": topics})
        profile = MemberProfile("client", "/127.0.0.1", "consumer", [("range", metadata)], 10_000, 10_000)
        group.members.add(Member("m-1", None, profile))
    return group


def expired(group: Group, now_ms: int, *committed: CommittedOffset, pending: bool = False) -> list[str]:
    offsets = Offsets()
    for place, each in zip((READ, SEEN), committed, strict=False):
        offsets.put("g", place, each)
    if pending:
        offsets.put_pending(1, "g", READ, at(9))
    expiry = group.offset_expiry()
    return [] if expiry is None else [topic for topic, _ in expired_places(offsets, "g", expiry, now_ms, WEEK_MS)]


def test_offsets_of_an_empty_group_expire_by_when_it_became_empty() -> None:
    group = group_of(EMPTY, "consumer", since_ms=DAY_MS)
    assert expired(group, DAY_MS + WEEK_MS - 1, at(1), at(2)) == []
    assert expired(group, DAY_MS + WEEK_MS, at(1), at(2, committed_ms=DAY_MS)) == ["read", "seen"]


def test_offsets_of_an_empty_group_of_unknown_age_expire_by_their_commits() -> None:
    group = group_of(EMPTY, "consumer", since_ms=-1)
    assert expired(group, WEEK_MS, at(1), at(2, committed_ms=1)) == ["read"]


def test_offsets_of_a_group_that_never_had_members_expire_by_their_commits() -> None:
    assert expired(group_of(EMPTY, None), WEEK_MS, at(1), at(2, committed_ms=1)) == ["read"]


def test_offsets_of_topics_that_a_stable_group_reads_stay() -> None:
    group = group_of(STABLE, "consumer", ["read"])
    assert expired(group, WEEK_MS, at(1), at(2)) == ["seen"]
    assert expired(group, WEEK_MS - 1, at(1), at(2)) == []


@pytest.mark.parametrize("state", [PREPARING_REBALANCE, COMPLETING_REBALANCE])
def test_nothing_expires_while_a_group_rebalances(state: str) -> None:
    assert expired(group_of(state, "consumer", ["read"]), 2 * WEEK_MS, at(1), at(2)) == []


def test_nothing_expires_in_a_stable_group_that_is_not_understood() -> None:
    assert expired(group_of(STABLE, "connect"), 2 * WEEK_MS, at(1)) == []
    group = group_of(STABLE, "consumer", ["read"])
    group.protocol_name = "other"
    assert expired(group, 2 * WEEK_MS, at(1), at(2)) == []
    assert is_subscribed(group, "anything")


def test_retention_that_a_client_asked_for_rules() -> None:
    group = group_of(EMPTY, "consumer", since_ms=0)
    assert expired(group, 500, at(1, expire_ms=500), at(2, expire_ms=501)) == ["read"]
    assert expired(group, 2 * WEEK_MS, at(1, expire_ms=3 * WEEK_MS)) == []


def test_nothing_expires_that_an_open_transaction_may_overwrite() -> None:
    assert expired(group_of(EMPTY, None), WEEK_MS, at(1), at(2), pending=True) == ["seen"]
