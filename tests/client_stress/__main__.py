"""`python -m tests.client_stress [--seconds N] [--seed N]`: a run a seed while there is time; see bin/stress-sanitized.

The broker is of this checkout's build and dies every few seconds; the clients are of `--checkout`'s, which may be one
with a sanitizer.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kcore.testing import EmbeddedBroker
from tests.stress.broker import Build

Output = tuple[str, str]
ROOT = Path(__file__).resolve().parents[2]
RUN_S = 30.0
# Of the program, beyond its time: what hangs is told from what is slow.
END_S = 300.0
SHOWN_BYTES = 100_000
BROKER = {
    "offsets.topic.num.partitions": 1,
    "group.initial.rebalance.delay.ms": 0,
    "log.segment.bytes": 4 << 20,
    "log.retention.bytes": 16 << 20,
    "log.retention.check.interval.ms": 1_000,
}


class Complaint(AssertionError):
    """The program did not end well, or a sanitizer found something."""


def stress(seed: int, seconds: float, build: Build) -> str:
    """What was done; Complaint says what was wrong."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as directory, EmbeddedBroker(BROKER, topics={"stress": 2}) as broker:
        findings = Path(directory, "finding")
        command = [
            sys.executable,
            "-m",
            "tests.client_stress.threads",
            broker.bootstrap_servers,
            str(seconds),
            str(seed),
        ]
        environment = {**os.environ, **build.environment(findings)}
        with subprocess.Popen(
            command, cwd=build.checkout, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as program:
            try:
                told, errors = watched(program, broker, chance, seconds + END_S)
            finally:
                program.kill()
        found = "".join(path.read_text(errors="replace") for path in sorted(Path(directory).glob("finding*")))
        if program.returncode or found:
            raise Complaint(
                f"seed {seed}: exit code {program.returncode}\n{errors[-SHOWN_BYTES:]}\n{found[:SHOWN_BYTES]}"
            )
        return told.strip()


def watched(program: subprocess.Popen[str], broker: EmbeddedBroker, chance: random.Random, limit_s: float) -> Output:
    """What the program says, whose broker is started anew meanwhile, again and again."""
    end = time.monotonic() + limit_s
    while time.monotonic() < end:
        try:
            return program.communicate(timeout=chance.uniform(0.5, 6.0))
        except subprocess.TimeoutExpired:
            broker.restart(kill=chance.random() < 0.7)
    raise Complaint(f"the program has not ended after {limit_s} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bin/stress-sanitized clients")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--checkout", type=Path, default=ROOT, help="whose clients they are")
    parser.add_argument("--thread-sanitizer", default="", metavar="LIBTSAN", help="the runtime it was built with")
    given = parser.parse_args()
    build = Build(given.checkout.resolve(), given.thread_sanitizer)
    end = time.monotonic() + given.seconds
    seed = given.seed
    while (left := end - time.monotonic()) > 0:
        try:
            print(f"seed {seed}: {stress(seed, min(RUN_S, left), build)}", flush=True)
        except Complaint as complaint:
            print(complaint, file=sys.stderr)
            return 1
        seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
