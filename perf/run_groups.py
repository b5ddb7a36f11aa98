"""What very many groups cost: the CPU of their heartbeats, and how fast their members commit; beside Apache Kafka.

    .venv/bin/python -m perf.run_groups [--groups N] [--members N] [--heartbeats SECONDS] [--commits SECONDS]
        [--committers N...] [--only ours kafka] [--json FILE]

1,000 groups of 5 members, each with a connection of its own, all played by perf/group_crowd.py: its own share of a core
is reported too. First all of them send a heartbeat every three seconds, and the broker's CPU time is taken over that
(asked for: under 20 % of one core). Then 1, 10 and 100 members at once commit five partitions each, again as soon as
they are answered, while the heartbeats go on.

Both brokers are measured one after the other in the same run, by the same client, in the configuration of one broker
alone. Apache Kafka is warmed up by a round that is not counted: a JVM compiles what it runs often.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from perf.group_crowd import PARTITIONS_A_COMMIT
from perf.processes import ROOT, Broker
from tests.apache_kafka import ApacheKafka
from tests.raw_client import RawClient

TOPIC = "committed"
# Members of a group come together in one rebalance, which waits for those that follow within this time.
PROPERTIES = {"group.initial.rebalance.delay.ms": "1000", "offsets.topic.num.partitions": "50"}
JAVA_OPTIONS = ("-Xms1G", "-Xmx1G")


@contextmanager
def ours(directory: Path) -> Iterator[tuple[int, int]]:
    """Port and process id."""
    broker = Broker(directory / "ours", PROPERTIES)
    try:
        yield broker.port, broker.pid
    finally:
        broker.stop()


@contextmanager
def kafka(directory: Path) -> Iterator[tuple[int, int]]:
    with ApacheKafka("3.9", directory / "kafka", PROPERTIES, java_options=JAVA_OPTIONS) as broker:
        yield broker.port, broker.pid


BROKERS = {"ours": ours, "kafka": kafka}


def crowd(
    port: int, pid: int, prefix: str, arguments: argparse.Namespace, heartbeats: float, commits: float
) -> dict[str, Any]:
    command = [
        sys.executable,
        "-m",
        "perf.group_crowd",
        str(port),
        "--pid",
        str(pid),
        "--topic",
        TOPIC,
        "--prefix",
        prefix,
    ]
    command += ["--groups", str(arguments.groups), "--members", str(arguments.members)]
    command += ["--heartbeats", str(heartbeats), "--commits", str(commits)]
    command += ["--committers", *map(str, arguments.committers)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def measure(name: str, arguments: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="kcli-groups-") as directory, BROKERS[name](Path(directory)) as (port, pid):
        with RawClient(port) as client:
            client.create_topic(TOPIC, PARTITIONS_A_COMMIT)
        if name == "kafka":
            crowd(port, pid, "warm-up", arguments, arguments.warm_up, arguments.warm_up)
        return crowd(port, pid, "measured", arguments, arguments.heartbeats, arguments.commits)


def show(name: str, report: dict[str, Any]) -> None:
    print(f"{name}: {report['members']:,} members in {report['gathered_in_s']:.1f} s")
    for part, figures in report.items():
        if isinstance(figures, dict):
            print(
                f"  {part}: {figures['per_second']:,.0f} a second, p50 {figures['p50_ms']:.2f} ms, "
                f"p99 {figures['p99_ms']:.2f} ms; of a core {100 * figures['broker_core_share']:.1f} % "
                f"(client {100 * figures['client_core_share']:.1f} %); errors {figures['errors'] or 'none'}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--heartbeats", type=float, default=60.0)
    parser.add_argument("--commits", type=float, default=15.0)
    parser.add_argument("--warm-up", type=float, default=20.0)
    parser.add_argument("--committers", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--only", nargs="+", choices=BROKERS, default=list(BROKERS))
    parser.add_argument("--json", type=Path, help="where to leave the results")
    arguments = parser.parse_args()
    results = {}
    for name in arguments.only:
        results[name] = measure(name, arguments)
        show(name, results[name])
    if len(results) == len(BROKERS):
        for part, figures in results["ours"].items():
            if isinstance(figures, dict):
                other = results["kafka"][part]
                print(
                    f"{part}: {figures['per_second'] / other['per_second']:.2f}x the rate of Apache Kafka, "
                    f"{figures['broker_core_share'] / other['broker_core_share']:.2f}x its CPU"
                )
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
