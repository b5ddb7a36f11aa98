"""What processes that a test has started leave behind: other processes, ports, files.

They are told from all others by a variable of the environment, which their children inherit.
"""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path

MARK = "KCLI_TEST_MARK"
END_TIMEOUT_MS = 30_000


class Leftovers:
    """`environment` is for the processes that are watched; `temporary` is where they have their temporary files."""

    def __init__(self, directory: Path) -> None:
        self.mark = str(directory)
        self.temporary = directory / "temporary"
        self.temporary.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), MARK: self.mark}

    def processes(self) -> list[str]:
        """The command lines of those that live."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
        return found

    def files(self) -> list[str]:
        return sorted(path.name for path in self.temporary.iterdir())


def is_free(port: int) -> bool:
    """Whether nobody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen()
        except OSError:
            return False
        return True


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
