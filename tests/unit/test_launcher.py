"""bin/: what a newcomer meets on a machine where something is missing, from elsewhere, or through a link."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LAUNCHERS = [
    "kcli",
    "test",
    "prepare",
    "campaign",
    "download",
    "kafka-jars",
    "kafka-run",
    "maven-jars",
    "spark-jars",
    "stress-sanitized",
    "test-sanitized",
]
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
    "wc",
]

# Stands in for Python: makes an environment of itself, and notes what it is asked to build. A file `signal` in the
# checkout ends a build as a signal does, with one named `edit` a source changes during the build. What it installs
# fails once for each line of a file `drops`.
PYTHON = """#!/bin/sh
case "$*" in
    *ensurepip*) echo complete ;;
    "-m venv"*) for last in "$@"; do :; done; mkdir -p "$last/bin" "$last/packages"; cat "$0" >"$last/bin/python"
                chmod +x "$last/bin/python" ;;
    *purelib*) echo "${0%/bin/python}/packages" ;;
    *"pip install"*) for last in "$@"; do :; done; root=${last%/.venv/*}; echo pip >>"$root/downloads"
                [ "$(wc -l <"$root/downloads")" -gt "$(cat "$root/drops" 2>/dev/null | wc -l)" ] ;;
    *import*pip) [ -d "${0%/bin/python}/packages" ] ;;
    *setup.py*) echo "$*" >>build/asked; if [ -e signal ]; then exit 137; fi
                if [ -e edit ]; then rm edit; echo new >kcore/log.pyx; fi ;;
    *) : ;;
esac
"""


@pytest.fixture
def bare_checkout(tmp_path: Path, checkout: Path) -> Path:
    """A checkout in which nothing was built."""
    bare = tmp_path / "checkout"
    shutil.copytree(checkout / "bin", bare / "bin", symlinks=True)
    for name in ("setup.py", "pyproject.toml"):
        shutil.copy(checkout / name, bare / name)
    (bare / "kcore").mkdir()
    (bare / "build_extensions").mkdir()
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


def test_an_interrupted_build_is_run_again(tmp_path: Path, bare_checkout: Path) -> None:
    environment = machine_with(tmp_path, python3=PYTHON, flock="#!/bin/sh\n") | {"CXX": "sh"}
    prepare = [str(bare_checkout / "bin/prepare"), "run"]
    asked = bare_checkout / "build" / "asked"
    (bare_checkout / "signal").touch()
    assert run(prepare, environment)[0] == 1
    (bare_checkout / "signal").unlink()
    assert run(prepare, environment)[0] == 0
    assert run(prepare, environment)[0] == 0
    assert asked.read_text() == "setup.py -q build_ext --inplace\n" * 2
    # What is up to date is not built for the sake of the demo's data set.
    assert run([prepare[0], "demo"], environment)[0] == 0
    assert len(asked.read_text().splitlines()) == 2


def test_the_demo_has_spark_where_its_pipeline_is_to_run(tmp_path: Path, bare_checkout: Path) -> None:
    environment = machine_with(tmp_path, python3=PYTHON, flock="#!/bin/sh\n") | {"CXX": "sh"}
    stamps = bare_checkout / ".venv"
    assert run([str(bare_checkout / "bin/kcli"), "demo", "--data-dir", "x"], environment)[0] == 0
    assert (stamps / ".kcli-stamp-demo").exists()
    assert not (stamps / ".kcli-stamp-spark").exists()
    assert run([str(bare_checkout / "bin/kcli"), "demo", "--data-dir", "x", "--pipeline"], environment)[0] == 0
    assert (stamps / ".kcli-stamp-spark").exists()


def test_a_source_edited_during_a_build_is_built_in_the_next_run(tmp_path: Path, bare_checkout: Path) -> None:
    environment = machine_with(tmp_path, python3=PYTHON, flock="#!/bin/sh\n") | {"CXX": "sh"}
    prepare = [str(bare_checkout / "bin/prepare"), "run"]
    (bare_checkout / "edit").touch()
    assert run(prepare, environment)[0] == 0
    assert run(prepare, environment)[0] == 0
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


@pytest.mark.parametrize("drops", [0, 2, 3])
def test_packages_are_asked_for_three_times(tmp_path: Path, bare_checkout: Path, drops: int) -> None:
    tools = {"python3": PYTHON, "flock": "#!/bin/sh\n", "sleep": f'#!/bin/sh\necho "$1" >>{tmp_path}/pauses\n'}
    environment = machine_with(tmp_path, **tools) | {"CXX": "sh"}
    (bare_checkout / "drops").write_text("a connection\n" * drops)
    code, _, err = run([str(bare_checkout / "bin/prepare"), "run"], environment)
    assert code == (drops == 3)
    assert len((bare_checkout / "downloads").read_text().splitlines()) == min(drops + 1, 3)
    assert ("is PyPI reachable?" in err) == (drops == 3)
    if drops:
        assert "kcli: attempt 1 of 3 to download has failed; the next follows in 5 s\n" in err
        assert (tmp_path / "pauses").read_text() == "5\n20\n"


@pytest.mark.parametrize("drops", [0, 2, 3])
def test_jars_are_asked_for_three_times(tmp_path: Path, bare_checkout: Path, checkout: Path, drops: int) -> None:
    (bare_checkout / "tests").mkdir()
    shutil.copytree(checkout / "tests" / "kafka_jars", bare_checkout / "tests" / "kafka_jars")
    attempts = tmp_path / "attempts"
    maven = f"""#!/bin/sh
        echo "$*" >>{attempts}
        mkdir -p "${{*##*outputDirectory=}}"
        [ "$(wc -l <{attempts})" -gt {drops} ]
    """
    environment = machine_with(tmp_path, mvn=maven, flock="#!/bin/sh\n", sleep="#!/bin/sh\n")
    code, out, err = run([str(bare_checkout / "bin/kafka-jars"), "3.9"], environment)
    assert code == (drops == 3)
    assert len(attempts.read_text().splitlines()) == min(drops + 1, 3)
    assert ("is Maven Central reachable?" in err) == (drops == 3)
    if drops < 3:
        assert out == f"{bare_checkout}/.cache/kafka/3.9.2/*\n"
        # What is there is not asked for again.
        assert run([str(bare_checkout / "bin/kafka-jars"), "3.9"], environment) == (0, out, "")
    else:
        assert not (bare_checkout / ".cache/kafka/3.9.2").exists()


def test_a_download_that_a_signal_ends_is_not_begun_again(tmp_path: Path, checkout: Path) -> None:
    command = [str(checkout / "bin/download"), "kcli", "sh", "-c", f"echo x >>{tmp_path}/attempts; kill -INT $$"]
    assert run(command)[0] > 128
    assert (tmp_path / "attempts").read_text() == "x\n"


@pytest.mark.parametrize("through", ["path", "link", "name"])
def test_a_tool_of_kafkas_is_kcli_under_its_name(bare_checkout: Path, tmp_path: Path, through: str) -> None:
    """The kcli beside it, wherever it is called from, and the words as they are."""
    program = bare_checkout / "bin" / "kcli"
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@"\n')
    tool = bare_checkout / "bin" / "kafka-topics.sh"
    environment = {"PATH": os.environ["PATH"]}
    command = str(tool)
    if through == "link":
        (tmp_path / "elsewhere").mkdir()
        command = str(tmp_path / "elsewhere" / "kafka-topics.sh")
        os.symlink(tool, command)
    elif through == "name":
        command = "kafka-topics.sh"
        environment["PATH"] = f"{tool.parent}:{environment['PATH']}"
    assert run([command, "--list", "a b", ""], environment, cwd=tmp_path) == (0, "<kafka-topics><--list><a b><>", "")


def test_another_kcli_can_be_named(bare_checkout: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text('#!/bin/sh\necho "other $1"; exit 7\n')
    other.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "KCLI": str(other)}
    assert run([str(bare_checkout / "bin" / "kafka-configs.sh")], environment) == (7, "other kafka-configs\n", "")
