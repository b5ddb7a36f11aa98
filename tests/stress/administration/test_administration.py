"""The races at the size of CI: seconds, with a fixed seed. `bin/campaign admin_races` goes on with others."""

from __future__ import annotations

from pathlib import Path

from tests.stress.administration.bounds import is_of_a_segment
from tests.stress.administration.run import race_administration
from tests.stress.broker import Build

SEED = 1
SECONDS = 4.0
PAIRS = 190


def test_administrators_race_and_harm_nobody(tmp_path: Path) -> None:
    counts = race_administration(tmp_path, SEED, SECONDS, Build())
    assert counts["pairs"] == PAIRS
    assert counts["grants"] > 0
    assert counts["refusals"] > 0
    assert counts["witness"] > 0


def test_open_files_of_deleted_partitions_are_counted(tmp_path: Path) -> None:
    """A planted leak: the directory of a partition was set aside, and a segment in it is still open."""
    alive, aside = tmp_path / "t-0", tmp_path / "t-1.0123456789abcdef-delete"
    for directory in (alive, aside):
        directory.mkdir()
    assert is_of_a_segment(str(alive / "00000000000000000000.log"))
    assert is_of_a_segment(str(alive / "00000000000000000000.log.deleted"))
    assert not is_of_a_segment(str(aside / "00000000000000000000.log"))
    assert not is_of_a_segment(str(tmp_path / "t-2" / "00000000000000000000.log"))
    assert not is_of_a_segment("socket:[4026]")
