"""Where partitions begin, answered by hand: when they are looked up, and which answers count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kcore.client.consumer.consumer_errors import NoOffsetForPartition
from kcore.client.consumer.consumer_metadata import ConsumerMetadata
from kcore.client.consumer.initial_positions import InitialPositions
from kcore.client.consumer.offset_reset import NO_RESET, TO_EARLIEST
from kcore.client.consumer.outcome import Outcome
from kcore.client.consumer.positions import FetchPosition, OffsetAndMetadata
from kcore.client.consumer.subscription_state import SubscriptionState
from kcore.client.errors import ClientTimeout
from kcore.client.metadata.cluster import TopicPartition
from kcore.client.metadata.metadata import Metadata, MetadataSettings
from kcore.errors import GroupAuthorizationFailedError

A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)


class Commits:
    """Keeps questions for what is committed until the test answers them."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[TopicPartition], Outcome[Any]]] = []

    def fetch(self, partitions: Iterable[TopicPartition], deadline_ms: float) -> Outcome[Any]:
        self.asked.append((list(partitions), Outcome()))
        return self.asked[-1][1]


def scene(strategy: Any, commits: Commits | None) -> tuple[SubscriptionState, InitialPositions]:
    state = SubscriptionState(strategy)
    metadata = ConsumerMetadata(Metadata(MetadataSettings()), state)
    return state, InitialPositions(state, metadata, commits, 60_000.0)  # type: ignore[arg-type]


def test_nothing_begins_before_it_is_wanted() -> None:
    state, positions = scene(TO_EARLIEST, None)
    state.assign([A0])
    positions.poll(0)
    assert state.initializing() == [A0]
    positions.is_wanted = True
    positions.poll(0)
    assert state.needing_reset(0) == {A0: TO_EARLIEST}


def test_without_an_offset_it_is_told_and_a_seek_takes_it_back() -> None:
    """However often the background looks in between."""
    state, positions = scene(NO_RESET, None)
    state.assign([A0])
    positions.is_wanted = True
    positions.poll(0)
    assert isinstance(state.take_failure(), NoOffsetForPartition)
    positions.poll(0)
    state.seek(A0, FetchPosition(8))
    positions.poll(0)
    assert state.take_failure() is None
    assert state.position(A0) == FetchPosition(8)


def test_a_partition_is_asked_for_once_at_a_time() -> None:
    commits = Commits()
    state, positions = scene(TO_EARLIEST, commits)
    state.assign([A0])
    positions.is_wanted = True
    positions.poll(0)
    state.assign([A0, A1])
    positions.poll(0)
    positions.poll(0)
    assert [asked for asked, _ in commits.asked] == [[A0], [A1]]
    commits.asked[0][1].fail(ClientTimeout("no answer"))
    positions.poll(0)
    assert commits.asked[2][0] == [A0]
    commits.asked[2][1].complete({A0: OffsetAndMetadata(7)})
    assert state.position(A0) == FetchPosition(7)


def test_an_answer_for_an_earlier_assignment_does_not_count() -> None:
    """Another member had the partition in between, and has committed since."""
    commits = Commits()
    state, positions = scene(TO_EARLIEST, commits)
    state.subscribe(["a"])
    state.assign_from_group([A0])
    positions.is_wanted = True
    positions.poll(0)
    state.assign_from_group([])
    state.assign_from_group([A0])
    positions.poll(0)
    (_, early), (_, late) = commits.asked
    early.complete({A0: OffsetAndMetadata(3)})
    assert state.position(A0) is None
    positions.poll(0)
    assert len(commits.asked) == 2
    late.complete({A0: OffsetAndMetadata(9)})
    assert state.position(A0) == FetchPosition(9)


def test_a_refusal_is_told_once_and_of_partitions_that_are_still_wanted() -> None:
    commits = Commits()
    state, positions = scene(TO_EARLIEST, commits)
    state.assign([A0])
    positions.is_wanted = True
    positions.poll(0)
    commits.asked[0][1].fail(GroupAuthorizationFailedError("group g"))
    positions.poll(0)
    assert len(commits.asked) == 1
    assert isinstance(state.take_failure(), GroupAuthorizationFailedError)
    positions.poll(0)
    state.unsubscribe()
    commits.asked[1][1].fail(GroupAuthorizationFailedError("group g"))
    assert state.take_failure() is None
