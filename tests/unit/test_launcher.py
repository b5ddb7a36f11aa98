"""bin/: what a newcomer meets on a machine where something is missing, from elsewhere, or through a link."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LAUNCHERS = ["kcli", "test", "prepare", "campaign", "kafka-jars", "kafka-run", "stress-sanitized", "test-sanitized"]
TOOLS = [
    "sh",
    "cat",
    "chmod",
    "dirname",
    "find",
    "head",
    "mkdir",
    "mv",
    "printf",
    "readlink",
    "rm",
    "tail",
    "touch",
    "tr",
    "uname",
]

# Stands in for Python: makes an environment of itself, and notes what it is asked to build. A file `signal` in the
# checkout ends a build as a signal does, with one named `edit` a source changes before an extension is done.
PYTHON = """#!/bin/sh
case "$*" in
    *ensurepip*) echo complete ;;
    "-m venv"*) for last in "$@"; do :; done; mkdir -p "$last/bin" "$last/packages"; cat "$0" >"$last/bin/python"
                chmod +x "$last/bin/python" ;;
    *purelib*) echo "${0%/bin/python}/packages" ;;
    *import*pip) [ -d "${0%/bin/python}/packages" ] ;;
    *setup.py*) echo "$*" >>build/asked; if [ -e signal ]; then exit 137; fi
                if [ -e edit ]; then rm edit; echo new >kcore/log.pyx; echo old >kcore/log.so; fi ;;
    *) : ;;
esac
"""


@pytest.fixture
def bare_checkout(tmp_path: Path, checkout: Path) -> Path:
    """A checkout in which nothing was built."""
    bare = tmp_path / "checkout"
    shutil.copytree(checkout / "bin", bare / "bin")
    for name in ("setup.py", "pyproject.toml"):
        shutil.copy(checkout / name, bare / name)
    (bare / "kcore").mkdir()
    return bare


def machine_with(tmp_path: Path, **tools: str) -> dict[str, str]:
    """An environment whose PATH has the everyday tools and the given scripts, and nothing else."""
    folder = tmp_path / "machine"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        if found:
            (folder / name).symlink_to(found)
    for name, script in tools.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    return {"PATH": str(folder), "HOME": str(tmp_path)}


def run(command: list[str], environment: dict[str, str] | None = None, cwd: Path | None = None) -> tuple[int, str, str]:
    done = subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("name", LAUNCHERS)
def test_launcher_is_a_posix_script(checkout: Path, name: str) -> None:
    launcher = checkout / "bin" / name
    assert os.access(launcher, os.X_OK)
    assert launcher.read_text().startswith("#!/bin/sh\n")
    assert run(["sh", "-n", str(launcher)]) == (0, "", "")


def test_everything_missing_is_named_in_one_line(tmp_path: Path, bare_checkout: Path) -> None:
    code, out, err = run([str(bare_checkout / "bin/kcli"), "--version"], machine_with(tmp_path))
    assert (code, out) == (1, "")
    assert err == (
        "kcli: missing: Python 3.11 or later, a C++ compiler, flock; "
        "on Debian: apt-get install python3 python3-dev python3-venv g++ util-linux\n"
    )


def test_an_old_python_named_by_the_user_is_refused(tmp_path: Path, bare_checkout: Path) -> None:
    environment = machine_with(tmp_path, oldpython="#!/bin/sh\necho version\n", flock="#!/bin/sh\n")
    environment |= {"KCLI_PYTHON": "oldpython", "CXX": "sh"}
    code, _, err = run([str(bare_checkout / "bin/kcli"), "topics", "list"], environment)
    assert code == 1
    assert err.startswith("kcli: missing: Python 3.11 or later (KCLI_PYTHON=oldpython is not); on Debian: ")


def test_missing_headers_and_venv_are_named(tmp_path: Path, bare_checkout: Path) -> None:
    python = "#!/bin/sh\necho headers venv\n"
    environment = machine_with(tmp_path, python3=python, flock="#!/bin/sh\n") | {"CXX": "sh"}
    code, _, err = run([str(bare_checkout / "bin/kcli")], environment)
    assert code == 1
    assert err == (
        "kcli: missing: Python.h of python3, the venv module of python3; "
        "on Debian: apt-get install python3-dev python3-venv\n"
    )


def test_a_checkout_that_cannot_be_written_says_what_to_do(tmp_path: Path, bare_checkout: Path) -> None:
    (bare_checkout / ".cache").write_text("a file where the directory should be")
    environment = machine_with(tmp_path, python3="#!/bin/sh\necho complete\n", flock="#!/bin/sh\n") | {"CXX": "sh"}
    code, _, err = run([str(bare_checkout / "bin/kcli")], environment)
    assert code == 1
    assert err.startswith(f"kcli: cannot write in {bare_checkout}")
    assert "pip install" in err


def test_only_an_interrupted_build_is_done_all_anew(tmp_path: Path, bare_checkout: Path) -> None:
    environment = machine_with(tmp_path, python3=PYTHON, flock="#!/bin/sh\n") | {"CXX": "sh"}
    prepare = [str(bare_checkout / "bin/prepare"), "run"]
    asked = bare_checkout / "build" / "asked"
    (bare_checkout / "signal").touch()
    assert run(prepare, environment)[0] == 1
    (bare_checkout / "signal").unlink()
    assert run(prepare, environment)[0] == 0
    assert run(prepare, environment)[0] == 0
    assert asked.read_text() == "setup.py -q build_ext --inplace\nsetup.py -q build_ext --inplace --force\n"
    # What is up to date is not built for the sake of the demo's data set.
    assert run([prepare[0], "demo"], environment)[0] == 0
    assert len(asked.read_text().splitlines()) == 2


def test_what_is_edited_during_a_build_is_newer_than_what_was_built(tmp_path: Path, bare_checkout: Path) -> None:
    environment = machine_with(tmp_path, python3=PYTHON, flock="#!/bin/sh\n") | {"CXX": "sh"}
    prepare = [str(bare_checkout / "bin/prepare"), "run"]
    (bare_checkout / "edit").touch()
    assert run(prepare, environment)[0] == 0
    built = (bare_checkout / "kcore" / "log.so").stat().st_mtime_ns
    assert (bare_checkout / "kcore" / "log.pyx").stat().st_mtime_ns > built
    assert run(prepare, environment)[0] == 0
    assert len((bare_checkout / "build" / "asked").read_text().splitlines()) == 2


@pytest.mark.release_build
def test_kcli_runs_through_a_link_from_anywhere(tmp_path: Path, checkout: Path) -> None:
    link = tmp_path / "bin" / "kcli"
    link.parent.mkdir()
    link.symlink_to(os.path.relpath(checkout / "bin/kcli", link.parent))
    code, out, err = run([str(link), "--version"], cwd=tmp_path)
    assert code == 0, err
    assert out.startswith("kcli ")


@pytest.mark.release_build
def test_a_file_called_kcore_in_the_working_directory_is_not_imported(tmp_path: Path, checkout: Path) -> None:
    (tmp_path / "kcore.py").write_text("raise SystemExit('imported from the working directory')\n")
    code, out, _ = run([str(checkout / "bin/kcli"), "--version"], cwd=tmp_path)
    assert (code, out[:5]) == (0, "kcli ")


def test_kafka_series_are_listed(checkout: Path) -> None:
    code, out, _ = run([str(checkout / "bin/kafka-jars"), "--list"])
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["2.8", "3.9", "4"]
