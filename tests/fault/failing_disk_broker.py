"""A broker as a process of its own, on the machine's disk behind a table of operations that fail when a test says so.

    with FailingDiskBroker([tmp_path / "a", tmp_path / "b"], {"log.flush.interval.messages": "1"}) as broker:
        broker.fail(["fdatasync"], f"{tmp_path}/b/*.log", times=1)
        ... real clients against broker.bootstrap_server ...
        broker.kill()
        broker.start()        # on the whole disk

The process is this module as a program: its arguments are the properties and the rules that its disk has from the
first, in JSON, and it answers each line of its stdin, a command in JSON, with a line on stdout; the first line says
where it serves. It dies with its stdin, so that nothing is left when the tests die. The metadata store, which no table
of operations reaches, lies in a directory of its own.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

from kcore.platform.failing_disk import FailingDisk
from kcore.platform.real_disk import RealDisk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from kcore.server.run import StartedBroker

CHECKOUT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60.0
LOOK_INTERVAL_S = 0.01
SHOWN_LOG_BYTES = 4_000


class FailingDiskBroker:
    """`directories` are its log.dirs; leaving the `with` block kills it if it still runs."""

    def __init__(self, directories: Sequence[Path], properties: Mapping[str, str]) -> None:
        from tests.broker_process import OVERRIDES

        home = directories[0].parent
        self._log_path = home / "broker.log"
        self._process: subprocess.Popen[str] | None = None
        self.properties = {
            "log.dirs": ",".join(map(str, directories)),
            "metadata.log.dir": str(home / "metadata"),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            **OVERRIDES,
            **properties,
        }
        self.bootstrap_server = ""

    @property
    def port(self) -> int:
        return int(self.bootstrap_server.rpartition(":")[2])

    # Its disk

    def fail(self, operations: Sequence[str], path: str, error: int = errno.EIO, **rule: Any) -> None:
        """From now on these operations on paths like this one fail: `FailingDisk.fail` has the rest of the rule."""
        self._command(rule_for(operations, path, error, **rule))

    def failures(self) -> int:
        """How many operations have failed so far."""
        return int(self._command(None))

    # Its life

    def start(self, *rules: Mapping[str, Any]) -> None:
        """Starts it, and returns when it serves; AssertionError with its log when it does not.

        Its disk is whole, but for `rules` (`rule_for`).
        """
        self.launch(*rules)
        self.bootstrap_server = str(self._answer()).rpartition("://")[2]

    def launch(self, *rules: Mapping[str, Any]) -> None:
        """Starts it, and does not wait for it to serve."""
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, json.dumps(self.properties), json.dumps(rules)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=CHECKOUT,
            )

    def kill(self) -> None:
        """kill -9; what the kernel has been given stays."""
        assert self._process is not None
        self._process.kill()
        self._process.communicate()

    def stop(self) -> int:
        """SIGTERM; answers its exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def wait(self) -> int:
        """Answers its exit code once it has ended."""
        assert self._process is not None
        return self._process.wait(TIMEOUT_S)

    def log(self) -> str:
        """What it has written to stderr in all of its lives."""
        return self._log_path.read_text(errors="replace")

    def wait_for_log(self, text: str) -> str:
        """The first line of the log that has this text, once there is one."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            for line in self.log().splitlines():
                if text in line:
                    return line
            assert time.monotonic() < deadline, f"{text!r} is not in the log:\n{self.log()[-SHOWN_LOG_BYTES:]}"
            time.sleep(LOOK_INTERVAL_S)

    def __enter__(self) -> FailingDiskBroker:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._process is not None:
            self.kill()

    def _command(self, command: object) -> Any:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> Any:
        assert self._process is not None
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], TIMEOUT_S)
        line = self._process.stdout.readline() if ready else ""
        assert line, f"the broker does not answer:\n{self.log()[-SHOWN_LOG_BYTES:]}"
        return json.loads(line)


def rule_for(operations: Sequence[str], path: str, error: int = errno.EIO, **rule: Any) -> dict[str, Any]:
    """A rule as the program takes it: without anything else these operations fail each time."""
    return {"operations": operations, "error": error, "path": path, "times": None, **rule}


def main(properties: Mapping[str, str], rules: Sequence[Mapping[str, Any]]) -> int:
    """The program: a broker until a signal ends it, and a thread that obeys stdin."""
    from kcore.server.run import run

    disk = FailingDisk(RealDisk())
    for rule in rules:
        add_rule(disk, rule)

    def on_started(started: StartedBroker) -> None:
        print(json.dumps(started.listeners[0]), flush=True)
        Thread(target=obey, args=(disk,), daemon=True).start()

    return run(properties, on_started=on_started, disk=disk)


def obey(disk: FailingDisk) -> None:
    """A rule for the disk a line, or null to ask how many operations have failed; the end of stdin ends the process."""
    for line in sys.stdin:
        rule = json.loads(line)
        if rule is not None:
            add_rule(disk, rule)
        print(disk.injected, flush=True)
    os._exit(1)


def add_rule(disk: FailingDisk, rule: Mapping[str, Any]) -> None:
    rest = dict(rule)
    disk.fail(rest.pop("operations"), rest.pop("error"), **rest)


if __name__ == "__main__":
    exit_code = main(json.loads(sys.argv[1]), json.loads(sys.argv[2]))
    sys.stderr.flush()
    # An interpreter that ends in good order would wait for the thread that reads stdin.
    os._exit(exit_code)
