"""Measures the broker's data plane against the least that the machine asks for the same bytes.

    .venv/bin/python perf/run_dataplane.py [--rounds N] [--volume MB] [--only PART...] [--json FILE]

A C load generator with pre-encoded requests (perf/load/kload.c) drives, in turn and several rounds, the broker and a C
program that only receives, checksums and writes, or sends with sendfile (perf/load/floor.c). Figures are medians of the
rounds; what counts are the ratios, which hold on a machine that others use too. Everything runs on 127.0.0.1, and every
run is bounded in requests and time. The broker runs with its default configuration: LogValidator's rules are on.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perf import frames
from perf.frames import Load
from perf.processes import Broker, Floor, build_load, cpu_seconds, resident_bytes, run_load, warm_pages

BATCH_SIZES = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1024 << 10]
RECORD_SIZES = [100, 1024]
CONNECTIONS = [1, 10, 100]
# Requests in flight: enough to keep the server busy, few enough to stay in the cache.
DEPTH = {4 << 10: 32, 16 << 10: 16, 64 << 10: 8, 256 << 10: 4, 1024 << 10: 2}
GB = 1e9


@contextmanager
def running_broker(directory: Path, **overrides: str) -> Iterator[Broker]:
    broker = Broker(directory, {name.replace("_", "."): value for name, value in overrides.items()})
    try:
        yield broker
    finally:
        broker.stop()


@contextmanager
def running_floor(*arguments: str | Path) -> Iterator[Floor]:
    floor = Floor(*arguments)
    try:
        yield floor
    finally:
        floor.stop()


def cpu_per_gb(directory: Path, server: Broker | Floor, load: Load, size: int, requests: int, **options: int) -> float:
    """CPU seconds of the server for each GB of record batches that the load moved."""
    before = cpu_seconds(server.pid)
    run_load(directory, server.port, load, requests=requests, depth=DEPTH[size], seconds=300, **options)
    return (cpu_seconds(server.pid) - before) / (requests * size / GB)


def measure_round(directory: Path, broker: Broker, size: int, volume: int, topic: str) -> dict[str, float]:
    """One batch size: produce and fetch, floor and broker in turn, over equal bytes."""
    requests = max(1, volume // size)
    batch, records = frames.batch_of_size(size, int(time.time() * 1000))
    produce = frames.produce(topic, 0, batch)
    fetch = frames.fetch(topic, 0, max_bytes=size)
    taken = {}
    broker.create_topic(topic)
    floor_file = directory / "floor.data"
    warm_pages(directory, volume)
    with running_floor("produce", floor_file) as floor:
        taken["produce_floor"] = cpu_per_gb(directory, floor, Load(produce.frame), size, requests)
    with running_floor("fetch", floor_file, str(size)) as floor:
        taken["fetch_floor"] = cpu_per_gb(directory, floor, Load(fetch.frame), size, requests)
    floor_file.unlink()
    warm_pages(directory, volume)
    taken["produce"] = cpu_per_gb(directory, broker, produce, size, requests)
    walk = {"offset_start": 0, "offset_step": records, "offset_end": requests * records}
    taken["fetch"] = cpu_per_gb(directory, broker, fetch, size, requests, **walk)
    broker.delete_topic(topic)
    return taken


def measure_batches(directory: Path, rounds: int, volume: int) -> dict[str, Any]:
    """CPU per GB for every batch size, against the floor of the same round."""
    found: dict[str, Any] = {}
    with running_broker(directory / "batches", log_segment_delete_delay_ms="0") as broker:
        for size in BATCH_SIZES:
            taken = [measure_round(directory, broker, size, volume, f"b{size}-{number}") for number in range(rounds)]
            median = {name: statistics.median(one[name] for one in taken) for name in taken[0]}
            for kind in ("produce", "fetch"):
                median[f"{kind}_ratio"] = statistics.median(one[kind] / one[f"{kind}_floor"] for one in taken)
            found[str(size)] = median
            print(
                f"{size >> 10:5d} KiB   produce {median['produce']:.3f} / {median['produce_floor']:.3f} CPU s/GB"
                f" = {median['produce_ratio']:.2f}x   fetch {median['fetch']:.3f} / {median['fetch_floor']:.3f}"
                f" = {median['fetch_ratio']:.2f}x",
                flush=True,
            )
    return found


def measure_requests(directory: Path, rounds: int, requests: int) -> dict[str, Any]:
    """Requests of one record, one in flight on each connection, as a ratio to the floor's and with latencies."""
    found: dict[str, Any] = {}
    with running_broker(directory / "requests", log_segment_delete_delay_ms="0") as broker:
        for size in RECORD_SIZES:
            batch = frames.batch([bytes(size)], int(time.time() * 1000))
            broker.create_topic(f"r{size}")
            produce = frames.produce(f"r{size}", 0, batch)
            fetch = frames.fetch(f"r{size}", 0, max_bytes=len(batch))
            # The floor's fetch reads the file that its produce has written.
            floor_file = str(directory / "floor.data")
            for connections in CONNECTIONS:
                options = {"requests": requests, "connections": connections, "seconds": 120}
                for kind, load, arguments in (
                    ("produce", produce, ["produce", floor_file]),
                    ("fetch", fetch, ["fetch", floor_file, str(len(batch))]),
                ):
                    taken = [rate_round(directory, broker, load, arguments, options) for _ in range(rounds)]
                    found[f"{kind} {size} B x {connections}"] = median = median_report(taken)
                    print(
                        f"{kind:8s}{size:5d} B {connections:4d} connections  "
                        f"{median['requests_per_s']:9.0f} requests/s ({median['ratio']:.2f} of the floor)  "
                        f"p50 {median['p50']:.0f} us  p99 {median['p99']:.0f} us",
                        flush=True,
                    )
    return found


def rate_round(
    directory: Path, broker: Broker, load: Load, floor_arguments: list[str], options: dict[str, int]
) -> dict[str, Any]:
    """The same requests to the floor and to the broker."""
    with running_floor(*floor_arguments) as floor:
        least = run_load(directory, floor.port, Load(load.frame), **options)
    report = run_load(directory, broker.port, load, **options)
    report["ratio"] = report["requests_per_s"] / least["requests_per_s"]
    return report


def median_report(reports: list[dict[str, Any]]) -> dict[str, float]:
    median = {name: statistics.median(one[name] for one in reports) for name in ("requests_per_s", "ratio")}
    for name in ("p50", "p99", "p999"):
        median[name] = statistics.median(one["latency_us"][name] for one in reports)
    return median


def measure_start(directory: Path, rounds: int) -> dict[str, float]:
    """From the start of the process to the first answered request, on an empty directory; against a bare Python."""
    starts, bare = [], []
    for number in range(max(rounds, 5)):
        began = time.monotonic()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(time.monotonic() - began)
        with running_broker(directory / f"start{number}") as broker:
            starts.append(broker.start_s)
    found = {"start_s": statistics.median(starts), "bare_python_s": statistics.median(bare)}
    print(
        f"start to first answer {found['start_s'] * 1e3:.0f} ms (a bare Python: {found['bare_python_s'] * 1e3:.0f} ms)"
    )
    return found


def measure_memory(directory: Path, volume: int) -> dict[str, float]:
    """Resident memory: idle, and after a volume was produced and fetched."""
    size = 64 << 10
    requests = volume // size
    batch, records = frames.batch_of_size(size, int(time.time() * 1000))
    with running_broker(directory / "memory") as broker:
        broker.create_topic("memory")
        idle = resident_bytes(broker.pid)
        options = {"requests": requests, "depth": 8, "seconds": 300}
        run_load(directory, broker.port, frames.produce("memory", 0, batch), **options)
        walk = {"offset_start": 0, "offset_step": records, "offset_end": requests * records}
        run_load(directory, broker.port, frames.fetch("memory", 0, max_bytes=size), **options, **walk)
        after = resident_bytes(broker.pid)
    print(f"resident {idle / 1e6:.1f} MB idle, {after / 1e6:.1f} MB after {volume / GB:.2f} GB there and back")
    return {"idle_bytes": idle, "after_bytes": after, "volume_bytes": volume}


def machine() -> dict[str, Any]:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return {"cpu": cpu, "cores": os.cpu_count(), "kernel": platform.release(), "python": platform.python_version()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the data plane against a floor in C.")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take medians of (default 3)")
    parser.add_argument(
        "--volume", type=int, default=1000, metavar="MB", help="for each batch size and round (default 1000)"
    )
    parser.add_argument("--requests", type=int, default=50_000, help="for each rate and round (default 50000)")
    parser.add_argument("--only", nargs="+", choices=["batches", "requests", "start", "memory"], help="not everything")
    parser.add_argument(
        "--directory", type=Path, help="where the files lie meanwhile (default: the temporary directory)"
    )
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    given = parser.parse_args()
    build_load()
    parts = given.only or ["start", "memory", "requests", "batches"]
    found: dict[str, Any] = {"machine": machine()}
    with tempfile.TemporaryDirectory(prefix="kcli-perf-", dir=given.directory) as name:
        directory = Path(name)
        if "start" in parts:
            found["start"] = measure_start(directory, given.rounds)
        if "memory" in parts:
            found["memory"] = measure_memory(directory, given.volume * 1_000_000)
        if "requests" in parts:
            found["requests"] = measure_requests(directory, given.rounds, given.requests)
        if "batches" in parts:
            found["batches"] = measure_batches(directory, given.rounds, given.volume * 1_000_000)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
