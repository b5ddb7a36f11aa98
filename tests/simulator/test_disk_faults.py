"""Lives of fixed seeds on failing disks, in every mode; the campaign `disk_faults` leads thousands."""

from __future__ import annotations

import pytest

from tests.simulator.durability import Mode
from tests.simulator.faulty_life import FaultyLife

SEEDS = {
    Mode.EVERY_MESSAGE: [1, 2],
    Mode.GROUP_COMMIT: [1, 2],
    Mode.DEFAULT: [1, 2],
}


@pytest.mark.parametrize(("mode", "seed"), [(mode, seed) for mode, seeds in SEEDS.items() for seed in seeds])
def test_a_failing_disk_is_an_error_and_never_an_acknowledgement(mode: Mode, seed: int) -> None:
    life = FaultyLife(seed, mode, rounds=5)
    life.run()
    assert life.machine.disk.injected > 0
    assert life.work.records_read > 0
