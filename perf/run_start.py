"""How long a broker for a test takes: from the call of `EmbeddedBroker.start` to the first ApiVersions answered.

    .venv/bin/python -m perf.run_start              # 50 brokers in a row, and the first broker of 5 processes
    .venv/bin/python -m perf.run_start --count 10 --json

The first broker of a process pays for the fork server, an interpreter that imports the broker; so it is shown
apart, each from a process of its own. Beside them, taken in turn in the same run: `kcli server-start` as a fresh
process, and a bare Python, which is the floor of what starts an interpreter.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from perf import frames
from perf.processes import Broker, exchange

ROOT = Path(__file__).resolve().parent.parent
# What is measured in a process of its own: its imports, and its first broker.
FIRST = """
import json, time
began = time.perf_counter()
from kcore.testing import EmbeddedBroker
imported = time.perf_counter()
from perf.run_start import answered_ms
print(json.dumps([(imported - began) * 1e3, answered_ms(EmbeddedBroker())]))
"""


def answered_ms(broker: object) -> float:
    """Starts a broker that was not started yet, and ends it; milliseconds to its first answer."""
    from kcore.testing import EmbeddedBroker

    assert isinstance(broker, EmbeddedBroker)
    try:
        began = time.perf_counter()
        broker.start()
        exchange(broker.port, frames.api_versions())
        return (time.perf_counter() - began) * 1e3
    finally:
        broker.close()


def first_ms() -> tuple[float, float]:
    """Import of kcore.testing, and the first broker, in a new process."""
    done = subprocess.run([sys.executable, "-c", FIRST], cwd=ROOT, check=True, capture_output=True, text=True)
    imported, first = json.loads(done.stdout)
    return imported, first


def bare_python_ms() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return (time.perf_counter() - began) * 1e3


def command_ms(directory: Path) -> float:
    """`kcli server-start` on an empty directory, from the start of its process to its first answer."""
    broker = Broker(directory)
    try:
        return broker.start_s * 1e3
    finally:
        broker.stop()


def measure(count: int, processes: int) -> dict[str, float]:
    from kcore.testing import EmbeddedBroker

    imports, firsts, bare, commands = [], [], [], []
    with tempfile.TemporaryDirectory(prefix="kcli-perf-") as directory:
        for number in range(processes):
            imported, first = first_ms()
            imports.append(imported)
            firsts.append(first)
            bare.append(bare_python_ms())
            commands.append(command_ms(Path(directory, f"start{number}")))
    answered_ms(EmbeddedBroker())
    starts = [answered_ms(EmbeddedBroker()) for _ in range(count)]
    return {
        "count": count,
        "median_ms": statistics.median(starts),
        "max_ms": max(starts),
        "first_median_ms": statistics.median(firsts),
        "first_max_ms": max(firsts),
        "import_ms": statistics.median(imports),
        "server_start_ms": statistics.median(commands),
        "bare_python_ms": statistics.median(bare),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="How long a broker for a test takes to start.")
    parser.add_argument("--count", type=int, default=50, help="brokers in a row (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=5, help="processes whose first broker is taken (default: 5)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON instead")
    arguments = parser.parse_args()
    found = measure(arguments.count, arguments.processes)
    if arguments.json:
        print(json.dumps({name: round(value, 2) for name, value in found.items()}))
        return
    bare = found["bare_python_ms"]
    for text, name in (
        (f"EmbeddedBroker, median of {arguments.count}", "median_ms"),
        ("EmbeddedBroker, the slowest of them", "max_ms"),
        (f"the first one of a process, median of {arguments.processes}", "first_median_ms"),
        ("the first one of a process, the slowest", "first_max_ms"),
        ("import kcore.testing", "import_ms"),
        ("kcli server-start as a fresh process", "server_start_ms"),
        ("a bare Python", "bare_python_ms"),
    ):
        print(f"{text:50} {found[name]:7.1f} ms  {found[name] / bare:5.2f}x")


if __name__ == "__main__":
    main()
