"""`python -m tests.fuzz.requests`: fuzzes a broker with one seed after another until the time is over or for a finding.

python -m tests.fuzz.requests --seconds 60
python -m tests.fuzz.requests --seconds 60 --sanitized --python-path
python -m tests.fuzz.requests --checkout ../other --seed 17 --only 137
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.requests.arena import arena
from tests.fuzz.requests.broker import Build
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.fuzzing import REQUESTS_OF_A_SEED
from tests.fuzz.requests.shrinking import report, shrunk
from tests.server_command import CHECKOUT


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.requests", description="Fuzzes a running broker.")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--seconds", type=float, default=0.0, help="how long (default: one seed)")
    parser.add_argument("--count", type=int, default=REQUESTS_OF_A_SEED, help="requests of a seed")
    parser.add_argument("--only", type=int, nargs="+", metavar="INDEX", help="only these requests of the seed")
    parser.add_argument("--checkout", type=Path, default=CHECKOUT, help="whose broker (default: this checkout's)")
    parser.add_argument("--sanitized", action="store_true", help="the build with AddressSanitizer and UBSan")
    parser.add_argument("--python-path", action="store_true", help="without the native path of Produce and Fetch")
    parser.add_argument("--both-paths", action="store_true", help="compare the native path with the Python path")
    parser.add_argument("--no-shrink", action="store_true", help="report a finding without looking for its request")
    parser.add_argument("--keep-going", action="store_true", help="go on with the next seed after a finding")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    build = Build(given.checkout.resolve(), given.sanitized, not given.python_path, given.both_paths)
    seed, spent_s, status = given.seed, 0.0, 0
    while True:
        seed, lasted_s, found = fuzz(given, build, seed, given.seconds - spent_s)
        spent_s += lasted_s
        if found is None:
            return status
        status = 1
        if not given.no_shrink and not given.only:
            found = shrunk(build, seed, found)
        print(report(build, seed, found), flush=True)
        seed += 1
        if not given.keep_going or spent_s >= given.seconds:
            return status


def fuzz(given: argparse.Namespace, build: Build, seed: int, seconds: float) -> tuple[int, float, Finding | None]:
    """Seeds on one arena until the time is over or a finding; the next seed or that of the finding, and the time."""
    sent, found = 0, None
    with arena(build) as runner:
        started = time.monotonic()
        try:
            while True:
                sent += runner.run(seed, given.count, given.only)
                seed += 1
                if time.monotonic() - started >= seconds:
                    break
            runner.finish()
        except Finding as finding:
            found = finding
        lasted_s = time.monotonic() - started
    print(f"{build.name}: {sent} requests in {lasted_s:.1f} s, {sent / lasted_s:.0f} a second", flush=True)
    return seed, lasted_s, found


if __name__ == "__main__":
    sys.exit(main())
