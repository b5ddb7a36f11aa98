"""A group that is deleted, by a coordinator that dies at any of the appends, or whose log refuses."""

from __future__ import annotations

from random import Random

import pytest

from kcore.coordinator.group import codes, records
from kcore.coordinator.group.committer import Committer
from kcore.errors import MessageTooLargeError
from tests.simulator.groups.kept_log import CoordinatorDiesError, KeptLog, Outcome
from tests.unit.coordinator.test_loading import NOBODY, World

GROUP = "g"
PRODUCER_ID = 7
PLACES = [(topic, number) for topic in ("read", "seen") for number in range(50)]
GROUP_METADATA = records.GroupMetadata("consumer", 3, None, None, 0, [])


class CountingLog(KeptLog):
    """Dies with its coordinator after so many more appends; refuses batches of more bytes than that."""

    def __init__(self) -> None:
        super().__init__(Random(1))
        self.sizes: list[int] = []
        self.lasts_for: int | None = None
        self.max_bytes = 1 << 20

    def append_records(self, batch: bytes, acks: int, *, internal: bool) -> Outcome:
        if len(batch) > self.max_bytes:
            return Outcome(MessageTooLargeError.code)
        outcome = super().append_records(batch, acks, internal=internal)
        self.sizes.append(len(batch))
        if self.lasts_for is not None:
            self.lasts_for -= 1
            if not self.lasts_for:
                raise CoordinatorDiesError
        return outcome


class DeletingWorld(World):
    """A coordinator whose log has an empty group with offsets, and one in an open transaction."""

    log: CountingLog

    def __init__(self) -> None:
        super().__init__(CountingLog())
        self.keep(records.group_metadata(GROUP, GROUP_METADATA))
        self.load()
        results = self.coordinator.commit(GROUP, NOBODY, dict.fromkeys(PLACES, (5, -1, "")))
        assert set(results.values()) == {codes.NONE}
        producer = Committer("", None, -1, knows_epochs=False, is_transactional=True)
        pending = {("pending", 0): (6, -1, "")}
        results = self.coordinator.commit_transactional(GROUP, producer, pending, PRODUCER_ID, 0)
        assert set(results.values()) == {codes.NONE}
        self.log.sizes.clear()

    def what_there_is(self) -> tuple[bool, int]:
        """Whether the group is listed, and how many offsets it has."""
        is_listed = GROUP in {listing.group_id for listing in self.coordinator.list_groups([], [])[1]}
        return is_listed, len(self.coordinator.fetch_offsets(GROUP)[1])


def test_a_crash_leaves_the_whole_group_or_nothing_of_it() -> None:
    for lasts_for in (1, 2, 3):
        world = DeletingWorld()
        world.log.lasts_for = lasts_for
        try:
            assert world.coordinator.delete_group(GROUP) == codes.NONE
        except CoordinatorDiesError:
            world.log.lasts_for = None
        world.restart()
        assert world.what_there_is() in ((True, len(PLACES)), (False, 0))


def test_a_group_that_was_deleted_is_gone_with_what_a_transaction_would_have_committed() -> None:
    world = DeletingWorld()
    assert world.coordinator.delete_group(GROUP) == codes.NONE
    assert len(world.log.sizes) == 1, "one batch"
    assert world.what_there_is() == (False, 0)
    for _ in range(2):
        assert world.coordinator.complete_transaction(0, PRODUCER_ID, 0, 0, is_commit=True) == codes.NONE
        assert world.what_there_is() == (False, 0)
        world.restart()
    assert world.coordinator.delete_group(GROUP) == codes.GROUP_ID_NOT_FOUND


def test_what_is_too_much_for_one_batch_goes_in_several() -> None:
    world = DeletingWorld()
    assert world.coordinator.delete_group(GROUP) == codes.NONE
    (whole,) = world.log.sizes
    world = DeletingWorld()
    world.log.max_bytes = whole - 1
    assert world.coordinator.delete_group(GROUP) == codes.NONE
    assert len(world.log.sizes) == 2
    world.restart()
    assert world.what_there_is() == (False, 0)


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_deletion_that_cannot_be_written_has_not_happened(is_kept: bool) -> None:
    world = DeletingWorld()
    world.log.max_bytes = 0
    assert world.coordinator.delete_group(GROUP) == MessageTooLargeError.code
    if is_kept:
        world.restart()
    assert world.what_there_is() == (True, len(PLACES))
