"""Measures clients side by side in one run, by turns: `python -m perf.clients [--quick]`; perf/README.md has more."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from perf.clients import java, native
from perf.clients.plan import ALL_CLIENTS, FULL, JAVA, NATIVE, QUICK, Contender, Plan
from perf.clients.report import Key, Report
from perf.clients.servers import Server, started
from perf.clients.turn import CONSUME, LATENCY, PRODUCE, Result, Task, in_child
from perf.processes import build_load, warm_pages

LATENCY_SIZE = 100


def run_turn(task: Task) -> Result:
    if task.client == JAVA:
        return java.run(task)
    return native.run(task) if task.client == NATIVE else in_child(task)


class Run:
    """Every round has every size, server and kind; within these the contenders take turns."""

    def __init__(self, plan: Plan, servers: list[Server]) -> None:
        self._plan = plan
        self._servers = servers
        self._filled: dict[tuple[str, int], str] = {}

    def turns(self) -> Iterator[tuple[Key, Result]]:
        for number in range(self._plan.rounds):
            for size in self._plan.sizes:
                for server in self._servers:
                    yield from self._of_kind(PRODUCE, number, server, size)
                    yield from self._of_kind(CONSUME, number, server, size)
            for server in self._servers:
                yield from self._of_kind(LATENCY, number, server, LATENCY_SIZE)

    def _of_kind(self, kind: str, number: int, server: Server, size: int) -> Iterator[tuple[Key, Result]]:
        for contender in self._plan.contenders(kind, number):
            key = Key(server.name, kind, size, contender.name)
            result = self._turn(contender, server, size)
            figures = f"{result.records_per_s:,.0f} records/s, {result.cpu_s_per_million:.2f} CPU s a million"
            where = f"round {number + 1}: {server.name}, {kind} {size} B, {contender.name}"
            print(f"{where}: {result.error or figures}", file=sys.stderr)
            yield key, result

    def _turn(self, contender: Contender, server: Server, size: int) -> Result:
        plan = self._plan
        identity = (contender.kind, contender.client, contender.way, server.address)
        if contender.kind == LATENCY:
            topic = server.new_topic()
            result = run_turn(Task(*identity, topic, size, plan.latency_records, plan.latency_rate))
            server.delete(topic)
            return result
        records = plan.records_of(contender, size)
        if contender.kind == CONSUME:
            return run_turn(Task(*identity, self._topic_to_read(server, size), size, records))
        topic = server.new_topic()
        warm_pages(server.directory, records * (size + 12))
        result = run_turn(Task(*identity, topic, size, records))
        server.delete(topic)
        return result

    def _topic_to_read(self, server: Server, size: int) -> str:
        """Filled when it is first read."""
        if (server.name, size) not in self._filled:
            self._filled[server.name, size] = server.filled_topic(size, self._plan.stored_records(size))
        return self._filled[server.name, size]


def parse() -> tuple[Plan, argparse.Namespace]:
    parser = argparse.ArgumentParser(prog="python -m perf.clients", description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--quick", action="store_true", help="our broker, two sizes, one round: two or three minutes")
    parser.add_argument("--servers", nargs="+", metavar="SERVER", help="kcli, or versions of Apache Kafka")
    parser.add_argument("--clients", nargs="+", choices=ALL_CLIENTS, help="only these")
    parser.add_argument("--sizes", nargs="+", type=int, metavar="BYTES", help="of a value")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--records", type=int, help="that a client of middling speed sends or reads in a turn")
    parser.add_argument("--directory", type=Path, help="where the brokers put their data")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything to this file too")
    options = parser.parse_args()
    given = {
        name: getattr(options, name)
        for name in ("servers", "clients", "sizes", "rounds", "records")
        if getattr(options, name) is not None
    }
    return (QUICK if options.quick else FULL)._replace(**given), options


def main() -> int:
    plan, options = parse()
    build_load()
    with (
        tempfile.TemporaryDirectory(dir=options.directory, prefix="perf-clients-") as name,
        started(plan.servers, Path(name)) as servers,
    ):
        report = Report(Run(plan, servers).turns())
    document = {"plan": plan._asdict(), "load_average": os.getloadavg(), **report.as_json()}
    if options.json is not None:
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    if options.output == "json":
        print(json.dumps(document))
    else:
        report.show(Console(width=max(Console().width, 150)))
    return 1 if any(found.errors for found in report.medians.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
