"""kill -9 under a workload of real clients, at CI's size; the campaign `kill` has a thousand of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.invariants.checker import InvariantViolation
from tests.workload.kill_rounds import TOPIC, KillRounds, run_kills
from tests.workload.workload import WorkloadFailure

KILLS = 4
FOUND = r"invariant [123]:|OUT_OF_ORDER_SEQUENCE_NUMBER"
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


def newest_segments(rounds: KillRounds) -> Iterator[Path]:
    """Those that recovery reads, of partitions that have records in them."""
    for directory in sorted(rounds.broker.data_dir.glob(f"{TOPIC}-*")):
        newest = sorted(directory.glob("*.log"))[-1:]
        yield from (path for path in newest if path.stat().st_size)


class LosesTail(KillRounds):
    """A broker that comes back without its newest records, as if they had never been written."""

    def _check_dead(self) -> None:
        super()._check_dead()
        for path in newest_segments(self):
            os.truncate(path, 0)


class FlipsBit(KillRounds):
    """A broker whose disk damages the log: recovery sets aside what follows, as kill -9 never makes it do."""

    def _check_dead(self) -> None:
        super()._check_dead()
        for path in newest_segments(self):
            content = bytearray(path.read_bytes())
            content[70] ^= 1
            path.write_bytes(content)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rounds", [LosesTail, FlipsBit])
def test_the_rounds_find_what_was_lost(tmp_path: Path, rounds: type[KillRounds]) -> None:
    """Idempotent producers of librdkafka find it out too, and give up."""
    with pytest.raises((InvariantViolation, WorkloadFailure), match=FOUND):
        rounds(tmp_path / "data", 0, 2).run()
