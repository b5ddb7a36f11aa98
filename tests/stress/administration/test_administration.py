"""The races at the size of CI: seconds, with fixed seeds. `bin/campaign admin_races` goes on with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.administration.run import race_administration
from tests.stress.broker import Build

SECONDS = 4.0
PAIRS = 190


@pytest.mark.parametrize("seed", [1, 2])
def test_administrators_race_and_harm_nobody(seed: int, tmp_path: Path) -> None:
    counts = race_administration(tmp_path, seed, SECONDS, Build())
    assert counts["pairs"] == PAIRS
    assert counts["grants"] > 0
    assert counts["refusals"] > 0
    assert counts["witness"] > 0
