"""Leads lives again, or new ones.

python -m tests.simulator --mode group-commit --seed 17 [--count 100]    random ones
python -m tests.simulator --mode group-commit --change 40 [--kill]       the scripted one, stopped there
"""

from __future__ import annotations

import argparse
import time

from tests.simulator.durability import Mode
from tests.simulator.faulty_life import FaultyLife
from tests.simulator.random_life import ROUNDS, RandomLife
from tests.simulator.scripted_life import ScriptedLife


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description="Leads the lives of seeds.")
    parser.add_argument("--mode", type=Mode, choices=list(Mode), default=Mode.EVERY_MESSAGE, metavar="MODE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1, help="how many, from that seed on")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"starts of each (default {ROUNDS})")
    parser.add_argument("--faults", action="store_true", help="the disk fails, and nothing crashes")
    parser.add_argument("--change", type=int, help="the scripted life, stopped at this change of the disk")
    parser.add_argument("--kill", action="store_true", help="and killed there, instead of losing power")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.change is not None:
        ScriptedLife(given.seed, given.mode, given.change, by_power=not given.kill).run()
        print(f"{given.mode.value}: stopped at change {given.change}, clean")
        return
    started = time.monotonic()
    records = 0
    for seed in range(given.seed, given.seed + given.count):
        life = (FaultyLife if given.faults else RandomLife)(seed, given.mode, given.rounds)
        life.run()
        records += life.work.records_read
    seconds = time.monotonic() - started
    print(f"{given.mode.value}: {given.count * given.rounds} rounds, {records} records read, {seconds:.1f} s, clean")


if __name__ == "__main__":
    main()
