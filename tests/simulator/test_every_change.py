"""The scripted life, stopped at changes of its disk: here at some, in the campaign `every_change` at each of them."""

from __future__ import annotations

import pytest

from tests.simulator.durability import Mode
from tests.simulator.scripted_life import ScriptedLife

# So many are led here, one after the other through the whole script.
STOPS = 12


@pytest.mark.parametrize("by_power", [True, False], ids=["power", "kill"])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_crash_at_any_change_of_the_disk_breaks_no_promise(mode: Mode, by_power: bool) -> None:
    whole = ScriptedLife(0, mode, None, by_power=by_power)
    whole.run()
    assert whole.changes > 200
    for stop in range(STOPS):
        change = 1 + stop * whole.changes // STOPS
        life = ScriptedLife(change, mode, change, by_power=by_power)
        life.run()
        assert life.work.records_read > 0 or change < whole.changes // 3
