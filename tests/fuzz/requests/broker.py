"""The broker under test: a process of the release build or the sanitizer build, and what can be measured of it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.server_command import CHECKOUT, ServerCommand

# A finding of a sanitizer ends the process, with what it found in the log.
SANITIZER_OPTIONS = "quarantine_size_mb=64:max_allocation_size_mb=1000:halt_on_error=1"
STOP_TIMEOUT_S = 60.0
SHOWN_BYTES = 6_000
BAD_LINE = re.compile(rb"\] (?:ERROR|FATAL) \[|Traceback \(most recent|runtime error:|AddressSanitizer")
OVERRIDES = {
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.check.interval.ms": "1000",
    "num.network.threads": "2",
    "num.io.threads": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1000000",
}
# Retention at its own time on each of two brokers would make their logs differ.
KEEPING = {"log.initial.task.delay.ms": "86400000", "log.retention.check.interval.ms": "86400000"}


@dataclass(frozen=True)
class Build:
    """Whose broker is started, with or without sanitizers, and on which path: the native, the Python path or both."""

    checkout: Path = CHECKOUT
    sanitized: bool = False
    native: bool = True
    both_paths: bool = False

    @property
    def name(self) -> str:
        path = "both paths" if self.both_paths else "native path" if self.native else "Python path"
        return f"{'address' if self.sanitized else 'release'}, {path}"

    @property
    def is_instrumented(self) -> bool:
        """Whether sanitizers are in the broker: by bin/sanitized, in which the whole test may run."""
        return self.sanitized or os.environ.get("KCORE_SANITIZE") == "address"

    @property
    def patience_s(self) -> float:
        """How long an answer may take on a busy machine."""
        return 120.0 if self.is_instrumented else 60.0

    @property
    def options(self) -> list[str]:
        """The command line options that choose this build."""
        chosen = [] if self.checkout == CHECKOUT else ["--checkout", str(self.checkout)]
        flags = {"--sanitized": self.sanitized, "--python-path": not self.native, "--both-paths": self.both_paths}
        return [*chosen, *(flag for flag, is_set in flags.items() if is_set)]


class FuzzedBroker:
    """Started at once; leaving the `with` block kills it."""

    def __init__(self, directory: Path, build: Build) -> None:
        self.build = build
        overrides = {**OVERRIDES, "kcli.fast.path.enable": str(build.native).lower()}
        if build.both_paths:
            overrides |= KEEPING
        launcher = [str(build.checkout / "bin" / "sanitized")] if build.sanitized else []
        if launcher:
            # Compiles what changed, which takes longer than a broker may take to start.
            subprocess.run([*launcher, "true"], check=True)
        environment = {"KCORE_ASAN_OPTIONS": SANITIZER_OPTIONS} if build.sanitized else {}
        self.data = directory / "data"
        self.server = ServerCommand(
            self.data,
            {**os.environ, **environment},
            arguments=[word for key, value in overrides.items() for word in ("--override", f"{key}={value}")],
            checkout=build.checkout,
            launcher=launcher,
        )
        self.port = self.server.port
        self.log_path = self.data.with_name(self.data.name + ".log")
        self.log_read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.__exit__()

    @property
    def is_running(self) -> bool:
        if self.server.process.poll() is not None:
            return False
        try:
            return b") Z " not in Path(f"/proc/{self.server.pid}/stat").read_bytes()
        except FileNotFoundError:
            return False

    def has_ended(self, within_s: float) -> bool:
        """Whether it ends in this time: a crash is seen at its connections first."""
        try:
            self.server.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def stop(self) -> str:
        """Ends it in good order; what is wrong with its end, or an empty text. UBSan's findings come with the end."""
        os.kill(self.server.pid, signal.SIGTERM)
        try:
            code = self.server.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return f"the broker did not stop within {STOP_TIMEOUT_S:.0f} s after SIGTERM"
        if code != 0:
            return f"the broker ended with code {code} after SIGTERM: {self.log_end()}"
        return complaint(self.new_log())

    def death(self) -> str:
        """How it ended."""
        code = self.server.process.wait(STOP_TIMEOUT_S)
        return f"the broker ended with code {code}: {self.log_end()}"

    def log_end(self) -> str:
        return self.server.log()[-SHOWN_BYTES:]

    def new_log(self) -> bytes:
        """What was logged since the last call."""
        with self.log_path.open("rb") as log:
            log.seek(self.log_read)
            content = log.read()
        self.log_read += len(content)
        return content

    def resident_bytes(self) -> int:
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.server.pid}/status").read_text())
        assert found is not None
        return int(found[1]) * 1024

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.server.pid}/fd"))


def complaint(log: bytes) -> str:
    """The first error of a piece of log with what follows; an empty text when there is none."""
    found = BAD_LINE.search(log)
    if found is None:
        return ""
    start = log.rfind(b"\n", 0, found.start()) + 1
    return log[start : start + SHOWN_BYTES].decode(errors="replace")
