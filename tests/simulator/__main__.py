"""Leads lives again, or new ones: `python -m tests.simulator --mode group-commit --seed 17 [--count 100]`."""

from __future__ import annotations

import argparse
import time

from tests.simulator.durability import Mode
from tests.simulator.life import ROUNDS, Life


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description="Leads the lives of seeds.")
    parser.add_argument("--mode", type=Mode, choices=list(Mode), default=Mode.EVERY_MESSAGE, metavar="MODE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="how many, from that seed on")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"starts of each (default {ROUNDS})")
    given = parser.parse_args()
    started = time.monotonic()
    records = 0
    for seed in range(given.seed, given.seed + given.count):
        life = Life(seed, given.mode, given.rounds)
        life.run()
        records += life.records_read
    seconds = time.monotonic() - started
    print(f"{given.mode.value}: {given.count * given.rounds} rounds, {records} records read, {seconds:.1f} s, clean")


if __name__ == "__main__":
    main()
