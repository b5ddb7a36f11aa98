"""The package as others have it: installed by pip, apart from the checkout, for runs of pytest with nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leftovers import Leftovers

RUN_TIMEOUT_S = 250


class Installation:
    """`site` is where pip has put the package."""

    def __init__(self, site: Path) -> None:
        self.site = site

    def run_pytest(self, leftovers: Leftovers, directory: Path, *arguments: str) -> str:
        """What pytest says; fails when it does."""
        environment = {
            name: value
            for name, value in leftovers.environment.items()
            if not name.startswith(("PYTEST_", "KCLI_TEST_O"))
        }
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pytest", "-p", "no:cacheprovider", *arguments],
            cwd=directory,
            env={**environment, "PYTHONPATH": str(self.site), "SEEN": str(directory / "seen")},
            capture_output=True,
            text=True,
            timeout=RUN_TIMEOUT_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="session")
def installed(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
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
    return Installation(target)


@pytest.fixture
def leftovers(tmp_path: Path) -> Leftovers:
    return Leftovers(tmp_path)
