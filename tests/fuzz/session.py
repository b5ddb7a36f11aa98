"""Drives a worker in the sanitizer build: starts it, gives it seeds, and tells a finding, a death and a hang.

An input that found something is kept as `.cache/fuzz/<target>-<seed>.bin`, ready to be made smaller and to go into
tests/fuzz/corpus with its mending.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.fuzz.worker import read_input

ROOT = Path(__file__).resolve().parents[2]
FINDINGS = ROOT / ".cache" / "fuzz"
# A build may have to come first; a seed is done in a second or two.
START_TIMEOUT_S = 3600
SEED_TIMEOUT_S = 300
LARGEST_ALLOCATION_MB = 300
SHOWN_CHARACTERS = 3000


class FuzzError(Exception):
    """A case that was not handled as it must be: what happened, and where the input is."""


class Session:
    """One worker for one target, made when it is first needed and again after it has died."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.process: subprocess.Popen[str] | None = None
        self.build = "unknown"

    def run(self, seed: int) -> int:
        """How many cases were run; FuzzError for a finding."""
        process = self.process or self.start()
        assert process.stdin is not None
        try:
            process.stdin.write(f"{seed}\n")
            process.stdin.flush()
        except BrokenPipeError:
            pass  # the silence that follows says the same
        answer = self.answer(SEED_TIMEOUT_S)
        if answer is None:
            raise self.failed(seed, self.end(), read_input(self.input_path))
        if "error" in answer:
            raise self.failed(seed, str(answer["error"]), bytes.fromhex(str(answer["input"])))
        return int(answer["cases"])

    def start(self) -> subprocess.Popen[str]:
        # Gone with the session, or when the next worker is started.
        self.temporary = tempfile.TemporaryDirectory(prefix="kcli-fuzz-", ignore_cleanup_errors=True)
        directory = Path(self.temporary.name)
        self.input_path = directory / "input"
        self.log = (directory / "log").open("w+", errors="replace")
        options = f"max_allocation_size_mb={LARGEST_ALLOCATION_MB}:quarantine_size_mb=16"
        # A test of the campaigns takes the build that it runs in.
        through = [] if os.environ.get("KCLI_FUZZ_BUILD") == "here" else [ROOT / "bin" / "sanitized"]
        self.process = subprocess.Popen(
            [*through, sys.executable, "-m", "tests.fuzz.worker", self.target, self.input_path],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env={**os.environ, "KCORE_ASAN_OPTIONS": options},
            start_new_session=True,
        )
        answer = self.answer(START_TIMEOUT_S)
        if answer is None:
            raise FuzzError(f"the worker did not start: {self.end()}")
        self.build = str(answer["build"])
        return self.process

    def answer(self, timeout_s: float) -> dict[str, Any] | None:
        """The worker's next line; None when it died or hangs."""
        assert self.process is not None
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout_s)
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line else None

    def end(self) -> str:
        """Ends the worker; what it had to say."""
        assert self.process is not None
        try:
            status = f"it ended with status {self.process.wait(10)}"
        except subprocess.TimeoutExpired:
            status = "it hung"
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None
        self.log.seek(0)
        return f"{status}\n{self.log.read()[-SHOWN_CHARACTERS:]}"

    def failed(self, seed: int, what: str, data: bytes) -> FuzzError:
        FINDINGS.mkdir(parents=True, exist_ok=True)
        path = FINDINGS / f"{self.target}-{seed}.bin"
        path.write_bytes(data)
        return FuzzError(f"{self.target}, input kept in {path.relative_to(ROOT)}: {what}")

    def close(self) -> None:
        """Lets the worker end: it has no more input."""
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()
            self.process = None


_SESSIONS: dict[str, Session] = {}


def session(target: str) -> Session:
    """The one worker of a target in this process."""
    if target not in _SESSIONS:
        import atexit

        _SESSIONS[target] = Session(target)
        atexit.register(_SESSIONS[target].close)
    return _SESSIONS[target]
