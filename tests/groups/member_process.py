"""A member of a group as a process that can be killed and stopped; it speaks `members/line_protocol.py`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.groups.members.line_protocol import Settings

ROOT = Path(__file__).resolve().parent.parent.parent
END_TIMEOUT_S = 30.0
SHOWN_OUTPUT_BYTES = 4_000
JAVA_SOURCE = Path(__file__).with_name("members") / "java" / "GroupMember.java"
# Small and quick to start: there may be many at once.
JAVA_OPTIONS = (
    *("-Xmx64m", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
)


def python_program(name: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"tests.groups.members.{name}")


def programs(classes: Path) -> dict[str, tuple[str, ...]]:
    """The command line of each client's member; Java's is compiled into `classes`."""
    return {
        "confluent-kafka": python_program("confluent_member"),
        "kafka-python": python_program("kafka_python_member"),
        "aiokafka": python_program("aiokafka_member"),
        "java": java_program(classes),
    }


def java_program(classes: Path) -> tuple[str, ...]:
    jars = subprocess.run(
        [ROOT / "bin/kafka-jars", "3.9"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    compiled = ["javac", "-nowarn", "-d", str(classes), "-cp", jars, str(JAVA_SOURCE)]
    subprocess.run(compiled, check=True, stderr=subprocess.PIPE)
    return ("java", *JAVA_OPTIONS, "-cp", f"{classes}:{jars}", "GroupMember")


class MemberProcess:
    """`on_event` is called on a thread of this member's own, in the order of events."""

    def __init__(
        self,
        command: Sequence[str],
        settings: Settings,
        errors: Path,
        on_event: Callable[[str, dict[str, Any]], None],
    ) -> None:
        self.client_id = settings.client_id
        self.errors = errors
        self._on_event = on_event
        self._is_ready = threading.Event()
        self._has_heard = threading.Event()
        with errors.open("ab") as stderr:
            # A player that is killed takes its members with it.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", *command, json.dumps(settings._asdict())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                cwd=ROOT,
            )
        self._reader = threading.Thread(target=self._read, name=f"member-{self.client_id}", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if not line.endswith("\n"):
                break  # killed while it wrote
            event = json.loads(line)
            if event["event"] == "ready":
                self._is_ready.set()
            elif event["event"] == "heard":
                self._has_heard.set()
            else:
                self._on_event(self.client_id, event)
        self._is_ready.set()
        self._has_heard.set()

    def wait_until_ready(self, timeout_s: float) -> None:
        assert self._is_ready.wait(timeout_s), f"{self.client_id} did not start"
        assert self.process.poll() is None, f"{self.client_id} did not start:\n{self.output()}"

    def tell(self, **command: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def let_commit(self, on: bool) -> None:
        """Returns when it has taken effect."""
        self._has_heard.clear()
        self.tell(do="commit", on=on)
        assert self._has_heard.wait(END_TIMEOUT_S), f"{self.client_id} does not listen"

    def stop(self) -> None:
        """SIGSTOP, and it has stopped when this returns."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def wait(self) -> None:
        """Until it has ended by itself, and everything that it told was heard."""
        code = self.process.wait(END_TIMEOUT_S)
        self._reader.join()
        assert code == 0, f"{self.client_id} ended with {code}:\n{self.output()}"

    def kill(self) -> None:
        """kill -9; everything that it told before was heard when this returns."""
        self.process.kill()
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def output(self) -> str:
        return self.errors.read_text(errors="replace")[-SHOWN_OUTPUT_BYTES:]
