"""Lives of fixed seeds, in every mode; the campaign `machine_crash` leads thousands."""

from __future__ import annotations

import pytest

from tests.simulator.durability import Mode
from tests.simulator.random_life import RandomLife

# The later ones found something once.
SEEDS = {
    Mode.EVERY_MESSAGE: [1, 2, 3, 181],
    Mode.GROUP_COMMIT: [1, 2, 67, 86],
    Mode.DEFAULT: [1, 4, 7, 35, 48, 147, 569, 1322, 7607],
}


@pytest.mark.parametrize(("mode", "seed"), [(mode, seed) for mode, seeds in SEEDS.items() for seed in seeds])
def test_what_was_promised_holds_after_crashes(mode: Mode, seed: int) -> None:
    life = RandomLife(seed, mode, rounds=5)
    life.run()
    assert life.work.records_read > 0


@pytest.mark.parametrize("mode", [Mode.EVERY_MESSAGE, Mode.DEFAULT])
def test_a_seed_leads_the_same_life(mode: Mode) -> None:
    def trace() -> tuple[list[str], int, list[object]]:
        life = RandomLife(5, mode, rounds=3)
        life.run()
        return life.steps_taken, life.machine.disk.changes, [send[:6] for send in life.work.history.sends]

    assert trace() == trace()
