"""Brokers that live through several seeds of a campaign; a finding ends them and is shrunk."""

from __future__ import annotations

import atexit
from contextlib import ExitStack

from tests.fuzz.requests.arena import Runner, arena
from tests.fuzz.requests.broker import Build
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.shrinking import report, shrunk


class Session:
    """The brokers of one build, started with the first seed."""

    def __init__(self, build: Build) -> None:
        self.build = build
        self.stack = ExitStack()
        self.runner: Runner | None = None

    def run(self, seed: int, *, is_last: bool) -> int:
        """The number of requests sent; Finding with a report of its requests."""
        if self.runner is None:
            self.runner = self.stack.enter_context(arena(self.build))
        try:
            sent = self.runner.run(seed)
            if is_last:
                self.runner.finish()
        except Finding as finding:
            self.close()
            raise Finding(report(self.build, seed, shrunk(self.build, seed, finding))) from None
        if is_last:
            self.close()
        return sent

    def close(self) -> None:
        self.runner = None
        self.stack.close()


_SESSIONS: dict[Build, Session] = {}


def run_seed(build: Build, seed: int, *, is_last: bool) -> int:
    """Runs a seed on the build's brokers; another build's are ended before."""
    for other, session in _SESSIONS.items():
        if other != build:
            session.close()
    if build not in _SESSIONS:
        _SESSIONS[build] = Session(build)
        atexit.register(_SESSIONS[build].close)
    return _SESSIONS[build].run(seed, is_last=is_last)
