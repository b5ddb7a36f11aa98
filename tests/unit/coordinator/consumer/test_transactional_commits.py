"""TxnOffsetCommit by members of a consumer group: producers know generations, not epochs, and are told of those."""

from __future__ import annotations

import pytest

from kcore.coordinator.group import codes
from kcore.coordinator.group.committer import Committer
from kcore.metadata.image import MetadataImage
from kcore.protocol import apis
from tests.unit.coordinator.consumer.world import topic
from tests.unit.coordinator.test_loading import World

PRODUCER_ID, PRODUCER_EPOCH = 4_000, 0
MINE, GIVEN_UP = ("foo", 0), ("foo", 2)


class Flight:
    """A group whose member `a` had all of `foo` in epoch 2, and gave a part up for `b`; epoch 3 is the present one."""

    def __init__(self) -> None:
        self.world = World()
        self.world.load()
        self.world.coordinator.on_image(MetadataImage(topics={"foo": topic("foo", 3)}))
        assert self.beat("a", 0) == 2
        assert self.beat("b", 0) == 3
        self.beat("a", 2)
        assert self.beat("a", 2, held=[0, 1]) == 3

    def beat(self, member_id: str, epoch: int, held: list[int] | None = None) -> int:
        """Answers the member's epoch."""
        fields = {"group_id": "g", "member_id": member_id, "member_epoch": epoch}
        if held is not None or epoch == 0:
            rows = [{"topic_id": topic("foo", 3).topic_id, "partitions": held}] if held else []
            fields |= {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": ["foo"], "topic_partitions": rows}
        api = apis.CONSUMER_GROUP_HEARTBEAT.request
        request = api.decode(1, api.encode(1, fields))
        answer = self.world.coordinator.consumer_heartbeat(request, 1, "client", "/h")
        assert not answer.get("error_code"), answer
        return int(answer["member_epoch"])

    def commit(self, member_id: str, epoch: int, *places: tuple[str, int]) -> list[int]:
        """A wire code for each place."""
        committer = Committer(member_id, None, epoch, knows_epochs=False, is_transactional=True)
        commits = dict.fromkeys(places, (5, -1, ""))
        coordinator = self.world.coordinator
        results = coordinator.commit_transactional("g", committer, commits, PRODUCER_ID, PRODUCER_EPOCH)
        return [results[place] for place in places]

    def unstable(self) -> set[tuple[str, int]]:
        error, _, unstable = self.world.coordinator.fetch_offsets("g", require_stable=True)
        assert error == codes.NONE
        return unstable


@pytest.fixture
def flight() -> Flight:
    return Flight()


@pytest.mark.parametrize(
    ("epoch", "places"), [(1, (MINE,)), (4, (MINE,)), (2, (GIVEN_UP,)), (2, (MINE, GIVEN_UP)), (-1, (MINE,))]
)
def test_a_stale_epoch_is_an_illegal_generation(
    flight: Flight, epoch: int, places: tuple[tuple[str, int], ...]
) -> None:
    """The errors of consumer groups are none that a producer knows what to do about."""
    assert flight.commit("a", epoch, *places) == [codes.ILLEGAL_GENERATION] * len(places)
    assert flight.unstable() == set()


def test_the_member_s_epoch_counts_and_so_does_an_earlier_one_for_what_it_has_had_since(flight: Flight) -> None:
    assert flight.commit("a", 3, MINE) == [codes.NONE]
    assert flight.commit("a", 2, ("foo", 1)) == [codes.NONE]
    assert flight.unstable() == {MINE, ("foo", 1)}
    coordinator = flight.world.coordinator
    assert coordinator.complete_transaction(0, PRODUCER_ID, PRODUCER_EPOCH, 0, is_commit=True) == codes.NONE
    assert {place: kept.offset for place, kept in coordinator.fetch_offsets("g")[1].items()} == {MINE: 5, ("foo", 1): 5}


def test_who_is_no_member_is_told_so_and_who_does_not_say_may_commit(flight: Flight) -> None:
    assert flight.commit("nobody", 3, MINE) == [codes.UNKNOWN_MEMBER_ID]
    assert flight.commit("", -1, MINE) == [codes.NONE]


def test_a_generation_of_a_group_that_is_not_there_is_an_illegal_one(flight: Flight) -> None:
    coordinator = flight.world.coordinator
    committer = Committer("a", None, 3, knows_epochs=False, is_transactional=True)
    results = coordinator.commit_transactional("other", committer, {MINE: (5, -1, "")}, PRODUCER_ID, PRODUCER_EPOCH)
    assert results == {MINE: codes.ILLEGAL_GENERATION}
