"""What is read from where: subscriptions, resets, and checks with a new leader (KIP-320)."""

from __future__ import annotations

import re

import pytest

from kcore.client.config.auto_offset_reset import BY_DURATION, ResetStrategy
from kcore.client.consumer.consumer_errors import IllegalState, NoOffsetForPartition
from kcore.client.consumer.offset_reset import NO_RESET, TO_EARLIEST, TO_LATEST, timestamp_of
from kcore.client.consumer.positions import EpochEnd, FetchPosition, LeaderAndEpoch, OffsetAndMetadata
from kcore.client.consumer.subscription_state import SubscriptionState, Truncation
from kcore.client.metadata.cluster import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
LEADER_1, LEADER_2 = LeaderAndEpoch(1, 5), LeaderAndEpoch(2, 6)


@pytest.fixture
def state() -> SubscriptionState:
    return SubscriptionState(TO_LATEST)


def reading(state: SubscriptionState, offset: int = 10, epoch: int = 5) -> FetchPosition:
    """A0, read from `offset` on, with its leader known."""
    state.assign([A0])
    state.seek(A0, FetchPosition(offset, epoch))
    state.note_leader(A0, LEADER_1)
    state.finish_validation(A0, FetchPosition(offset, epoch, LEADER_1), EpochEnd(epoch, offset + 100))
    position = state.position(A0)
    assert position is not None
    return position


def test_kinds_of_subscription_exclude_one_another_until_unsubscribe(state: SubscriptionState) -> None:
    state.subscribe(["a"])
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.assign([A0])
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.subscribe_pattern(re.compile("a"))
    state.unsubscribe()
    state.assign([A0])
    with pytest.raises(IllegalState, match="mutually exclusive"):
        state.subscribe(["a"])


def test_a_pattern_subscribes_to_topics_that_it_matches_as_a_whole(state: SubscriptionState) -> None:
    state.subscribe_pattern(re.compile("a.?"))
    assert state.match_pattern(["a", "ab", "abc", "ba"])
    assert state.topics == {"a", "ab"}
    assert not state.match_pattern(["ab", "a", "c"])


def test_positions_stay_with_partitions_that_stay(state: SubscriptionState) -> None:
    state.subscribe(["a", "b"])
    state.assign_from_group([A0, A1])
    state.seek(A0, FetchPosition(7))
    state.pause([A1])
    state.assign_from_group([A0, A1, B0])
    assert state.position(A0) == FetchPosition(7)
    assert state.paused == [A1]
    state.assign_from_group([B0])
    state.assign_from_group([A0, B0])
    assert state.position(A0) is None
    assert not state.paused


def test_nothing_is_read_of_partitions_that_wait_for_the_listener(state: SubscriptionState) -> None:
    state.subscribe(["a"])
    state.assign_from_group([A0, A1], awaiting_callback=[A1])
    state.seek(A0, FetchPosition(1))
    state.seek(A1, FetchPosition(2))
    assert list(state.fetchable) == [A0]
    assert state.initializing() == []
    state.callback_done([A1])
    assert list(state.fetchable) == [A0, A1]
    state.await_revocation([A0])
    assert list(state.fetchable) == [A1]
    assert state.all_consumed == {A0: OffsetAndMetadata(1), A1: OffsetAndMetadata(2)}


def test_partitions_begin_where_the_group_stands_or_are_reset(state: SubscriptionState) -> None:
    state.assign([A0, A1])
    assert state.initializing() == [A0, A1]
    state.start_at_committed({A0: OffsetAndMetadata(3), A1: None}, {})
    assert state.position(A0) == FetchPosition(3)
    assert state.needing_reset(0) == {A1: TO_LATEST}
    assert not state.has_all_positions
    assert state.finish_reset(A1, TO_LATEST, FetchPosition(9))
    assert state.has_all_positions


def test_without_a_strategy_a_partition_without_an_offset_is_an_error() -> None:
    state = SubscriptionState(NO_RESET)
    state.assign([A0, A1])
    state.start_at_committed({A0: OffsetAndMetadata(3), A1: None}, {})
    told = state.take_failure()
    assert isinstance(told, NoOffsetForPartition)
    assert str(told).startswith("a-1: no offset to start from")
    assert told.partitions == {A1}
    assert state.take_failure() is None
    assert state.position(A0) == FetchPosition(3)


def test_a_failure_is_of_partitions_that_are_where_they_were() -> None:
    state = SubscriptionState(NO_RESET)
    state.assign([A0, A1, B0])
    state.start_at_committed(dict.fromkeys((A0, A1, B0)), {})
    assert state.has_failure
    assert state.initializing() == []
    state.seek(A0, FetchPosition(3))
    state.assign([A0, A1])
    told = state.take_failure()
    assert isinstance(told, NoOffsetForPartition)
    assert told.partitions == {A1}
    assert state.initializing() == [A1]
    broken = NoOffsetForPartition([A0])
    state.fail([A0], broken)
    state.request_reset(A0, TO_EARLIEST)
    assert state.take_failure() is None
    assert not state.has_failure


def test_what_has_lost_its_position_is_not_committed_and_waits_for_a_seek(state: SubscriptionState) -> None:
    reading(state)
    state.lose_position(A0)
    assert state.all_consumed == {}
    assert state.readable == {}
    assert state.needing_reset(1e9) == {}
    assert state.initializing() == []
    assert state.wake_ms() == float("inf")
    state.seek(A0, FetchPosition(3))
    assert state.position(A0) == FetchPosition(3)


def test_an_answer_to_a_reset_that_is_no_longer_wanted_is_passed_over(state: SubscriptionState) -> None:
    state.assign([A0])
    state.request_reset(A0, TO_EARLIEST)
    state.request_reset(A0, TO_LATEST)
    assert not state.finish_reset(A0, TO_EARLIEST, FetchPosition(0))
    state.seek(A0, FetchPosition(5))
    assert not state.finish_reset(A0, TO_LATEST, FetchPosition(9))
    assert state.position(A0) == FetchPosition(5)


def test_a_retry_waits(state: SubscriptionState) -> None:
    state.assign([A0])
    state.request_reset(A0)
    state.retry_at([A0], 100)
    assert state.needing_reset(99) == {}
    assert state.wake_ms() == 100
    assert state.needing_reset(100) == {A0: TO_LATEST}


def test_another_leader_has_to_confirm_the_position(state: SubscriptionState) -> None:
    position = reading(state)
    assert position == FetchPosition(10, 5, LEADER_1)
    state.note_leader(A0, LEADER_2)
    assert state.position(A0) is None
    asked = state.needing_validation(0)[A0]
    assert asked == FetchPosition(10, 5, LEADER_2)
    assert state.finish_validation(A0, asked, EpochEnd(5, 10)) is Truncation.NONE
    assert state.position(A0) == asked


def test_a_leader_of_an_older_epoch_is_not_believed(state: SubscriptionState) -> None:
    position = reading(state)
    state.note_leader(A0, LeaderAndEpoch(3, 4))
    state.note_leader(A0, LeaderAndEpoch(-1, 9))
    assert state.position(A0) == position


def test_a_truncated_log_is_read_on_from_where_it_diverges(state: SubscriptionState) -> None:
    reading(state)
    state.note_leader(A0, LEADER_2)
    asked = state.needing_validation(0)[A0]
    assert state.finish_validation(A0, asked, EpochEnd(4, 7)) is Truncation.RESET
    assert state.position(A0) == FetchPosition(7, 4, LEADER_2)


def test_an_epoch_that_the_leader_does_not_know_resets(state: SubscriptionState) -> None:
    reading(state)
    state.note_leader(A0, LEADER_2)
    asked = state.needing_validation(0)[A0]
    assert state.finish_validation(A0, asked, EpochEnd(-1, -1)) is Truncation.RESET
    assert state.needing_reset(0) == {A0: TO_LATEST}


def test_without_a_strategy_truncation_is_left_to_the_caller() -> None:
    state = SubscriptionState(NO_RESET)
    reading(state)
    state.note_leader(A0, LEADER_2)
    asked = state.needing_validation(0)[A0]
    assert state.finish_validation(A0, asked, EpochEnd(4, 7)) is Truncation.UNRESOLVED
    state.seek(A0, FetchPosition(7))
    assert state.position(A0) is not None


def test_an_answer_about_a_position_that_moved_is_passed_over(state: SubscriptionState) -> None:
    reading(state)
    state.note_leader(A0, LEADER_2)
    asked = state.needing_validation(0)[A0]
    state.seek(A0, FetchPosition(50, 5, LEADER_2))
    assert state.finish_validation(A0, asked, EpochEnd(4, 7)) is Truncation.NONE
    assert state.needing_validation(0) == {A0: FetchPosition(50, 5, LEADER_2)}


def test_what_is_not_assigned_has_no_position(state: SubscriptionState) -> None:
    for call in (lambda: state.position(A0), lambda: state.seek(A0, FetchPosition(0)), lambda: state.pause([A0])):
        with pytest.raises(IllegalState, match="No current assignment for partition a-0"):
            call()


def test_what_a_strategy_asks_the_log_for() -> None:
    assert timestamp_of(TO_EARLIEST, 1_000) == -2
    assert timestamp_of(TO_LATEST, 1_000) == -1
    assert timestamp_of(ResetStrategy(BY_DURATION, 400), 1_000) == 600
    assert timestamp_of(ResetStrategy(BY_DURATION, 4_000), 1_000) == 0
