"""Leader election: who leads, who stays in sync, and that every election raises the epochs."""

from __future__ import annotations

import pytest

from kcore.controller.leader_election import elect_leader, with_isr
from kcore.metadata.image import NO_LEADER, PartitionState


def state(isr: tuple[int, ...], leader: int = 1) -> PartitionState:
    return PartitionState("orders", 0, (1, 2, 3), isr, leader, leader_epoch=5, partition_epoch=9)


@pytest.mark.parametrize(
    ("isr", "alive", "unclean", "leader", "new_isr"),
    [
        ((1, 2, 3), {1, 2, 3}, False, 1, (1, 2, 3)),
        ((1, 2, 3), {2, 3}, False, 2, (2, 3)),
        ((3, 1), {3, 1}, False, 1, (3, 1)),
        ((1,), {2, 3}, False, NO_LEADER, (1,)),
        ((1,), {2, 3}, True, 2, (2,)),
        ((1,), set(), True, NO_LEADER, (1,)),
        ((3,), {2, 3}, True, 3, (3,)),
    ],
)
def test_elections(isr: tuple[int, ...], alive: set[int], unclean: bool, leader: int, new_isr: tuple[int, ...]) -> None:
    elected = elect_leader(state(isr), alive, unclean)
    assert (elected.leader, elected.isr) == (leader, new_isr)
    assert (elected.leader_epoch, elected.partition_epoch) == (6, 10)


def test_another_isr_keeps_the_leadership() -> None:
    changed = with_isr(state((1, 2, 3)), (1,))
    assert (changed.leader, changed.leader_epoch, changed.isr, changed.partition_epoch) == (1, 5, (1,), 10)
