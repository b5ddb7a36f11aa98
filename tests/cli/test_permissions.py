"""Files and directories that the operating system denies: `permission denied`, the path, and exit code 4.

Commands run without the capabilities by which root reads and writes what its mode forbids, so that the tests mean the
same for root as for anybody else.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Kcli, Result
from tests.server_command import ServerCommand

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2
TIMEOUT_S = 60
LIBC = ctypes.CDLL(None, use_errno=True)
STORE = "__cluster_metadata.sqlite"


def drop_overrides() -> None:
    """In the child, before it runs the command: root gets no capability back that is out of its bounding set."""
    for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
        if os.geteuid() == 0 and LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "cannot drop a capability")


def restricted(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
    """A command that file modes bind."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KCLI_")}
    done = subprocess.run(
        [sys.executable, "-m", "kcli", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**clean, "XDG_CONFIG_HOME": os.devnull, **(env or {})},
        preexec_fn=drop_overrides,
        check=False,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def assert_denied(result: Result, path: Path) -> None:
    last = result.stderr.splitlines()[-1]
    assert (result.code, last[:5]) == (4, "kcli "), result
    assert "permission denied" in last.lower()
    assert str(path) in last
    assert "mend" not in result.stderr
    assert "no such file" not in result.stderr


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    """A directory that nobody may enter."""
    directory = tmp_path / "closed"
    directory.mkdir()
    (directory / "00000000000000000000.log").write_bytes(b"")
    directory.chmod(0o000)
    yield directory
    directory.chmod(0o700)


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file that nobody may read."""
    file = tmp_path / "secret.properties"
    file.write_text("num.partitions=1\n")
    file.chmod(0o000)
    return file


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data directory of a broker that has served."""
    with ServerCommand(tmp_path / "data") as broker:
        broker.process.terminate()
        assert broker.process.wait(TIMEOUT_S) == 0
    return tmp_path / "data"


def test_a_data_directory_that_is_denied(tmp_path: Path, closed: Path) -> None:
    start = ("server-start", "--port", "0", "--data-dir")
    assert_denied(restricted(*start, closed), closed)
    assert_denied(restricted(*start, closed / "new"), closed / "new")
    read_only = tmp_path / "read-only"
    read_only.mkdir(0o500)
    assert_denied(restricted(*start, read_only), read_only)


@pytest.mark.parametrize("name", ["meta.properties", STORE])
def test_a_file_of_the_broker_that_is_denied(data: Path, name: str) -> None:
    (data / name).chmod(0o000)
    assert_denied(restricted("server-start", "--port", "0", "--data-dir", data), data / name)


def test_a_metadata_directory_that_is_denied(tmp_path: Path, closed: Path) -> None:
    place = ("--override", f"metadata.log.dir={closed}")
    assert_denied(restricted("server-start", "--port", "0", "--data-dir", tmp_path / "data", *place), closed)


def test_one_denied_directory_of_several_is_logged_with_its_remedy(tmp_path: Path, closed: Path) -> None:
    directories = f"log.dirs={tmp_path / 'open'},{closed}"
    # It serves from the other directory; a port that is not there ends it.
    result = restricted("server-start", "--override", directories, "--override", "listeners=PLAINTEXT://192.0.2.1:0")
    assert (
        f"Log directory {closed} is offline now: permission denied: {closed}/.lock; change its owner" in result.stderr
    )


def test_files_of_a_log_that_are_denied(tmp_path: Path, closed: Path) -> None:
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(b"")
    log.chmod(0o000)
    assert_denied(restricted("dump-log", log), log)
    assert_denied(restricted("dump-log", closed / log.name), closed / log.name)
    assert_denied(restricted("dump-log", closed), closed)
    assert_denied(restricted("dump-log", closed / "orders-0"), closed / "orders-0")


def test_checkpoints_that_are_denied(tmp_path: Path, closed: Path) -> None:
    checkpoint = tmp_path / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n0\n")
    checkpoint.chmod(0o000)
    assert_denied(restricted("checkpoint", "show", checkpoint), checkpoint)
    assert_denied(restricted("checkpoint", "show", closed), closed)
    assert_denied(restricted("checkpoint", "show", closed / "orders-0"), closed / "orders-0")


def test_an_import_that_is_denied(tmp_path: Path, closed: Path) -> None:
    assert_denied(restricted("log", "import", "--data-dir", tmp_path / "data", closed / "orders-0", "--yes"), closed)
    assert_denied(restricted("log", "import", "--data-dir", closed, tmp_path / "orders-0", "--yes"), closed)


def test_files_that_options_name(secret: Path) -> None:
    properties = secret.with_name("storage.properties")
    properties.write_text(f"log.dirs={secret.parent / 'logs'}\n")
    (secret.parent / "logs").mkdir()
    (secret.parent / "logs" / "meta.properties").write_text("")
    (secret.parent / "logs" / "meta.properties").chmod(0o000)
    for arguments in (
        ("server-start", secret),
        ("storage", "info", "--config", secret),
        ("topics", "list", "--command-config", secret),
        ("console-producer", "t", "--producer.config", secret),
        ("console-consumer", "t", "--consumer.config", secret),
        ("configs", "alter", "--topic", "t", "--add-config-file", secret),
        ("records", "delete", "--offset-json-file", secret),
        ("perf-test", "producer", "--topic", "t", "--num-records", "1", "--payload-file", secret),
    ):
        assert_denied(restricted(*arguments), secret)
    assert_denied(restricted("storage", "info", "--config", properties), secret.parent / "logs" / "meta.properties")


def test_contexts_that_are_denied(tmp_path: Path, closed: Path, secret: Path, offline: Kcli) -> None:
    assert_denied(restricted("context", "list", env={"XDG_CONFIG_HOME": str(closed)}), closed)
    home = {"XDG_CONFIG_HOME": str(tmp_path)}
    made = offline(
        *("context", "set", "one", "--bootstrap-server", "127.0.0.1:1", "--secret-file", f"client.id={secret}"),
        env=home,
    )
    assert made.code == 0, made
    assert_denied(restricted("topics", "list", "--context", "one", env=home), secret)
