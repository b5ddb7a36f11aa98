"""The copy that is built with a sanitizer: what is in it after a run, and what a build then takes for changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.instrumented_build import update

PATHS = ["setup.py", "kcore", "build/cython"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("setup.py", "kcore/log.pyx", "kcore/gone.py", "build/cython/kcore/log.cpp", "kcore/log.so"):
        path = tmp_path / "root" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return tmp_path / "root"


def test_what_is_built_is_neither_copied_nor_removed(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    update(root, copy, PATHS)
    (copy / "kcore" / "log.so").write_text("with a sanitizer")
    (copy / "build" / "build.log").write_text("words")
    (root / "kcore" / "gone.py").unlink()
    update(root, copy, PATHS)
    left = sorted(str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file())
    assert left == ["build/build.log", "build/cython/kcore/log.cpp", "kcore/log.pyx", "kcore/log.so", "setup.py"]
    assert (copy / "kcore" / "log.so").read_text() == "with a sanitizer"


def test_a_source_that_changed_before_the_last_build_ended_is_newer_than_it(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    update(root, copy, PATHS)
    built = copy / "kcore" / "log.so"
    built.write_text("made of the source before")
    (root / "kcore" / "log.pyx").write_text("changed")
    long_ago = built.stat().st_mtime - 60
    os.utime(root / "kcore" / "log.pyx", (long_ago, long_ago))
    update(root, copy, PATHS)
    assert (copy / "kcore" / "log.pyx").read_text() == "changed"
    assert (copy / "kcore" / "log.pyx").stat().st_mtime_ns >= built.stat().st_mtime_ns


def test_what_did_not_change_stays_as_old_as_it_is(root: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    update(root, copy, PATHS)
    times = {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}
    for path in root.rglob("*.pyx"):
        path.touch()
    update(root, copy, PATHS)
    assert times == {path: path.stat().st_mtime_ns for path in copy.rglob("*") if path.is_file()}
