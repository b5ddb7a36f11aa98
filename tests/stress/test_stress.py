"""The stress at the size of CI: seconds, with fixed seeds. `bin/campaign stress` goes on with others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stress.broker import Build
from tests.stress.run import stress

SECONDS = 5.0


@pytest.mark.parametrize("seed", [1, 2])
def test_fifty_connections_see_what_was_promised(seed: int, tmp_path: Path) -> None:
    counts = stress(tmp_path, seed, SECONDS, Build())
    assert counts["batches acknowledged"] > 0
    assert counts["bytes read"] > 0
    assert counts["in sessions"] > 0
