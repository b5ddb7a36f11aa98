"""Measures what a durable acknowledgement costs, alone and in company.

    .venv/bin/python -m perf.run_group_commit [--rounds N] [--seconds S] [--directory DIR] [--json FILE]

Producers of one record of 100 bytes, one request in flight on each of 1, 8 and 64 connections, against a broker that
does not flush before it answers, one with log.flush.interval.messages=1 (Kafka's way to a durable ack: each append has
its own fdatasync) and one with log.flush.group.commit=true (one for all that wait). The brokers are measured in turn,
several rounds; figures are medians, and what counts are the ratios. The directory should lie on a disk: tmpfs syncs for
nothing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from perf import frames
from perf.processes import Broker, build_load, run_load

CONNECTIONS = [1, 8, 64]
RECORD_BYTES = 100
BROKERS = {
    "no flush": {},
    "flush.messages=1": {"log.flush.interval.messages": "1"},
    "group commit": {"log.flush.group.commit": "true"},
}
TOPIC = "durable"
PROBE_REQUESTS = 200


def acks_per_second(directory: Path, broker: Broker, connections: int, seconds: float) -> float:
    """Measured over about `seconds`, after a short run that says how many requests those are."""
    load = frames.produce(TOPIC, 0, frames.batch([b"x" * RECORD_BYTES], int(time.time() * 1000)))
    requests = PROBE_REQUESTS
    for _ in range(2):
        started = time.monotonic()
        run_load(directory, broker.port, load, requests=requests, connections=connections, seconds=300)
        rate = requests / (time.monotonic() - started)
        requests = max(PROBE_REQUESTS, int(rate * seconds))
    return rate


def measure(directory: Path, rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    brokers = {name: Broker(directory / name.replace(" ", "-"), settings) for name, settings in BROKERS.items()}
    taken: dict[tuple[str, int], list[float]] = {}
    try:
        for broker in brokers.values():
            broker.create_topic(TOPIC)
        for _ in range(rounds):
            for connections in CONNECTIONS:
                for name, broker in brokers.items():
                    rate = acks_per_second(directory, broker, connections, seconds)
                    taken.setdefault((name, connections), []).append(rate)
    finally:
        for broker in brokers.values():
            broker.stop()
    return {
        name: {str(connections): statistics.median(taken[name, connections]) for connections in CONNECTIONS}
        for name in BROKERS
    }


def show(figures: dict[str, dict[str, float]]) -> None:
    print(f"{'acks/s':20}" + "".join(f"{connections:>12}" for connections in CONNECTIONS) + "   producers")
    for name, rates in figures.items():
        print(f"{name:20}" + "".join(f"{rates[str(connections)]:12,.0f}" for connections in CONNECTIONS))
    for other in ("flush.messages=1", "no flush"):
        ratios = [figures["group commit"][str(count)] / figures[other][str(count)] for count in CONNECTIONS]
        print(f"{'group / ' + other:20}" + "".join(f"{ratio:12.2f}" for ratio in ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--directory", type=Path, default=None, help="on the disk to be measured")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    build_load()
    with tempfile.TemporaryDirectory(prefix="kcli-group-commit-", dir=options.directory) as name:
        figures: dict[str, Any] = measure(Path(name), options.rounds, options.seconds)
    show(figures)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
