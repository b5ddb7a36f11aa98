"""Groups in lives of fixed seeds; the campaign `groups` leads thousands."""

from __future__ import annotations

import pytest

from tests.simulator.groups.group_life import GroupLife


# 28: one static member, whose own JoinGroup, repeated by the network, shuts it out.
@pytest.mark.parametrize("seed", [*range(8), 28, 3687])
def test_a_group_keeps_its_promises_in_a_storm_and_works_after_it(seed: int) -> None:
    life = GroupLife(seed)
    assert life.run() > life.storm_steps
    assert life.witness.assignments_told > 0
    assert (life.service.heartbeats_of_processors > 0) == life.service.has_processors
