"""Groups of the consumer protocol in lives of fixed seeds; the campaigns `consumer_groups` and `mixed_groups`
lead thousands."""

from __future__ import annotations

import pytest

from tests.simulator.consumer_groups.group_life import ConsumerGroupLife
from tests.simulator.consumer_groups.mixed_life import MixedGroupLife


@pytest.mark.parametrize("seed", range(6))
def test_a_group_keeps_its_promises_in_a_storm_and_works_after_it(seed: int) -> None:
    life = ConsumerGroupLife(seed)
    assert life.run() > life.storm_steps
    assert life.told > 0


# 10: a timer of a group that had been replaced brought it back. 29: a classic member came to an empty consumer group.
@pytest.mark.parametrize("seed", [*range(3), 10, 18, 29, 86])
def test_a_group_of_both_protocols_keeps_its_promises_too(seed: int) -> None:
    life = MixedGroupLife(seed)
    assert life.run() > life.storm_steps
    assert life.told > 0
