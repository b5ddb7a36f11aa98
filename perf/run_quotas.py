"""Shows that quotas hold the rate that is configured: three clients on produce, on fetch, and on request time.

    .venv/bin/python -m perf.run_quotas [--seconds N] [--warm-up N] [--only PART...] [--bootstrap-server HOST:PORT]

- produce: three confluent producers under a quota for each client id, which write as fast as they are let;
- fetch: three confluent consumers under one quota of their user, which they share. What was stored for them has one
  record a batch: a fetch ends where its bytes do, in the midst of a batch, which Kafka's consumers throw away and fetch
  again. With batches of 300 KB, in fetches of 500 KB, four tenths of what the broker sends are lost to them so;
- request: three connections that ask for the metadata of a large topic without a pause, under a percentage of a
  thread's time for each; their time is read off the broker's own LocalTimeMs and ResponseSendTimeMs, which are counted
  apart from quotas. What requests cost the network threads before that is charged too, and not seen here.

A quota lets ten seconds' worth through at once after silence, so nothing is counted before the warm-up is over.
Apache Kafka lets it through again when that is forgotten eleven seconds later, so less than a minute of it says
little. Reported are the rate over the measured time, its ratio to the quota, and what clients were told of throttling:
librdkafka's throttle events, and `throttle_time_ms` in the answers. With --bootstrap-server another broker is
measured, without `request`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from kcore.client.admin.admin import Admin
from kcore.client.admin.client_quotas import QuotaChange
from kcore.client.admin.topics import NewTopic
from kcore.client.cluster_client import ClusterClient
from kcore.protocol import apis
from perf.processes import Broker, free_port
from tests.raw_client import RawClient

CLIENTS = 3
PARTS = ("produce", "fetch", "request")
TOPIC = "quotas"
LARGE_TOPIC = "described"
LARGE_TOPIC_PARTITIONS = 1_000
VALUE = b"x" * 10_000
PRODUCE_RATE = 2_000_000
FETCH_RATE = 6_000_000
REQUEST_PERCENT = 2.0
# What a quota lets through at once after silence.
BURST_S = 10
ANSWER_S = 60.0
USED_TIMES = (
    "kafka_network_requestmetrics_localtimems_sum",
    "kafka_network_requestmetrics_responsesendtimems_sum",
)


class Tally:
    """What one client was given, and what it was told of throttling, while `counts` is set."""

    def __init__(self) -> None:
        self.amount = 0
        self.throttled = 0
        self.throttle_ms = 0.0
        self.counts = threading.Event()

    def add(self, amount: int) -> None:
        if self.counts.is_set():
            self.amount += amount

    def note_throttle(self, milliseconds: float) -> None:
        if milliseconds > 0 and self.counts.is_set():
            self.throttled += 1
            self.throttle_ms += milliseconds

    def report(self, seconds: float) -> dict[str, float]:
        return {
            "rate": self.amount / seconds,
            "throttled": self.throttled,
            "mean_throttle_ms": self.throttle_ms / self.throttled if self.throttled else 0.0,
        }


Client = Callable[[int, Tally, threading.Event], None]


def run_clients(client: Client, warm_up_s: float, seconds: float) -> tuple[list[Tally], float]:
    """Three clients at once; what they were given after the warm-up, and in how many seconds."""
    tallies = [Tally() for _ in range(CLIENTS)]
    stop = threading.Event()
    failures: list[BaseException] = []

    def run(number: int) -> None:
        try:
            client(number, tallies[number], stop)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(warm_up_s)
    began = time.monotonic()
    for tally in tallies:
        tally.counts.set()
    time.sleep(seconds)
    for tally in tallies:
        tally.counts.clear()
    took = time.monotonic() - began
    stop.set()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return tallies, took


@contextmanager
def quotas(server: str, entity: Mapping[str, str | None], **values: float) -> Iterator[None]:
    """In force for as long as the block runs."""
    with ClusterClient(server) as network:
        [error] = Admin.over(network).alter_client_quotas([QuotaChange(entity, values)])
        assert error is None, error
    try:
        yield
    finally:
        with ClusterClient(server) as network:
            Admin.over(network).alter_client_quotas([QuotaChange(entity, dict.fromkeys(values))])


def settings(server: str, part: str, number: int, tally: Tally) -> dict[str, Any]:
    return {
        "bootstrap.servers": server,
        "client.id": f"{part}-{number}",
        "throttle_cb": lambda event: tally.note_throttle(event.throttle_time * 1000),
    }


def produce(server: str, arguments: argparse.Namespace) -> dict[str, Any]:
    def client(number: int, tally: Tally, stop: threading.Event) -> None:
        def delivered(error: object, message: Any) -> None:
            # What is still on its way at the end is given up.
            assert error is None or stop.is_set(), error
            if error is None:
                tally.add(len(message.value()))

        producer = Producer(
            {**settings(server, "produce", number, tally), "queue.buffering.max.messages": 500, "batch.size": 100_000}
        )
        while not stop.is_set():
            try:
                producer.produce(TOPIC, VALUE, partition=number, on_delivery=delivered)
                producer.poll(0)
            except BufferError:
                producer.poll(0.05)
        producer.purge()
        producer.flush(ANSWER_S)

    with quotas(server, {"client-id": None}, producer_byte_rate=PRODUCE_RATE):
        tallies, took = run_clients(client, arguments.warm_up, arguments.seconds)
    return summary("bytes a second", PRODUCE_RATE, [tally.report(took) for tally in tallies])


def fill(server: str, stored_bytes: float) -> None:
    """Something to read, of which consumers need not throw anything away."""
    producer = Producer({"bootstrap.servers": server, "batch.num.messages": 1})
    for number in range(CLIENTS):
        for _ in range(int(stored_bytes) // CLIENTS // len(VALUE)):
            while True:
                try:
                    producer.produce(TOPIC, VALUE, partition=number)
                    break
                except BufferError:
                    producer.poll(0.05)
        assert producer.flush(ANSWER_S) == 0


def fetch(server: str, arguments: argparse.Namespace) -> dict[str, Any]:
    # Half as much again as they may have: nobody comes to the end, where a consumer waits for more.
    fill(server, 1.5 * FETCH_RATE * (BURST_S + arguments.warm_up + arguments.seconds))

    def client(number: int, tally: Tally, stop: threading.Event) -> None:
        consumer = Consumer(
            {
                **settings(server, "fetch", number, tally),
                "group.id": "quotas",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                # Nothing but the quota is to hold it up: a full queue would stop it for a second.
                "fetch.queue.backoff.ms": 10,
                "fetch.message.max.bytes": 500_000,
            }
        )
        consumer.assign([TopicPartition(TOPIC, number, OFFSET_BEGINNING)])
        while not stop.is_set():
            for message in consumer.consume(100, 0.05):
                assert message.error() is None, message.error()
                tally.add(len(message.value()))
        consumer.close()

    with quotas(server, {"user": None}, consumer_byte_rate=FETCH_RATE):
        tallies, took = run_clients(client, arguments.warm_up, arguments.seconds)
    reports = [tally.report(took) for tally in tallies]
    # One user's: the three share it.
    together = summary("bytes a second", FETCH_RATE / CLIENTS, reports)
    return together | {"quota": FETCH_RATE, "ratio": sum(report["rate"] for report in reports) / FETCH_RATE}


def request(server: str, arguments: argparse.Namespace, metrics_port: int) -> dict[str, Any]:
    host, _, port = server.rpartition(":")

    def client(number: int, tally: Tally, stop: threading.Event) -> None:
        with RawClient(int(port), host, client_id=f"request-{number}") as connection:
            while not stop.is_set():
                answer = connection.request(apis.METADATA, 12, {"topics": [{"name": LARGE_TOPIC}]})
                tally.add(1)
                tally.note_throttle(answer.throttle_time_ms)

    with ClusterClient(server) as network:
        Admin.over(network).create_topics([NewTopic(LARGE_TOPIC, LARGE_TOPIC_PARTITIONS)])
    spent: list[float] = []

    def watch(number: int, tally: Tally, stop: threading.Event) -> None:
        if number == 0:
            watcher = threading.Thread(target=watch_time, args=(metrics_port, tally, spent))
            watcher.start()
            client(number, tally, stop)
            watcher.join()
        else:
            client(number, tally, stop)

    with quotas(server, {"client-id": None}, request_percentage=REQUEST_PERCENT):
        tallies, took = run_clients(watch, arguments.warm_up, arguments.seconds)
    reports = [tally.report(took) for tally in tallies]
    percent = spent[0]
    return {
        "unit": "percent of a thread's time, of all three",
        "quota": REQUEST_PERCENT * CLIENTS,
        "used_percent": percent,
        "ratio": percent / (REQUEST_PERCENT * CLIENTS),
        "requests_a_second": sum(report["rate"] for report in reports),
        "clients": reports,
    }


def watch_time(metrics_port: int, tally: Tally, spent: list[float]) -> None:
    """Percent of a thread's time that requests took while the tally counts; nobody else is there."""
    tally.counts.wait()
    before_ms, began = used_ms(metrics_port), time.monotonic()
    while tally.counts.is_set():
        time.sleep(0.01)
    # Milliseconds a second, in percent.
    spent.append((used_ms(metrics_port) - before_ms) / (time.monotonic() - began) / 10)


def used_ms(metrics_port: int) -> float:
    return sum(sum(samples(metrics_port, name)) for name in USED_TIMES)


def samples(metrics_port: int, name: str) -> list[float]:
    """The values of a metric, one for each of its label sets."""
    with urllib.request.urlopen(f"http://127.0.0.1:{metrics_port}/metrics", timeout=ANSWER_S) as answer:
        text = answer.read().decode()
    return [float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(f"{name}{{")]


def summary(unit: str, quota: float, reports: list[dict[str, float]]) -> dict[str, Any]:
    worst = max((report["rate"] / quota for report in reports), key=lambda ratio: abs(ratio - 1))
    return {"unit": unit, "quota": quota, "ratio": worst, "clients": reports}


def show(part: str, result: Mapping[str, Any]) -> None:
    print(f"{part}: quota {result['quota']:g} {result['unit']}, ratio {result['ratio']:.3f}", flush=True)
    for number, report in enumerate(result["clients"]):
        print(
            f"  client {number}: {report['rate']:,.0f} a second, throttled {report['throttled']} times, "
            f"on average for {report['mean_throttle_ms']:.0f} ms",
            flush=True,
        )


def measure(server: str, arguments: argparse.Namespace, metrics_port: int | None) -> dict[str, Any]:
    with ClusterClient(server) as network:
        Admin.over(network).create_topics([NewTopic(TOPIC, CLIENTS)])
    results: dict[str, Any] = {}
    for part in arguments.only:
        if part == "request" and metrics_port is None:
            continue
        if part == "request":
            assert metrics_port is not None
            results[part] = request(server, arguments, metrics_port)
        else:
            results[part] = {"produce": produce, "fetch": fetch}[part](server, arguments)
        show(part, results[part])
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warm-up", type=float, default=15.0)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--json", type=Path, help="where to leave the results")
    arguments = parser.parse_args()
    if arguments.bootstrap_server:
        results = measure(arguments.bootstrap_server, arguments, None)
    else:
        metrics_port = free_port()
        with tempfile.TemporaryDirectory(prefix="kcli-quotas-") as directory:
            broker = Broker(Path(directory) / "data", {"metrics.port": str(metrics_port), "log.retention.bytes": "-1"})
            try:
                results = measure(f"127.0.0.1:{broker.port}", arguments, metrics_port)
            finally:
                broker.stop()
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
