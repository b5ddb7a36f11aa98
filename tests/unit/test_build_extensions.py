"""The build of extensions: an extension is never older than its sources, and nothing is compiled twice."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from build_extensions import keys, sources
from build_extensions.cache import ExtensionCache, directory

pytestmark = [pytest.mark.release_build, pytest.mark.needs("c++")]

# `far` declares a constant, `near` passes it on, `used` and `header_user` are the modules.
PROJECT = {
    "kcore/__init__.py": "",
    "kcore/inner/__init__.py": "",
    "kcore/inner/far.pxd": "cdef inline int far() noexcept nogil:\n    return 1\n",
    "kcore/near.pxd": (
        "from kcore.inner cimport far as other\ncdef inline int near() noexcept nogil:\n    return other.far() * 10\n"
    ),
    "kcore/used.pyx": "from kcore.near cimport near\n\ndef value():\n    return near()\n",
    "kcore/number.h": "#define NUMBER 5\n",
    "kcore/header_user.pyx": 'cdef extern from "number.h":\n    int NUMBER\n\ndef value():\n    return NUMBER\n',
}
PYPROJECT = """
[project]
name = "sample"
version = "1"

[tool.setuptools]
packages = []
"""


class Project:
    """A small project that is built as the checkout is."""

    def __init__(self, root: Path, checkout: Path, cache: Path) -> None:
        self.root = root
        self.cache = cache
        shutil.copytree(
            checkout / "build_extensions", root / "build_extensions", ignore=shutil.ignore_patterns("__*__")
        )
        shutil.copy(checkout / "setup.py", root / "setup.py")
        (root / "pyproject.toml").write_text(PYPROJECT)
        for name, text in PROJECT.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        # Git and tar set times as they like: an old time must hide nothing.
        os.utime(path, (1_000_000_000, 1_000_000_000))

    def build(self, **environment: str) -> int:
        """Builds in place. Returns the number of extensions that were compiled."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("KCORE_")}
        done = subprocess.run(
            [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
            cwd=self.root,
            env=inherited | {"KCLI_BUILD_CACHE": str(self.cache)} | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        counts = re.findall(r"^kcli: built (\d+)/", done.stderr, re.MULTILINE)
        return int(counts[-1]) if counts else 0

    def value(self, module: str) -> int:
        code = f"import kcore.{module} as module; print(module.value())"
        return int(subprocess.check_output([sys.executable, "-c", code], cwd=self.root))


@pytest.fixture(scope="module")
def first_build(tmp_path_factory: pytest.TempPathFactory, checkout: Path) -> Project:
    built = Project(tmp_path_factory.mktemp("first"), checkout, tmp_path_factory.mktemp("cache"))
    assert built.build() == 2
    return built


@pytest.fixture
def project(first_build: Project, tmp_path: Path, checkout: Path) -> Project:
    """Another checkout of the same sources, with a copy of the first one's cache. It was built from that."""
    shutil.copytree(first_build.cache, tmp_path / "cache")
    project = Project(tmp_path / "project", checkout, tmp_path / "cache")
    assert project.build() == 0
    assert (project.value("used"), project.value("header_user")) == (10, 5)
    return project


def test_nothing_is_built_again_without_a_change(project: Project) -> None:
    assert project.build() == 0


def test_a_declaration_two_files_away_changes(project: Project) -> None:
    project.write("kcore/inner/far.pxd", PROJECT["kcore/inner/far.pxd"].replace("return 1", "return 2"))
    assert project.build() == 1
    assert project.value("used") == 20
    project.write("kcore/inner/far.pxd", PROJECT["kcore/inner/far.pxd"])
    assert project.build() == 0, "the former extension is in the cache"
    assert project.value("used") == 10


def test_a_header_changes(project: Project) -> None:
    project.write("kcore/number.h", "#define NUMBER 6\n")
    project.build()
    assert project.value("header_user") == 6


def test_a_flag_changes(project: Project) -> None:
    shutil.rmtree(project.root / "build", ignore_errors=True)
    assert project.build(CFLAGS="-DNOTHING_READS_THIS") == 2
    assert project.build(KCORE_SYMBOLS="1") == 2
    assert project.build() == 0


def test_a_damaged_cache_entry_is_not_used(project: Project) -> None:
    for entry in project.cache.glob("*.extension"):
        content = entry.read_bytes()
        entry.write_bytes(content[: len(content) // 2])
    for built in project.root.rglob("*.so"):
        built.unlink()
    assert project.build() == 2
    assert project.value("used") == 10


def test_a_cache_that_cannot_be_written_is_done_without(project: Project, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for built in project.root.rglob("*.so"):
        built.unlink()
    assert project.build(KCLI_BUILD_CACHE=str(tmp_path / "file" / "below")) == 2
    assert project.build(KCLI_BUILD_CACHE="off") == 0
    assert project.value("used") == 10


def test_an_extension_without_a_source_is_removed(project: Project) -> None:
    (project.root / "kcore" / "used.pyx").unlink()
    project.build()
    assert not list((project.root / "kcore").glob("used.*"))


def test_keys_of_another_python_differ(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    here = keys.python_identity()
    monkeypatch.setattr(sys, "version", "3.99.0 (another build)")
    assert keys.python_identity() != here


def test_every_form_of_cimport_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["a", "b", "c", "d", "e", "f", "g", "h", "unused"]
    for path in [
        *(Path("kcore", f"{name}.pxd") for name in names),
        Path("kcore/inner/__init__.pxd"),
        Path("kcore/i.pxi"),
    ]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    Path("kcore/a.pxd").write_text("cimport kcore.b as other, kcore.c\nfrom libc.stdint cimport int32_t\n")
    Path("kcore/b.pxd").write_text("from kcore cimport (\n    d,\n    e,  # a comment\n)\n")
    Path("kcore/c.pxd").write_text("from .f cimport thing\nfrom . cimport g\n")
    Path("kcore/d.pxd").write_text("from kcore.inner.sub cimport \\\n    thing\nfrom kcore.h cimport *\n")
    Path("kcore/m.pyx").write_text('if True:\n    cimport kcore.a\ninclude "i.pxi"\n# unused\n')
    found = {path.name for path in sources.files_of(Path("kcore/m.pyx"))}
    assert found == {"m.pyx", "i.pxi", "__init__.pxd", *(f"{name}.pxd" for name in "abcdefgh")}


def test_the_cache_drops_what_was_not_used_for_longest(tmp_path: Path) -> None:
    cache = ExtensionCache(tmp_path / "cache")
    for age, key in enumerate(("new", "middle", "old")):
        cache.put(key, os.urandom(1000))
        os.utime(tmp_path / "cache" / f"{key}.extension", (1000 - age, 1000 - age))
    assert cache.get("old") is not None, "a use counts"
    cache.trim(2200)
    assert [key for key in ("new", "middle", "old") if cache.get(key)] == ["new", "old"]


def test_the_cache_is_where_the_user_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KCLI_BUILD_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert directory() == tmp_path / ".cache" / "kcli" / "extensions"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert directory() == tmp_path / "xdg" / "kcli" / "extensions"
    monkeypatch.setenv("KCLI_BUILD_CACHE", str(tmp_path / "own"))
    assert directory() == tmp_path / "own"
    monkeypatch.setenv("KCLI_BUILD_CACHE", "off")
    assert directory() is None
    assert ExtensionCache(None).get("key") is None
