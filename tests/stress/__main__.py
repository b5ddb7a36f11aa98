"""`python -m tests.stress`: seeds of a minute or so, one after another, until the time is over or a rule is broken."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.server_command import CHECKOUT
from tests.stress.broker import Build
from tests.stress.run import stress


def arguments(module: str, description: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long in all (default 60)")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--seed-seconds", type=float, default=60.0, help="how long one seed works (default 60)")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose broker (default: this checkout's)")
    parser.add_argument("--thread-sanitizer", default="", metavar="LIBTSAN", help="the runtime it was built with")
    return parser.parse_args()


def run_seeds(module: str, description: str, run: Callable[[Path, int, float, Build], Counter[str]]) -> int:
    """Runs seeds one after another until the time is over; a broken rule is raised."""
    given = arguments(module, description)
    build = Build(given.checkout.resolve(), given.thread_sanitizer)
    began = time.monotonic()
    seed = given.seed
    while (left := given.seconds - (time.monotonic() - began)) > 0:
        with tempfile.TemporaryDirectory(prefix="kcli-stress-") as directory:
            counts = run(Path(directory), seed, min(given.seed_seconds, left), build)
        done = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        print(f"seed {seed} is clean after {time.monotonic() - began:.0f} s: {done}", flush=True)
        seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(run_seeds("tests.stress", "Stresses a broker's data plane.", stress))
