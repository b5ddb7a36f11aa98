"""`python -m tests.fuzz.requests`: fuzzes a broker with one seed after another until the time is over or for a finding.

python -m tests.fuzz.requests --seconds 60
python -m tests.fuzz.requests --seconds 60 --sanitized --python-path
python -m tests.fuzz.requests --checkout ../other --seed 17 --only 137
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz.requests.broker import Build, FuzzedBroker
from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.fuzzing import REQUESTS_OF_A_SEED, Fuzzer
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
    parser.add_argument("--no-shrink", action="store_true", help="report a finding without looking for its request")
    parser.add_argument("--keep-going", action="store_true", help="go on with the next seed after a finding")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    build = Build(given.checkout.resolve(), given.sanitized, not given.python_path)
    began = time.monotonic()
    seed, status = given.seed, 0
    while True:
        seed, clean = fuzz(given, build, seed, began)
        status = status if clean else 1
        if clean or not given.keep_going or time.monotonic() - began >= given.seconds:
            return status


def fuzz(given: argparse.Namespace, build: Build, seed: int, began: float) -> tuple[int, bool]:
    """Seeds on one broker until the time is over, or there is a finding; the next seed, and whether all was clean."""
    sent = 0
    with tempfile.TemporaryDirectory(prefix="kcli-fuzz-") as directory, FuzzedBroker(Path(directory), build) as broker:
        started = time.monotonic()
        fuzzer = Fuzzer(broker)
        try:
            while True:
                sent += fuzzer.run(seed, given.count, given.only)
                seed += 1
                if time.monotonic() - began >= given.seconds:
                    break
        except Finding as finding:
            print(f"found after {time.monotonic() - began:.1f} s", flush=True)
            if not given.no_shrink and not given.only:
                finding = shrunk(build, seed, finding)
            print(report(build, seed, finding), flush=True)
            return seed + 1, False
        finally:
            fuzzer.close()
            rate = sent / max(time.monotonic() - started, 1e-9)
            print(f"{build.name}: {sent} requests, {rate:.0f} a second, next seed {seed}", flush=True)
    return seed, True


if __name__ == "__main__":
    sys.exit(main())
