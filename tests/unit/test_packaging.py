"""What is handed out: the source distribution can be built from; a wheel holds what runs, and no native source."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ONE_EXTENSION = "kcore.record.crc"


def setup_py(checkout: Path, base: Path, *arguments: str, **environment: str) -> None:
    """Runs setup.py with everything that it writes under `base`, translations aside."""
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(base), *arguments]
    done = subprocess.run(
        command, cwd=checkout, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


TYPED = {"kcore/py.typed", "kcli/py.typed", "kspark/py.typed"}
# Where PySpark looks for sources.
DISCOVERED = {"pyspark_kcli.py", "pyspark_kcli_log.py"}
PIPELINE = "kcli/demonstration/flights.toml"


def sources(checkout: Path, *suffixes: str) -> set[str]:
    return {
        str(path.relative_to(checkout))
        for package in ("kcore", "kcli", "kspark")
        for path in (checkout / package).rglob("*")
        if path.suffix in suffixes
    }


@pytest.mark.release_build
def test_source_distribution_has_what_the_build_needs(checkout: Path, tmp_path: Path) -> None:
    setup_py(checkout, tmp_path, "sdist", "-d", str(tmp_path))
    (archive,) = tmp_path.glob("kcore_broker-*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert sources(checkout, ".py", ".pyx", ".pxd", ".pyi", ".h") | DISCOVERED <= names
    assert {"setup.py", "pyproject.toml", "LICENSE", "README.md"} | TYPED | {PIPELINE} <= names
    assert not [name for name in names if name.endswith((".cpp", ".c", ".so"))]


@pytest.mark.release_build
@pytest.mark.needs("c++")
def test_wheel_has_extensions_and_stubs_and_no_native_source(checkout: Path, tmp_path: Path) -> None:
    build = ["build", "--build-base", str(tmp_path / "build")]
    wheel = ["bdist_wheel", "-d", str(tmp_path), "-b", str(tmp_path / "wheel")]
    setup_py(checkout, tmp_path, *build, *wheel, KCORE_ONLY=ONE_EXTENSION)
    (archive,) = tmp_path.glob("kcore_broker-*.whl")
    with zipfile.ZipFile(archive) as file:
        names = set(file.namelist())
        (entry_points,) = [file.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    assert sources(checkout, ".py", ".pyi") | DISCOVERED <= names
    assert names >= TYPED | {PIPELINE}
    assert [name for name in names if name.startswith(ONE_EXTENSION.replace(".", "/")) and name.endswith(".so")]
    assert not [name for name in names if name.endswith((".pyx", ".pxd", ".h", ".c", ".cpp"))]
    assert not [name for name in names if name.startswith(("tests/", "perf/"))]
    assert "kcli = kcli.__main__:main" in entry_points
    assert "[pytest11]\nkcli = kcore.testing.pytest_plugin" in entry_points


def test_versions_agree(checkout: Path) -> None:
    from kcore import __version__

    assert tomllib.loads((checkout / "pyproject.toml").read_text())["project"]["version"] == __version__
