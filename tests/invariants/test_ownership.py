"""The checks of invariant 8 themselves: they let a good history pass, and find each thing that may go wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.invariants.checker import check_history
from tests.invariants.history import Assignment, Claim, Commit, History, Outcome, Producer, Read, Send, TopicPartition
from tests.invariants.ownership import check_group_read_everything
from tests.invariants.violation import InvariantViolation

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def given(generation: int, member: str, *partitions: TopicPartition, at: int) -> Assignment:
    return Assignment("g", generation, member, frozenset(partitions), at)


def good_history() -> History:
    """a has both partitions; b joins and gets the second one; a dies, and b reads on from what a had committed."""
    history = History()
    history.add_producer(Producer("p", idempotent=False, ordered=True))
    history.sends = [
        Send("p", 0, P0, b"0", Outcome.ACKED, 0, at=2),
        Send("p", 1, P1, b"1", Outcome.ACKED, 0, at=2),
        Send("p", 2, P0, b"2", Outcome.ACKED, 1, at=2),
    ]
    history.assignments = [
        given(1, "a", P0, P1, at=1),
        given(2, "a", P0, at=11),
        given(2, "b", P1, at=11),
        given(3, "b", P0, P1, at=31),
    ]
    history.claims = [
        Claim("g", 1, "a", P0, 2, 10),
        Claim("g", 1, "a", P1, 2, 10),
        # a was killed at 40, when its session was over: b had taken its partition.
        Claim("g", 2, "a", P0, 12, 40),
        Claim("g", 2, "b", P1, 12, 30),
        Claim("g", 3, "b", P0, 32),
        Claim("g", 3, "b", P1, 32),
    ]
    history.reads = [
        Read("a", P0, 0, b"0", at=3),
        Read("a", P0, 1, b"2", at=13),
        Read("b", P1, 0, b"1", at=14),
        Read("b", P0, 1, b"2", at=33),
    ]
    history.commits = [
        Commit("g", P0, 1, Outcome.ACKED, at=4),
        # Refused, for a was in the group no more.
        Commit("g", P0, 2, Outcome.FAILED, at=39),
    ]
    return history


def test_a_good_history_passes() -> None:
    check_history(good_history())
    check_group_read_everything(good_history(), "g")


def two_owners(history: History) -> None:
    history.assignments.append(given(2, "c", P1, at=12))


def another_share_of_the_same_generation(history: History) -> None:
    history.assignments.append(given(2, "a", P0, P1, at=13))


def an_old_generation_again(history: History) -> None:
    history.assignments.append(given(1, "a", P0, P1, at=15))


def a_partition_kept_into_the_next_generation(history: History) -> None:
    history.claims[1] = history.claims[1]._replace(until=13)


def a_partition_never_given_up(history: History) -> None:
    history.claims[1] = history.claims[1]._replace(until=None)


def a_claim_of_what_was_not_given(history: History) -> None:
    history.claims[3] = history.claims[3]._replace(partition=P0)


def a_read_of_what_is_not_owned(history: History) -> None:
    history.reads.append(Read("b", P0, 0, b"0", at=15))


def a_record_read_twice_by_an_owner(history: History) -> None:
    history.reads.append(Read("a", P0, 0, b"0", at=4))


@pytest.mark.parametrize(
    "spoil",
    [
        two_owners,
        another_share_of_the_same_generation,
        an_old_generation_again,
        a_partition_kept_into_the_next_generation,
        a_partition_never_given_up,
        a_claim_of_what_was_not_given,
        a_read_of_what_is_not_owned,
        a_record_read_twice_by_an_owner,
    ],
)
def test_two_owners_are_found(spoil: Callable[[History], None]) -> None:
    history = good_history()
    spoil(history)
    with pytest.raises(InvariantViolation) as found:
        check_history(history)
    assert found.value.number == 8


def test_a_static_member_may_take_the_place_of_one_that_does_not_know_it_yet() -> None:
    history = good_history()
    history.assignments[2] = history.assignments[2]._replace(instance="static")
    history.assignments.append(given(2, "c", P1, at=20)._replace(instance="static"))
    history.claims.append(Claim("g", 2, "c", P1, 21, 29))
    check_history(history)


def test_a_member_that_told_of_what_it_did_not_own_has_it_at_once() -> None:
    history = good_history()
    a_partition_kept_into_the_next_generation(history)
    history.claims[3] = history.claims[3]._replace(is_mistaken=True)
    check_history(history)


def test_reading_again_what_was_committed_is_found() -> None:
    history = good_history()
    history.commits[1] = history.commits[1]._replace(outcome=Outcome.ACKED, at=20)
    with pytest.raises(InvariantViolation) as found:
        check_history(history)
    assert found.value.number == 9


def test_a_record_that_nobody_read_is_found() -> None:
    history = good_history()
    history.reads = [read for read in history.reads if read.partition != P1]
    with pytest.raises(InvariantViolation) as found:
        check_group_read_everything(history, "g")
    assert found.value.number == 9
