"""Replica assignment: even, staggered, and refused in Kafka's words."""

from __future__ import annotations

from collections import Counter

import pytest

from kcore import errors
from kcore.controller.replica_assignment import assign_replicas, check_manual_assignment


def test_the_pattern_of_kafkas_documentation() -> None:
    """The table in the comment of Kafka's `AdminUtils`: 10 partitions, 3 replicas on 5 brokers."""
    assert assign_replicas(range(5), 10, 3, start=0, shift=0) == [
        (0, 1, 2),
        (1, 2, 3),
        (2, 3, 4),
        (3, 4, 0),
        (4, 0, 1),
        (0, 2, 3),
        (1, 3, 4),
        (2, 4, 0),
        (3, 0, 1),
        (4, 1, 2),
    ]


@pytest.mark.parametrize(("brokers", "partitions", "factor"), [(1, 7, 1), (2, 6, 2), (3, 9, 2), (6, 30, 3), (4, 8, 4)])
def test_replicas_are_distinct_and_leaders_even(brokers: int, partitions: int, factor: int) -> None:
    ids = [10 * broker for broker in range(brokers)]
    assignment = assign_replicas(ids, partitions, factor)
    assert all(len(set(replicas)) == factor for replicas in assignment)
    leaders = Counter(replicas[0] for replicas in assignment)
    assert max(leaders.values()) - min(leaders[broker] for broker in ids) <= 1
    assert set().union(*assignment) <= set(ids)


def test_added_partitions_go_on_where_the_topic_ended() -> None:
    whole = assign_replicas(range(4), 9, 2, start=1, shift=2)
    first = assign_replicas(range(4), 4, 2, start=1, shift=2)
    # The shift grows once per round of brokers, also at partition 4, where the second part begins.
    rest = assign_replicas(range(4), 5, 2, first_partition=4, start=1, shift=2)
    assert first + rest == whole


def test_replication_factor_above_the_number_of_brokers() -> None:
    with pytest.raises(errors.InvalidReplicationFactorError) as caught:
        assign_replicas([1], 1, 3)
    assert caught.value.message == (
        "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because "
        "only 1 broker(s) are registered."
    )


@pytest.mark.parametrize("count", [0, -2])
def test_numbers_below_one(count: int) -> None:
    with pytest.raises(
        errors.InvalidPartitionsError, match=r"^Number of partitions was set to an invalid non-positive value\.$"
    ):
        assign_replicas([1], count, 1)
    with pytest.raises(
        errors.InvalidReplicationFactorError,
        match=r"^Replication factor must be larger than 0, or -1 to use the default value\.$",
    ):
        assign_replicas([1], 1, count)


def test_a_manual_assignment_is_taken_in_order_of_partitions() -> None:
    assert check_manual_assignment([(1, [2, 3]), (0, [3, 1])], [1, 2, 3]) == [(3, 1), (2, 3)]


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        ([(1, [1])], "partitions should be a consecutive 0-based integer sequence"),
        ([(0, [1]), (2, [1])], "partitions should be a consecutive 0-based integer sequence"),
        ([(0, [1]), (0, [1])], "Found multiple manual partition assignments for partition 0"),
        ([(0, [])], "The manual partition assignment includes an empty replica list."),
        ([(0, [1, 1])], "The manual partition assignment includes the broker 1 more than once."),
        ([(0, [9])], "The manual partition assignment includes broker 9, but no such broker is registered."),
        (
            [(0, [1]), (1, [1, 2])],
            "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent with "
            "previous partitions, which have 1 replica(s).",
        ),
    ],
)
def test_manual_assignments_that_are_refused(assignments: list[tuple[int, list[int]]], message: str) -> None:
    with pytest.raises(errors.InvalidReplicaAssignmentError) as caught:
        check_manual_assignment(assignments, [1, 2])
    assert caught.value.message == message
