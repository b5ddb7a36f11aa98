"""A project outside the tree that has nothing but the installed package tests itself with the pytest plugin."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leftovers import Leftovers, await_ends, is_free

PROJECT = Path(__file__).with_name("sample_project")
RUN_TIMEOUT_S = 250


@pytest.fixture(scope="session")
def installed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which pip has installed the wheel, with the extensions that the checkout has built."""
    work = tmp_path_factory.mktemp("installation")
    wheel = ["bdist_wheel", "-d", str(work), "-b", str(work / "wheel")]
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(work)]
    environment = {**os.environ, "KCORE_ONLY": "none: they are built already"}
    done = subprocess.run(
        [*command, "build", "--build-base", str(work / "build"), *wheel],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = work.glob("*.whl")
    target = work / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    done = subprocess.run([*pip, str(archive)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for extension in (checkout / "kcore").rglob("*.so"):
        shutil.copy(extension, target / extension.relative_to(checkout))
    return target


@pytest.fixture
def leftovers(tmp_path: Path) -> Leftovers:
    return Leftovers(tmp_path)


def run_pytest(installed: Path, leftovers: Leftovers, directory: Path, *arguments: str) -> str:
    """What pytest says; fails when it does."""
    environment = {
        name: value for name, value in leftovers.environment.items() if not name.startswith(("PYTEST_", "KCLI_TEST_O"))
    }
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=directory,
        env={**environment, "PYTHONPATH": str(installed), "SEEN": str(directory / "seen")},
        capture_output=True,
        text=True,
        timeout=RUN_TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("arguments", [(), ("-n", "2")], ids=["alone", "xdist"])
def test_it_passes_and_leaves_nothing(
    installed: Path, leftovers: Leftovers, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    project = tmp_path / "project"
    shutil.copytree(PROJECT, project)
    output = run_pytest(installed, leftovers, project, "-q", *arguments)
    assert "62 passed" in output
    seen = [tuple(map(int, line.split())) for line in (project / "seen").read_text().splitlines()]
    assert len({pid for _, pid in seen}) == 50
    await_ends(*(pid for _, pid in seen))
    assert leftovers.processes() == []
    assert [port for port, _ in seen if not is_free(port)] == []
    assert [name for name in leftovers.files() if not name.startswith("pytest-of")] == []


def test_the_scope_of_the_shared_broker_is_an_option(installed: Path, leftovers: Leftovers, tmp_path: Path) -> None:
    (tmp_path / "test_scope.py").write_text(
        "seen = []\n"
        "def test_one(kcli_broker):\n    seen.append(kcli_broker.pid)\n"
        "def test_two(kcli_broker):\n    seen.append(kcli_broker.pid)\n"
        "def test_they_differ():\n    assert len(set(seen)) == 2\n"
    )
    run_pytest(installed, leftovers, tmp_path, "-q", "-o", "kcli_broker_scope=function")
    with pytest.raises(AssertionError, match="must be one of function, class"):
        run_pytest(installed, leftovers, tmp_path, "-q", "-o", "kcli_broker_scope=test")
    with pytest.raises(AssertionError, match="is not NAME=VALUE"):
        run_pytest(installed, leftovers, tmp_path, "-q", "-o", "kcli_broker_properties=num.partitions")


def test_who_does_not_use_it_does_not_pay_for_it(installed: Path, leftovers: Leftovers, tmp_path: Path) -> None:
    """Neither the broker nor a client nor a process comes with the plugin itself."""
    (tmp_path / "test_nothing.py").write_text(
        "import sys\n"
        "def test_nothing(request):\n"
        "    assert request.config.pluginmanager.hasplugin('kcli')\n"
        "    loaded = {name for name in sys.modules if name.startswith(('kcore', 'kcli'))}\n"
        "    assert loaded == {'kcore', 'kcore.testing', 'kcore.testing.pytest_plugin'}\n"
    )
    run_pytest(installed, leftovers, tmp_path, "-q")
