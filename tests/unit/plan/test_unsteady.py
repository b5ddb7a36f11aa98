"""The list of unsteady tests fails a run when a test is on it twice or the list is too long."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan import unsteady


@pytest.fixture
def path(tmp_path: Path) -> Path:
    listed = tmp_path / "unsteady.txt"
    listed.write_text("# a comment\n")
    return listed


def test_a_test_may_be_unsteady_once(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert unsteady.main(["add", "a.py::one[x y]", "a.py::two"], path) == 0
    assert unsteady.names_of(path) == ["a.py::one[x y]", "a.py::two"]
    assert unsteady.main(["check"], path) == 0
    assert unsteady.main(["add", "a.py::one[x y]"], path) == 1
    assert "unsteady 2 times: a.py::one[x y]" in capsys.readouterr().err
    assert unsteady.main(["check"], path) == 1


def test_the_list_has_five_names_at_most(path: Path) -> None:
    assert unsteady.main(["add", *(f"a.py::{number}" for number in range(5))], path) == 0
    assert unsteady.main(["add", "a.py::5"], path) == 1


def test_the_committed_list_is_read() -> None:
    assert unsteady.faults_of(unsteady.names_of(unsteady.LIST)) == []
