"""Latency of small produce requests on many connections: our broker beside Apache Kafka, on two cores and on one.

    .venv/bin/python -m perf.run_latency [--rounds N] [--seconds S] [--connections N...] [--cores N...]
        [--rate N] [--kafka VERSION] [--base CHECKOUT] [--only NAME...] [--override NAME=VALUE...] [--json FILE]

perf/load/kload sends pre-encoded requests of one record of 100 B with acks=1, one in flight on each connection. By
default it is a closed loop: a connection sends its next request when it has its answer. With --rate the requests are
sent at fixed times, and latency counts from those times.

All contenders run at once, with default configurations, and take turns under load: each turn warms a contender up with
the same load and then measures it. The next round takes them in reverse order. The contenders are our broker (kcli),
Apache Kafka (kafka; with the heap and the collector of its own start script), another checkout (base, with --base) and
perf/load/floor, which answers without looking at the requests. The floor's latency is that of the load generator and
of the machine; what a broker has beyond it is its own.

Brokers and load generator share the cores: --cores 1 pins all of them to the first processor. A figure is the median of
the rounds. CPU is the broker's time for each request.
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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perf import frames
from perf.frames import Load
from perf.processes import ROOT, Broker, Floor, build_load, cpu_seconds, exchange, run_load
from tests.apache_kafka import ApacheKafka

TOPIC = "latency"
RECORD_BYTES = 100
KCLI, KAFKA, BASE, FLOOR = "kcli", "kafka", "base", "floor"
# The heap of bin/kafka-server-start.sh, and the collector of bin/kafka-run-class.sh in place of bin/kafka-run's.
KAFKA_HEAP = ("-Xms1G", "-Xmx1G")
KAFKA_COLLECTOR = (
    "-server -XX:-UseSerialGC -XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35 "
    "-XX:+ExplicitGCInvokesConcurrent"
)
WARM_UP_S = 2
# A JVM compiles what it runs often: before the first round it gets this much of every load.
KAFKA_WARM_UP_S = 5
TOPIC_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Contender:
    name: str
    port: int
    pid: int


@contextmanager
def our_broker(name: str, checkout: Path, directory: Path, overrides: dict[str, str]) -> Iterator[Contender]:
    broker = Broker(directory / name, overrides, checkout=checkout)
    try:
        yield Contender(name, broker.port, broker.pid)
    finally:
        broker.stop()


@contextmanager
def apache_kafka(version: str, directory: Path) -> Iterator[Contender]:
    with ApacheKafka(version, directory / KAFKA, java_options=KAFKA_HEAP) as broker:
        yield Contender(KAFKA, broker.port, broker.pid)


@contextmanager
def floor(directory: Path) -> Iterator[Contender]:
    server = Floor("produce", directory / "floor.data")
    try:
        yield Contender(FLOOR, server.port, server.pid)
    finally:
        server.stop()


@contextmanager
def running(arguments: argparse.Namespace, directory: Path) -> Iterator[list[Contender]]:
    """All contenders at once."""
    overrides = dict(item.split("=", 1) for item in arguments.override)
    starts = {
        KCLI: lambda: our_broker(KCLI, ROOT, directory, overrides),
        BASE: lambda: our_broker(BASE, arguments.base.resolve(), directory, {}),
        KAFKA: lambda: apache_kafka(arguments.kafka, directory),
        FLOOR: lambda: floor(directory),
    }
    with ExitStack() as stack:
        yield [stack.enter_context(starts[name]()) for name in arguments.only]


def create_topic(port: int) -> None:
    """Returns when partition 0 of the topic has a leader."""
    probe = frames.fetch(TOPIC, 0, max_bytes=1024, max_wait_ms=0)
    deadline = time.monotonic() + TOPIC_TIMEOUT_S
    while time.monotonic() < deadline:
        exchange(port, frames.create_topic(TOPIC))
        answer = exchange(port, probe.frame)
        if all(answer[position - 4 : position - 2] == b"\0\0" for position in probe.error_positions):
            return
        time.sleep(0.05)
    raise RuntimeError(f"topic {TOPIC} was not created in {TOPIC_TIMEOUT_S:.0f} s")


def run(directory: Path, contender: Contender, load: Load, seconds: int, options: dict[str, int]) -> dict[str, Any]:
    sent = Load(load.frame) if contender.name == FLOOR else load
    return run_load(directory, contender.port, sent, **options, **{"for": seconds})


def measure(
    directory: Path, contender: Contender, load: Load, seconds: int, options: dict[str, int]
) -> dict[str, float]:
    """One turn: the warm-up, then what counts."""
    run(directory, contender, load, WARM_UP_S, options)
    before = cpu_seconds(contender.pid)
    report = run(directory, contender, load, seconds, options)
    used = cpu_seconds(contender.pid) - before
    latency = report["latency_us"]
    return {
        "requests_per_s": report["requests_per_s"],
        **{name: latency[name] for name in ("p50", "p99", "p999", "max")},
        "cpu_us": used / report["requests"] * 1e6,
    }


def options_of(connections: int, rate: int | None) -> dict[str, int]:
    return {"connections": connections} if rate is None else {"connections": connections, "rate": rate}


def measure_on(cores: int, arguments: argparse.Namespace) -> dict[str, dict[str, dict[str, float]]]:
    """Medians by number of connections and contender, with everything on the first `cores` processors."""
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, processors[:cores])
    taken: dict[str, dict[str, list[dict[str, float]]]] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="kcli-perf-") as name:
            directory = Path(name)
            load = frames.produce(TOPIC, 0, frames.batch([bytes(RECORD_BYTES)], int(time.time() * 1000)))
            with running(arguments, directory) as contenders:
                for contender in contenders:
                    if contender.name != FLOOR:
                        create_topic(contender.port)
                    if contender.name == KAFKA:
                        for connections in arguments.connections:
                            run(directory, contender, load, KAFKA_WARM_UP_S, options_of(connections, arguments.rate))
                for number in range(arguments.rounds):
                    for connections in arguments.connections:
                        options = options_of(connections, arguments.rate)
                        for contender in contenders if number % 2 == 0 else reversed(contenders):
                            figures = measure(directory, contender, load, arguments.seconds, options)
                            taken.setdefault(str(connections), {}).setdefault(contender.name, []).append(figures)
                            print(
                                f"round {number + 1}: {line(cores, connections, contender.name, figures)}",
                                file=sys.stderr,
                            )
    finally:
        os.sched_setaffinity(0, processors)
    found = {
        connections: {name: median(turns) for name, turns in of_contenders.items()}
        for connections, of_contenders in taken.items()
    }
    show(cores, found)
    return found


def median(turns: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(turn[name] for turn in turns) for name in turns[0]}


def show(cores: int, found: dict[str, dict[str, dict[str, float]]]) -> None:
    for connections, of_contenders in found.items():
        for name, figures in of_contenders.items():
            print(line(cores, int(connections), name, figures), flush=True)


def line(cores: int, connections: int, name: str, figures: dict[str, float]) -> str:
    p50, p99, p999 = (figures[quantile] / 1e3 for quantile in ("p50", "p99", "p999"))
    return (
        f"{cores} cores {connections:5d} connections {name:6s} {figures['requests_per_s']:9,.0f} requests/s  "
        f"p50 {p50:7.2f}  p99 {p99:7.2f}  p99.9 {p999:7.2f} ms  {figures['cpu_us']:6.1f} us of CPU a request"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Latency of small produce requests beside Apache Kafka.")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take medians of (default 3)")
    parser.add_argument("--seconds", type=int, default=3, help="of each turn (default 3)")
    parser.add_argument("--connections", type=int, nargs="+", default=[10, 100, 1000], metavar="N")
    parser.add_argument("--cores", type=int, nargs="+", default=[2, 1], metavar="N")
    parser.add_argument("--rate", type=int, metavar="N", help="requests a second in all (default: a closed loop)")
    parser.add_argument("--kafka", default="4", metavar="VERSION", help="of Apache Kafka (default 4: its newest)")
    parser.add_argument("--base", type=Path, metavar="CHECKOUT", help="another checkout, with its extensions built")
    parser.add_argument("--only", nargs="+", choices=[KCLI, KAFKA, BASE, FLOOR], help="these contenders")
    parser.add_argument("--override", nargs="+", default=[], metavar="NAME=VALUE", help="for kcli's broker")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    given = parser.parse_args()
    given.only = given.only or [KCLI, KAFKA, FLOOR, *([BASE] if given.base else [])]
    if BASE in given.only and given.base is None:
        parser.error("base needs --base CHECKOUT")
    build_load()
    os.environ["KAFKA_OPTS"] = KAFKA_COLLECTOR
    subprocess.run([ROOT / "bin" / "kafka-jars", given.kafka], check=True, stdout=subprocess.DEVNULL, stderr=sys.stderr)
    found = {str(cores): measure_on(cores, given) for cores in given.cores}
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
