"""kill -9 under a workload of real clients, at CI's size; the campaign `kill` has a thousand of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workload.kill_rounds import run_kills

KILLS = 4
pytestmark = pytest.mark.release_build


@pytest.mark.needs("java", "mvn")
@pytest.mark.timeout(300)
def test_nothing_is_lost_by_kill_9(tmp_path: Path) -> None:
    """Its seed has segments that fill up in an instant, and are deleted as fast."""
    tally = run_kills(tmp_path / "data", 0, KILLS, with_kafkas_tool=True)
    assert tally.kills == KILLS
    assert tally.acked > 1_000
    assert tally.read > 1_000
    assert tally.commits > 10
    assert tally.deleted > 0, "retention never moved a start"
    assert tally.segments > 3, "no partition ever rolled"
