"""Measures what a small request costs a client's network, beside a client in C that does nothing else.

    .venv/bin/python -m perf.run_client_network [--requests N] [--rounds N] [--depth N ...]

A broker answers empty fetches (about 100 bytes each way), which it does natively. In turn and several rounds they are
sent through one connection, so many in flight: by kload (perf/load/kload.c: pre-encoded, no queue, no deadlines,
nothing checked but error codes); by the NetworkClient on its thread, from requests that are submitted anew by their
`finish` as producers and fetchers do; and through the codec, by Requester. Printed are CPU time of the client a
request, medians of the rounds, and ratios to kload. CPU time is that of the process: its waiting thread sleeps.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from kcore.client.cluster_client import ClusterClient
from kcore.client.metadata.cluster import Node
from kcore.client.network.network_client import NetworkClient
from kcore.client.network.network_thread import NetworkThread
from kcore.protocol import apis, headers
from perf import frames
from perf.processes import LOOPBACK, Broker, build_load, run_load
from tests.native import build

TOPIC = "empty"
VERSION = 12


def cpu_s(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def costing(who: int, requests: int, run: Callable[[], object]) -> float:
    """Microseconds of CPU time a request."""
    before = cpu_s(who)
    run()
    return (cpu_s(who) - before) / requests * 1e6


class Clients:
    """The three ways to ask, each so often and so many at once."""

    def __init__(self, port: int, directory: Path) -> None:
        self.port = port
        self.directory = directory
        self.load = frames.fetch(TOPIC, 0, max_bytes=1024, max_wait_ms=0, min_bytes=0)
        partition = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1024}
        self.fields = {
            "replica_id": -1,
            "max_wait_ms": 0,
            "max_bytes": 1024,
            "session_epoch": -1,
            "topics": [{"topic": TOPIC, "partitions": [partition]}],
        }
        self.probe = build.load("client_probe")

    def kload(self, requests: int, depth: int) -> float:
        def run() -> object:
            return run_load(self.directory, self.port, self.load, requests=requests, depth=depth)

        return costing(resource.RUSAGE_CHILDREN, requests, run)

    def native(self, requests: int, depth: int) -> float:
        payload = headers.encode_request(apis.FETCH, VERSION, 0, "kload", self.fields)
        network = NetworkClient([(LOOPBACK, self.port)])
        thread = NetworkThread(network)
        thread.start()
        try:
            self.probe.ask(network, 0, apis.FETCH.key, VERSION, payload, depth, depth)
            return costing(
                resource.RUSAGE_SELF,
                requests,
                lambda: self.probe.ask(network, 0, apis.FETCH.key, VERSION, payload, requests, depth),
            )
        finally:
            thread.close()

    def requester(self, requests: int, depth: int) -> float:
        """Through the codec; one at a time, or as many as `request_each` sends."""
        node = Node(1, LOOPBACK, self.port)
        with ClusterClient(f"{LOOPBACK}:{self.port}") as client:
            client.request(apis.FETCH, self.fields, node)

            def run() -> None:
                if depth > 1:
                    client.request_each((node, apis.FETCH, self.fields) for _ in range(requests))
                    return
                for _ in range(requests):
                    client.request(apis.FETCH, self.fields, node)

            return costing(resource.RUSAGE_SELF, requests, run)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--depth", type=int, nargs="+", default=[1, 5, 64])
    options = parser.parse_args()
    build_load()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        broker = Broker(directory / "data")
        try:
            broker.create_topic(TOPIC)
            clients = Clients(broker.port, directory)
            for depth in options.depth:
                report(clients, options.requests, options.rounds, depth)
        finally:
            broker.stop()


def report(clients: Clients, requests: int, rounds: int, depth: int) -> None:
    costs: dict[str, list[float]] = {"kload": [], "native": [], "requester": []}
    for _ in range(rounds):
        costs["kload"].append(clients.kload(requests, depth))
        costs["native"].append(clients.native(requests, depth))
        costs["requester"].append(clients.requester(requests // 10, depth))
    floor = statistics.median(costs["kload"])
    for name, measured in costs.items():
        median = statistics.median(measured)
        print(f"depth {depth:3}  {name:10} {median:7.2f} us/request  {median / floor:5.2f} x kload")


if __name__ == "__main__":
    main()
