"""The stress at the size of CI: seconds, with a fixed seed. `bin/campaign stress` goes on with others."""

from __future__ import annotations

from pathlib import Path

from tests.stress.broker import Build
from tests.stress.run import stress

SECONDS = 5.0
SEED = 1


def test_fifty_connections_see_what_was_promised(tmp_path: Path) -> None:
    counts = stress(tmp_path, SEED, SECONDS, Build())
    assert counts["batches acknowledged"] > 0
    assert counts["bytes read"] > 0
    assert counts["in sessions"] > 0
