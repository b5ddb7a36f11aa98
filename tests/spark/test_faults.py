"""A streaming query whose driver, workers and broker are killed: every record is read, and is in one batch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.faults.rounds import BROKER, DRIVER, WORKER, Rounds

pytestmark = [pytest.mark.needs("java"), pytest.mark.release_build, pytest.mark.timeout(900), pytest.mark.full_size]


def test_nothing_is_lost_or_twice_under_faults(tmp_path: Path) -> None:
    Rounds(tmp_path, seed=7).run([WORKER, BROKER, DRIVER])
