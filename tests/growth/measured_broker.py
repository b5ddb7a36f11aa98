"""A broker in a process of its own whose allocations can be counted (`broker_main.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

STOP_TIMEOUT_S = 60.0
# Background work of a broker in use for hours, which a soak of minutes must not wait for.
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.delete.delay.ms": "0",
    "metrics.port": "0",
    "offsets.topic.num.partitions": "4",
}
# Chunks in the caches of threads count as in use, and there may be some hundred KiB of them: without the caches
# `native_bytes` is exact.
ENVIRONMENT = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}


@dataclass(frozen=True)
class Count:
    """What the broker's process had allocated at one moment."""

    python_blocks: int
    native_bytes: int
    resident_bytes: int
    objects: dict[str, int]


class MeasuredBroker:
    """Started by `with`, on an empty directory; its log is `broker.log` in the directory."""

    def __init__(self, directory: Path, overrides: Mapping[str, str]) -> None:
        self._directory = directory
        properties = {**SETTINGS, "log.dirs": str(directory / "data"), **overrides}
        self._words = [f"{key}={value}" for key, value in properties.items()]

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "tests.growth.broker_main", *self._words]
        with open(self._directory / "broker.log", "wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, **ENVIRONMENT},
            )
        started = self._read_line()
        self.port = int(started["port"])
        self._metrics_url = str(started["metrics_url"])
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        finally:
            self._process.kill()
            self._process.wait()

    def count(self) -> Count:
        """Metrics are read before, as in any cluster that is watched: what they keep counts too."""
        urllib.request.urlopen(self._metrics_url, timeout=STOP_TIMEOUT_S).read()
        assert self._process.stdin is not None
        self._process.stdin.write("count\n")
        self._process.stdin.flush()
        return Count(**self._read_line())

    def log(self) -> str:
        return (self._directory / "broker.log").read_text(errors="replace")

    def _read_line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"the broker ended:\n{self.log()[-4000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer
