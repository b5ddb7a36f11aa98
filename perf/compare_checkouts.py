"""What a change costs: CPU time per small request of the brokers of two checkouts, measured in turn.

    .venv/bin/python perf/compare_checkouts.py BASE CHANGED [--rounds N] [--requests N]

Each checkout, with its extensions built, runs in processes of its own, first the one and then the other, next time the
other way round. CPU time is what the kernel's scheduler accounts to the broker's threads, which other work on the
machine disturbs less than rates. What counts is the median of the rounds' ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Connections and requests in flight on each: one that waits for every answer, several of those, a pipelining few.
LOADS = [(1, 1), (10, 1), (10, 16)]
WARM_UP = 2000


def scheduled_seconds(pid: int) -> float:
    """CPU time of all threads of a process, in nanoseconds of resolution."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


def measure(requests: int) -> dict[str, float]:
    """Microseconds of CPU for each request, of the checkout that this process runs in."""
    from perf import frames
    from perf.processes import Broker, build_load, run_load

    build_load()
    found = {}
    with tempfile.TemporaryDirectory(prefix="kcli-perf-") as name:
        broker = Broker(Path(name) / "data")
        try:
            batch = frames.batch([bytes(100)], int(time.time() * 1000))
            broker.create_topic("small")
            kinds = {
                "produce": frames.produce("small", 0, batch),
                "fetch": frames.fetch("small", 0, max_bytes=len(batch)),
            }
            for kind, load in kinds.items():
                for connections, depth in LOADS:
                    options = {"connections": connections, "depth": depth, "seconds": 300}
                    run_load(Path(name), broker.port, load, requests=WARM_UP, **options)
                    before = scheduled_seconds(broker.pid)
                    run_load(Path(name), broker.port, load, requests=requests, **options)
                    used = scheduled_seconds(broker.pid) - before
                    found[f"{kind} {connections} x {depth}"] = used / requests * 1e6
        finally:
            broker.stop()
    return found


def measure_in(checkout: Path, requests: int) -> dict[str, float]:
    """This file's `measure`, with everything else from a checkout."""
    script = f"import runpy, json; m = runpy.run_path({__file__!r}); print(json.dumps(m['measure']({requests})))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    taken: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description="Compares CPU per request of two checkouts.")
    parser.add_argument("base", type=Path)
    parser.add_argument("changed", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=60_000, help="for each load and round (default 60000)")
    given = parser.parse_args()
    checkouts = [given.base.resolve(), given.changed.resolve()]
    taken: list[list[dict[str, float]]] = [[], []]
    for number in range(given.rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            taken[which].append(measure_in(checkouts[which], given.requests))
    for load in taken[0][0]:
        base, changed = (statistics.median(one[load] for one in rounds) for rounds in taken)
        ratio = statistics.median(new[load] / old[load] for old, new in zip(*taken, strict=True))
        print(f"{load:16s}  {base:6.2f} -> {changed:6.2f} us of CPU a request   {ratio:.3f}x", flush=True)


if __name__ == "__main__":
    main()
