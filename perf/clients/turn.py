"""A turn: one contender doing one thing once, in a process of its own; what is asked of it, and what it came to."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCE, CONSUME, LATENCY = "produce", "consume", "latency"
TURN_TIMEOUT_S = 300.0
BATCH_BYTES = 131_072
FETCH_BYTES = 1 << 20
SHOWN_ERROR = 300


@dataclass(frozen=True)
class Task:
    """`records` of `size` bytes; latency: so many, one after the other, `rate` a second."""

    kind: str
    client: str
    way: str
    server: str
    topic: str
    size: int
    records: int
    rate: float = 0.0


@dataclass
class Result:
    """CPU is the contender's own, of all its threads, without its start. Latencies in ms."""

    records: int = 0
    elapsed_s: float = 0.0
    cpu_s: float = 0.0
    latency_ms: dict[str, float] = field(default_factory=dict)
    error: str | None = None

    @property
    def records_per_s(self) -> float:
        return self.records / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def cpu_s_per_million(self) -> float:
        return self.cpu_s / self.records * 1e6 if self.records else 0.0


def in_child(task: Task) -> Result:
    """Runs a client of Python, whose imports and start are not measured."""
    command = [sys.executable, "-m", "perf.clients.child", json.dumps(asdict(task))]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TURN_TIMEOUT_S, cwd=ROOT, check=False)
    except subprocess.TimeoutExpired:
        return Result(error=f"not done in {TURN_TIMEOUT_S:.0f} s")
    if done.returncode != 0:
        return Result(error=last_line(done.stderr) or f"ended with {done.returncode}")
    values: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Result(**values)


def last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:SHOWN_ERROR] if lines else ""


def value_of(size: int) -> bytes:
    """The same value for all: letters, which do not compress to nothing."""
    return (bytes(range(65, 91)) * (size // 26 + 1))[:size]
