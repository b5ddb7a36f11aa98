"""A lock on the machine's disk holds against whatever kind of lock the other side takes: of a file, or of its bytes.

Apache Kafka's brokers take record locks of their process (Java's `FileChannel.tryLock`), older ones of ours flock(2).
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kcore.platform.real_disk import RealDisk

# Says whether the lock was to be had, and keeps it until its standard input ends.
OTHER_PROCESS = """
import fcntl, sys
with open(sys.argv[1], "a+b") as file:
    try:
        getattr(fcntl, sys.argv[2])(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("taken", flush=True)
    except OSError:
        print("refused", flush=True)
    sys.stdin.read()
"""
KINDS = {"record": "lockf", "file": "flock"}


def other_process(path: Path, kind: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", OTHER_PROCESS, str(path), KINDS[kind]]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def what_another_process_is_told(path: Path, kind: str) -> str:
    with other_process(path, kind) as process:
        return process.communicate("")[0].strip()


@pytest.mark.parametrize("kind", KINDS)
def test_what_another_process_has_locked_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".lock"
    disk = RealDisk()
    with other_process(path, kind) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        with pytest.raises(BlockingIOError):
            disk.lock(str(path))
        process.communicate("")
    disk.close(disk.lock(str(path)))


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_locked_here_is_refused_to_another_process(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ".lock"
    disk = RealDisk()
    descriptor = disk.lock(str(path))
    assert what_another_process_is_told(path, kind) == "refused"
    disk.close(descriptor)
    assert what_another_process_is_told(path, kind) == "taken"


def open_and_close(path: Path) -> None:
    path.open("r+b").close()


def try_again(path: Path) -> None:
    with pytest.raises(BlockingIOError):
        RealDisk().lock(str(path))


@pytest.mark.parametrize("touch", [open_and_close, try_again])
def test_a_lock_outlives_another_descriptor_of_its_file(tmp_path: Path, touch: Callable[[Path], None]) -> None:
    """A record lock of the process would be gone with the first descriptor of the file that it closes."""
    path = tmp_path / ".lock"
    disk = RealDisk()
    descriptor = disk.lock(str(path))
    touch(path)
    assert {kind: what_another_process_is_told(path, kind) for kind in KINDS} == {
        "record": "refused",
        "file": "refused",
    }
    disk.close(descriptor)


def test_a_record_lock_of_this_process_counts_too(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with path.open("a+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(BlockingIOError):
            RealDisk().lock(str(path))
