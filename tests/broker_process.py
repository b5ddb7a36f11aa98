"""A broker as a process of its own, for tests: started with `kcli server-start`, killed or stopped as the test likes.

    with BrokerProcess(tmp_path / "data", {"num.partitions": "2"}) as broker:
        ... broker.bootstrap_server ...

The port is a free one of the kernel's choice, and stays the same over `restart`, so that clients find the broker again.
It is ready when its line has come on stdout: nothing is polled. Its log goes to `<data dir>.log`, which is shown when
it does not start. Leaving the `with` block kills whatever still runs.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

START_TIMEOUT_S = 30.0
STOP_TIMEOUT_S = 60.0
SHOWN_LOG_BYTES = 4_000
# For every broker of a run, as `key=value` words: KCLI_TEST_OVERRIDES=kcli.fast.path.enable=false bin/test ...
OVERRIDES = dict(word.split("=", 1) for word in os.environ.get("KCLI_TEST_OVERRIDES", "").split())


class BrokerProcess:
    """`overrides` are broker configurations; `arguments` and `environment` go to the command as they are."""

    def __init__(
        self,
        data_dir: Path,
        overrides: Mapping[str, str] | None = None,
        *,
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.overrides = {**OVERRIDES, **(overrides or {})}
        self.arguments = list(arguments)
        self.environment = dict(environment or {})
        self.log_path = data_dir.with_name(data_dir.name + ".log")
        self.process: subprocess.Popen[str] | None = None
        self.started: dict[str, Any] = {}
        self.port = 0

    # What a test asks of it

    @property
    def bootstrap_server(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def log(self) -> str:
        """What it has written to stderr in all of its lives."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # Its life

    def start(self) -> BrokerProcess:
        """Starts it and returns when it serves."""
        assert self.process is None, "it runs already"
        command = [sys.executable, "-m", "kcli", "server-start", "-o", "json"]
        command += ["--data-dir", str(self.data_dir), "--port", str(self.port), *self.arguments]
        for name, value in self.overrides.items():
            command += ["--override", f"{name}={value}"]
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **self.environment},
                cwd=Path(__file__).resolve().parent.parent,
            )
        self.started = json.loads(self._first_line())
        self.port = int(self.started["listeners"][0].rpartition(":")[2])
        return self

    def _first_line(self) -> str:
        assert self.process is not None
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], START_TIMEOUT_S)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.kill()
            raise AssertionError(f"the broker did not start:\n{self.log()[-SHOWN_LOG_BYTES:]}")
        return line

    def stop(self) -> int:
        """Asks it to stop, waits until it has, and returns its exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: nothing is flushed, nothing is said."""
        if self.process is not None:
            self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        process, self.process = self.process, None
        assert process is not None, "it does not run"
        process.send_signal(number)
        try:
            code = process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"the broker did not stop:\n{self.log()[-SHOWN_LOG_BYTES:]}") from None
        finally:
            if process.stdout is not None:
                process.stdout.close()
        return code

    def restart(self, *, kill: bool = False) -> BrokerProcess:
        """Ends it, cleanly or not, and starts it again on the same port and data."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def pause(self) -> None:
        """Stops it in its tracks (SIGSTOP) until `resume`: alive for the kernel, silent for its clients."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def wait_for_log(self, text: str, timeout_s: float = 10.0) -> None:
        """Returns when the log has this text; a file gives no event to wait for, so it is looked at repeatedly."""
        deadline = time.monotonic() + timeout_s
        while text not in self.log():
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} did not appear in the log:\n{self.log()[-SHOWN_LOG_BYTES:]}")
            time.sleep(0.01)

    def __enter__(self) -> BrokerProcess:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.kill()
