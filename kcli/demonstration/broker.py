"""The demo's own broker: a process on a free port, in a directory that is re-created for each run.

Only a directory with the marker file of an earlier demo is ever removed.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys

from kcli.data_directory import read_serving_pid
from kcli.failures import Failure, UnreachableFailure, UsageFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARKER = "made-by-kcli-demo"
START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 30.0


class DemoBroker:
    """Serves within a `with` block. Its data is kept."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.data_dir = os.path.join(directory, "data")
        self.log_path = os.path.join(directory, "broker.log")
        self.started: dict[str, Any] = {}
        self._process: subprocess.Popen[str] | None = None

    @property
    def bootstrap_server(self) -> str:
        listener: str = self.started["listeners"][0]
        return listener.rpartition("://")[2]

    def __enter__(self) -> DemoBroker:
        self._make_directory()
        command = [sys.executable, "-P", "-m", "kcli", "server-start", "--data-dir", self.data_dir, "--port", "0"]
        with open(self.log_path, "wb") as log:
            # A session of its own, so that Ctrl-C reaches only the demo, which then stops the broker cleanly.
            self._process = subprocess.Popen(
                [*command, "-o", "json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.started = self._wait_until_started(self._process)
        return self

    def _make_directory(self) -> None:
        if os.path.exists(self.directory):
            if not os.path.exists(os.path.join(self.directory, MARKER)):
                raise UsageFailure(
                    f"{self.directory}: already exists, and was not created by the demo. Choose another --data-dir"
                )
            pid = read_serving_pid(self.data_dir)
            if pid is not None:
                stop = f"kcli server-stop --data-dir {self.data_dir}"
                raise UsageFailure(f"{self.data_dir}: in use by a broker (pid {pid}). Stop it with: {stop}")
            shutil.rmtree(self.directory)
        os.makedirs(self.data_dir, 0o700)
        with open(os.path.join(self.directory, MARKER), "w", encoding="ascii"):
            pass

    def _wait_until_started(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], START_TIMEOUT_S)
        line = process.stdout.readline() if ready else ""
        if not line:
            process.kill()
            process.wait()
            raise UnreachableFailure(
                f"the demo's broker did not start within {START_TIMEOUT_S:.0f} s. See its log: {self.log_path}"
            )
        started: dict[str, Any] = json.loads(line)
        return started

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Asks the broker to stop. A broker that does not stop in time is killed, and that is a failure."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Failure(
                f"the demo's broker did not stop within {STOP_TIMEOUT_S:.0f} s and was killed. "
                f"See its log: {self.log_path}"
            ) from None
        finally:
            if process.stdout is not None:
                process.stdout.close()
