"""Groups of the consumer protocol in lives of fixed seeds; the campaign `consumer_groups` leads thousands."""

from __future__ import annotations

import pytest

from tests.simulator.consumer_groups.group_life import ConsumerGroupLife


@pytest.mark.parametrize("seed", range(20))
def test_a_group_keeps_its_promises_in_a_storm_and_works_after_it(seed: int) -> None:
    life = ConsumerGroupLife(seed)
    assert life.run() > life.storm_steps
    assert life.told > 0
