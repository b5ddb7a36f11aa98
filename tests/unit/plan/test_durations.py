"""What is written to tests/durations.json: few lines change, and no file that is gone stays."""

from __future__ import annotations

from pathlib import Path

from tests.plan.durations import merged, read_durations, rounded, write_durations


def test_an_entry_stays_while_the_figure_is_close(tmp_path: Path) -> None:
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).touch()
    old = {"a.py": (60, 30), "b.py": (60, 30), "gone.py": (5, 5)}
    measured = {"a.py": (72.0, 44.0), "b.py": (121.0, 44.4), "c.py": (3.4, 1.2)}
    assert merged(old, measured, tmp_path) == {"a.py": (60, 30), "b.py": (120, 45), "c.py": (3, 1)}


def test_a_file_that_became_short_has_no_entry(tmp_path: Path) -> None:
    (tmp_path / "a.py").touch()
    assert merged({"a.py": (60, 30)}, {"a.py": (1.5, 1.0)}, tmp_path) == {}


def test_figures_have_two_digits_at_most() -> None:
    assert [rounded(seconds) for seconds in (2.4, 19.4, 22.6, 98, 133, 1234)] == [2, 19, 25, 100, 130, 1230]


def test_the_file_is_sorted_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "durations.json"
    assert read_durations(path) == {}
    durations = {"b.py": (4, 3), "a.py": (120, 45)}
    write_durations(durations, path)
    assert path.read_text() == '{\n  "a.py": [120, 45],\n  "b.py": [4, 3]\n}\n'
    assert read_durations(path) == durations
