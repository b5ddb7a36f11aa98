"""Spark's reading and writing of topics, by turns in one session of `local[2]`, before a broker of ours.

    .venv/bin/python -m perf.spark                         # 100 B and 1 KiB, five rounds
    .venv/bin/python -m perf.spark --quick                 # whether it runs: a round of a few megabytes
    .venv/bin/python -m perf.spark --only read write --json perf/spark.json

Every round takes each way once. Printed are medians, and the median of the rounds' ratios to Spark's own connector with
the same step. `arrow-rows` hands out the same rows from memory: no source of Python can be faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from kcore.client.producer import Producer
from kcore.testing.embedded_broker import EmbeddedBroker
from kspark.session import close_session, open_session
from perf.spark.arrow_source import FORMAT as ARROW
from perf.spark.arrow_source import ArrowRows
from perf.spark.rows import PARTITIONS, Rows, rows_of
from perf.spark.ways import (
    CONNECTOR,
    NO_STEP,
    OURS,
    SOURCES,
    STEP,
    micro_batch_ms,
    read_batch,
    read_stream,
    write_batch,
)
from tests.spark.connector import connector_settings

SIZES = (100, 1024)
PARTS = ("read", "stream", "write", "latency", "start")
LATENCY_TOPIC = "latency"
# (part, size) and the way; seconds a round.
Seconds = dict[tuple[str, int], dict[str, list[float]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--megabytes", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    megabytes, rounds = (8, 1) if given.quick else (given.megabytes, given.rounds)
    with tempfile.TemporaryDirectory(prefix="kcli-perf-spark-", dir="/dev/shm") as name, EmbeddedBroker() as broker:
        result = measured(broker, Path(name), given.only, megabytes, rounds)
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


def measured(
    broker: EmbeddedBroker, directory: Path, parts: list[str], megabytes: int, rounds: int
) -> dict[str, object]:
    servers = broker.bootstrap_servers
    for size in SIZES:
        broker.create_topic(f"rows-{size}", partitions=PARTITIONS)
    broker.create_topic(LATENCY_TOPIC, partitions=1)
    settings = {"spark.driver.memory": "2g", "spark.ui.showConsoleProgress": "false", **connector_settings()}
    result: dict[str, object] = {}
    if "start" in parts:
        with Producer(bootstrap_servers=servers) as producer:
            producer.send(LATENCY_TOPIC, b"first").result()
        result["cold start, s"] = told_starts(servers, settings, rounds)
    if set(parts) == {"start"}:
        return result
    spark = open_session("perf", "local[2]", settings)
    try:
        spark.dataSource.register(ArrowRows)
        sizes = [rows_of(servers, size, megabytes, directory) for size in SIZES]
        seconds = rounds_of(turns(spark, broker, sizes, parts), rounds)
        result["rates"] = told_rates(seconds, {rows.size: rows for rows in sizes})
        if "latency" in parts:
            result["micro-batch, ms"] = told_latency(spark, servers, 10 * rounds)
    finally:
        close_session(spark)
    return result


def turns(
    spark: SparkSession, broker: EmbeddedBroker, sizes: list[Rows], parts: list[str]
) -> dict[tuple[str, int, str], Callable[[], float]]:
    """Every way of every part at every size, in the order in which a round takes them."""
    servers = broker.bootstrap_servers
    found: dict[tuple[str, int, str], Callable[[], float]] = {}
    for rows in sizes:
        for step in (STEP, NO_STEP):
            for source in SOURCES:
                way = f"{source}, {step}"
                if "read" in parts:
                    found["read", rows.size, way] = _turn(read_batch, spark, source, servers, rows, step)
                if "stream" in parts and source != ARROW:
                    found["stream", rows.size, way] = _turn(read_stream, spark, source, servers, rows, step)
        for sink in (OURS, CONNECTOR) if "write" in parts else ():
            topic = f"written-{rows.size}-{sink}"
            broker.create_topic(topic, partitions=PARTITIONS)
            found["write", rows.size, f"{sink}, {NO_STEP}"] = _turn(write_batch, spark, sink, servers, rows, topic)
    return found


def _turn(way: Callable[..., float], *arguments: object) -> Callable[[], float]:
    return lambda: way(*arguments)


def rounds_of(ways: dict[tuple[str, int, str], Callable[[], float]], rounds: int) -> Seconds:
    """After a turn of each that does not count: the JVM compiles, and workers are made."""
    seconds: Seconds = {}
    for round_number in range(rounds + 1):
        for (part, size, way), turn in ways.items():
            elapsed = turn()
            if round_number:
                seconds.setdefault((part, size), {}).setdefault(way, []).append(elapsed)
    return seconds


def told_rates(seconds: Seconds, rows: dict[int, Rows]) -> list[dict[str, object]]:
    print(f"{'part':8} {'size':>6}  {'way':24} {'rows/s':>12} {'MB/s':>8} {'ratio':>7}")
    told: list[dict[str, object]] = []
    for (part, size), ways in seconds.items():
        for way, elapsed in ways.items():
            base = ways[f"{CONNECTOR}, {way.partition(', ')[2]}"]
            ratio = statistics.median(other / own for own, other in zip(elapsed, base, strict=True))
            middle = statistics.median(elapsed)
            rate, megabytes = rows[size].records / middle, rows[size].megabytes / middle
            print(f"{part:8} {size:6}  {way:24} {rate:12,.0f} {megabytes:8.1f} {ratio:6.2f}x")
            told.append({"part": part, "size": size, "way": way, "rows/s": rate, "MB/s": megabytes, "ratio": ratio})
    return told


def told_latency(spark: SparkSession, servers: str, batches: int) -> dict[str, dict[str, float]]:
    told = {}
    with Producer(bootstrap_servers=servers) as producer:

        def send() -> None:
            for _ in range(10):
                producer.send(LATENCY_TOPIC, b"x" * 100)
            producer.flush()

        for source in (OURS, CONNECTOR):
            taken = micro_batch_ms(spark, source, servers, LATENCY_TOPIC, send, batches)
            told[source] = {"median": statistics.median(taken), "slowest": max(taken), "batches": len(taken)}
            print(
                f"micro-batch, {source}: {told[source]['median']:.0f} ms, the slowest of {len(taken)} {max(taken):.0f}"
            )
    return told


def told_starts(servers: str, settings: dict[str, str], rounds: int) -> dict[str, float]:
    words = [f"{key}={value}" for key, value in settings.items()]
    told = {}
    taken: dict[str, list[float]] = {OURS: [], CONNECTOR: []}
    for _ in range(rounds):
        for source, seconds in taken.items():
            began = time.perf_counter()
            command = [sys.executable, "-m", "perf.spark.cold_start", source, servers, LATENCY_TOPIC, *words]
            subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - began)
    for source, seconds in taken.items():
        told[source] = statistics.median(seconds)
        print(f"cold start to the first row, {source}: {told[source]:.1f} s")
    return told


if __name__ == "__main__":
    main()
