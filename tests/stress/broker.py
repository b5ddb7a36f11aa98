"""The broker under stress: its own process, of this checkout's build or of one with ThreadSanitizer."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.server_command import CHECKOUT, ServerCommand

STOP_TIMEOUT_S = 120.0
SHOWN_BYTES = 6_000


@dataclass(frozen=True)
class Build:
    """Which broker is started. `thread_sanitizer` is the path of its runtime, for a checkout built with it."""

    checkout: Path = CHECKOUT
    thread_sanitizer: str = ""

    @property
    def patience_s(self) -> float:
        """How long an answer may take: a stall is told from work on a busy machine."""
        return 240.0 if self.thread_sanitizer else 60.0

    def environment(self, findings: Path) -> dict[str, str]:
        """CPython itself is not instrumented: its locks are seen, and nothing of it has to be suppressed."""
        if not self.thread_sanitizer:
            return {}
        options = {
            "log_path": findings,
            "history_size": 6,
            "second_deadlock_stack": 1,
            # A finding must not be mistaken for the broker's own exit code.
            "exitcode": 0,
        }
        return {
            "LD_PRELOAD": self.thread_sanitizer,
            "PYTHONMALLOC": "malloc",
            "PYTHONPATH": str(self.checkout),
            "TSAN_OPTIONS": ":".join(f"{key}={value}" for key, value in options.items()),
        }


def broker_overrides(source: random.Random) -> dict[str, str]:
    """What the broker is started with, other each time: the bounds are small, so that they are met."""
    return {
        "metrics.port": "0",
        "auto.create.topics.enable": "false",
        "kcli.fast.path.enable": source.choice(("true", "true", "true", "true", "false")),
        "kcli.log.max.open.segments": source.choice(("0", "3", "8")),
        "kcli.request.log.queue.size": "100",
        "num.network.threads": source.choice(("1", "2", "3", "4")),
        "num.io.threads": source.choice(("2", "4")),
        "queued.max.requests": source.choice(("2", "500")),
        "queued.max.request.bytes": source.choice(("-1", "-1", "2000000")),
        "socket.request.max.bytes": "2000000",
        "connections.max.idle.ms": source.choice(("500", "600000")),
        "max.incremental.fetch.session.cache.slots": source.choice(("4", "1000", "1000")),
        "log.flush.group.commit": source.choice(("false", "false", "true")),
        "log.flush.scheduler.interval.ms": "300",
        "log.flush.interval.ms": source.choice(("100", "60000")),
        "log.segment.bytes": source.choice(("500000", "2000000")),
        "log.index.interval.bytes": source.choice(("0", "1000", "4096")),
        "log.initial.task.delay.ms": "100",
        "log.retention.check.interval.ms": "250",
        "log.segment.delete.delay.ms": source.choice(("0", "200")),
        "log.flush.offset.checkpoint.interval.ms": "300",
        "log.flush.start.offset.checkpoint.interval.ms": "300",
        "replica.high.watermark.checkpoint.interval.ms": "300",
        "quota.window.num": "3",
        "fetch.purgatory.purge.interval.requests": source.choice(("1", "1000")),
    }


class StressedBroker:
    """Started on a directory, stopped by SIGTERM, started again on the same one."""

    def __init__(self, directory: Path, build: Build, overrides: dict[str, str]) -> None:
        self.directory = directory
        self.build = build
        self.arguments = [word for key, value in overrides.items() for word in ("--override", f"{key}={value}")]
        self.start()

    def start(self) -> None:
        environment = {**os.environ, **self.build.environment(self.directory / "finding")}
        self.server = ServerCommand(
            self.directory / "data", environment, arguments=self.arguments, checkout=self.build.checkout
        )
        self.port = self.server.port
        self.metrics_port = int(re.findall(r"Metrics are served at http://[^:]+:(\d+)", self.server.log())[-1])

    def stop(self) -> None:
        """Ends it in good order."""
        self.server.process.send_signal(signal.SIGTERM)
        try:
            code = self.server.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the broker did not stop:\n{self.server.log()[-SHOWN_BYTES:]}") from None
        if code != 0:
            raise AssertionError(f"the broker ended with code {code}:\n{self.server.log()[-SHOWN_BYTES:]}")

    def kill(self) -> None:
        self.server.__exit__()

    @property
    def is_running(self) -> bool:
        return self.server.process.poll() is None

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.server.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) * 1024

    def complaints(self) -> Iterator[str]:
        """What no stress should bring about: errors in its log, and what ThreadSanitizer found."""
        log = self.server.log()
        yield from (line for line in log.splitlines() if re.search(r"\] (ERROR|FATAL) \[|Traceback|^\w*Error: ", line))
        for path in sorted(self.directory.glob("finding*")):
            yield path.read_text(errors="replace")
