"""What processes that a test has started leave behind: other processes, ports, files.

They are told from all others by a variable of the environment, which their children inherit.
"""

from __future__ import annotations

import os
import select
import socket
import stat
from pathlib import Path

MARK = "KCLI_TEST_MARK"
END_TIMEOUT_MS = 60_000


class Leftovers:
    """`environment` is for the processes that are watched; `temporary` is where they have their temporary files."""

    def __init__(self, directory: Path) -> None:
        self.mark = str(directory)
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), MARK: self.mark}

    def processes(self) -> list[str]:
        """The command lines of those that live."""
        return [command_line(pid) for pid in self._pids()]

    def await_ends(self) -> None:
        """Returns when none lives; with that no port is theirs any more."""
        for pid in self._pids():
            await_ends(pid)
        assert self.processes() == []

    def files(self) -> list[str]:
        return sorted(path.name for path in self.temporary.iterdir())

    def _pids(self) -> list[int]:
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found


def command_line(pid: int) -> str:
    """Of a process that may have ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return f"process {pid}"


def own_ports() -> set[int]:
    """The ports of the network's sockets that this process has, also of those that are only bound.

    Who asks instead whether a port is free hears of others too: a moment after it was given back it may be anybody's.
    """
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        try:
            copy = os.dup(int(entry.name))
        except OSError:
            continue  # closed meanwhile, as the one by which this directory was read
        if not stat.S_ISSOCK(os.fstat(copy).st_mode):
            os.close(copy)
            continue
        with socket.socket(fileno=copy) as held:
            if held.family in (socket.AF_INET, socket.AF_INET6):
                found.add(int(held.getsockname()[1]))
    return found


def librdkafka_clients() -> int:
    """How many clients of librdkafka live in this process, closed ones not among them: each has one main thread."""
    names = []
    for entry in Path("/proc/self/task").glob("*/comm"):
        try:
            names.append(entry.read_text())
        except OSError:
            continue
    return sum(name.startswith("rdk:main") for name in names)


def await_ends(*pids: int) -> None:
    """Returns when these processes, which need not be children of this one, have ended."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            poller = select.poll()
            poller.register(descriptor, select.POLLIN)
            assert poller.poll(END_TIMEOUT_MS), f"process {pid} lives on"
        finally:
            os.close(descriptor)
