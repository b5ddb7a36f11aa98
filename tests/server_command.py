"""`kcli server-start` as a child process, for what is particular to the command; other tests use `BrokerProcess`.

It is ready when its line has come on stdout: nothing is polled. Leaving the `with` block kills it if it still runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
START_TIMEOUT_S = 120.0
SHOWN_LOG_BYTES = 4_000


class ServerCommand:
    """`environment` is added to this process's, `arguments` to the command; `started` is what its line says.

    `checkout` is whose broker it is: this one's, unless another build stands elsewhere. `launcher` is a command that
    runs the server as its child, such as bin/sanitized.
    """

    def __init__(
        self,
        data_dir: Path,
        environment: Mapping[str, str] | None = None,
        *,
        arguments: Sequence[str] = (),
        checkout: Path = CHECKOUT,
        launcher: Sequence[str] = (),
    ) -> None:
        self._log_path = data_dir.with_name(data_dir.name + ".log")
        command = [*launcher, sys.executable, "-m", "kcli", "server-start", "-o", "json", "--port", "0"]
        with self._log_path.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, "--data-dir", str(data_dir), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **(environment or {})},
                cwd=checkout,
            )
        self.started: dict[str, Any] = {}
        self.started = json.loads(self._first_line())
        self.bootstrap_server = str(self.started["listeners"][0]).rpartition("://")[2]
        self.port = int(self.bootstrap_server.rpartition(":")[2])

    def _first_line(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START_TIMEOUT_S)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.__exit__()
            raise AssertionError(f"the broker did not start:\n{self.log()[-SHOWN_LOG_BYTES:]}")
        return line

    @property
    def pid(self) -> int:
        """The server's own process, which may be a child of the launcher."""
        return int(self.started["pid"])

    def log(self) -> str:
        """What it has written to stderr."""
        return self._log_path.read_text(errors="replace")

    def __enter__(self) -> ServerCommand:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.started and self.process.poll() is None:
            # A launcher ends after its child, and reports what it found.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.communicate()
