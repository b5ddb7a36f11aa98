"""`kcli` itself: help, version, and what becomes of a command line that makes no sense."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kcli.cli import COMMANDS
from kcore import __version__
from tests.cli.conftest import Kcli

LOADED_MODULES = """
import sys
sys.argv = ["kcli", {argument!r}]
from kcli.__main__ import main
try:
    main()
finally:
    print("\\n".join(sys.modules), file=sys.stderr)
"""


def modules_loaded_by(argument: str) -> set[str]:
    script = LOADED_MODULES.format(argument=argument)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_version_is_told_without_importing_click(offline: Kcli) -> None:
    assert offline("--version") == (0, f"kcli {__version__}\n", "")
    assert "click" not in modules_loaded_by("--version")


def test_help_names_every_command_and_imports_none(offline: Kcli) -> None:
    result = offline("--help")
    assert result.code == 0
    assert result.stderr == ""
    for name, summary in COMMANDS.items():
        assert f"  {name} " in result.stdout
        assert summary in result.stdout
    loaded = modules_loaded_by("--help")
    assert not {"rich", "numpy", "socket", "pyspark"} & loaded
    assert not [name for name in loaded if name.startswith(("kcli.commands.", "kcore."))]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself(offline: Kcli, name: str) -> None:
    result = offline(name, "--help")
    assert result.code == 0
    assert result.stdout.startswith(f"Usage: kcli {name} ")
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "stderr"),
    [
        (
            ["topics", "create", "--topic"],
            "kcli topics create: Option '--topic' requires an argument. See: kcli topics create --help\n",
        ),
        (
            ["topics", "create", "--partitions", "abc", "t"],
            "kcli topics create: Invalid value for '--partitions': 'abc' is not an integer from 1 to 2147483647. "
            "See: kcli topics create --help\n",
        ),
        (
            ["server-start", "--port", "65536"],
            "kcli server-start: Invalid value for '--port': '65536' is not an integer from 0 to 65535. "
            "See: kcli server-start --help\n",
        ),
        (
            ["console-consumer", "t", "--partition", "-1"],
            "kcli console-consumer: Invalid value for '--partition': '-1' is not an integer of at least 0. "
            "See: kcli console-consumer --help\n",
        ),
        *(
            (
                [command, "greetings", "--topic", "t"],
                f"kcli {command}: topic given twice: greetings as an argument and --topic t. Remove one\n",
            )
            for command in ("console-consumer", "console-producer")
        ),
        (
            ["perf-test", "consumer", "--topic", "t", "--messages", "1", "--rounds", "2"],
            "kcli perf-test consumer: --rounds needs a second cluster to compare with: add --against HOST:PORT\n",
        ),
        (
            ["perf-test", "consumer", "--topic", "t", "--messages", "1", "--result-file", "/nowhere/result.json"],
            "kcli perf-test consumer: /nowhere/result.json: no such file or directory\n",
        ),
        (["nope"], "kcli: No such command 'nope'. See: kcli --help\n"),
        (["topics", "nope"], "kcli topics: No such command 'nope'. See: kcli topics --help\n"),
        (
            ["perf-test", "producer", "--topic", "t"],
            "kcli perf-test producer: Missing option '--num-records'. See: kcli perf-test producer --help\n",
        ),
        (
            ["topics", "list", "--bootstrap-server", "localhost:port"],
            "kcli topics list: 'localhost:port': not a server address. Write it as HOST:PORT\n",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line_and_code_2(offline: Kcli, arguments: list[str], stderr: str) -> None:
    assert offline(*arguments) == (2, "", stderr)


def test_no_command_shows_the_help_on_stderr(offline: Kcli) -> None:
    result = offline()
    assert result.code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("Usage: kcli ")


def test_no_broker_is_code_3_with_the_way_out(offline: Kcli) -> None:
    result = offline("topics", "list", "--bootstrap-server", "127.0.0.1:1")
    assert result.code == 3
    assert result.stdout == ""
    assert result.stderr == (
        "kcli topics list: cannot connect to 127.0.0.1:1 (connection refused). Is the broker running? Start one with: "
        "kcli server-start\n"
    )


def test_a_reader_that_goes_away_is_no_failure() -> None:
    done = subprocess.run(
        f"{sys.executable} -m kcli --help | head -n 1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
