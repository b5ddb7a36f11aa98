"""The committed man pages are those that the commands make, and roff takes them without a warning."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kcli.man import main, pages


def test_the_pages_are_current(checkout: Path) -> None:
    committed = {path.name: path.read_text() for path in (checkout / "man").glob("kcli*.1")}
    assert committed == pages(), "run `python -m kcli.man man` and commit what it writes"


def test_pages_of_commands_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "kcli-gone.1").write_text("old")
    (tmp_path / "notes.txt").write_text("not a page")
    assert main([str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {*pages(), "notes.txt"}


@pytest.mark.needs("man")
@pytest.mark.parametrize("name", pages())
def test_the_pages_are_well_formed(checkout: Path, name: str) -> None:
    done = subprocess.run(
        ["man", "--warnings", "-l", str(checkout / "man" / name)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "MANWIDTH": "100"},
    )
    assert done.stderr == ""
    assert "EXIT STATUS" in done.stdout or "COMMANDS" in done.stdout
