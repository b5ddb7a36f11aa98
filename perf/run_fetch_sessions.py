"""Measures what fetch sessions (KIP-227) save: a consumer of many partitions, of which few get records.

    .venv/bin/python -m perf.run_fetch_sessions [--clients raw kafka-python librdkafka java] [--partitions N]
        [--active N] [--records N] [--rounds N] [--override K=V]...

Each client consumes all partitions of a topic (1,000) while records come to the active ones (10), one at a time; once
with `max.incremental.fetch.session.cache.slots` at its default and once at 0. For each it prints the bytes of a fetch
request and of its answer, counted by a tap on the connection, and the broker's CPU time for a fetch: that of the
process while the records come, less that of the same records without a consumer. Medians of the rounds, and ratios.
`raw` is a client of this script that fetches again at once; librdkafka keeps no sessions.
"""

from __future__ import annotations

import argparse
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kcore.protocol import apis
from kcore.protocol.headers import decode_response, encode_request
from perf import frames
from perf.fetch_tap import FetchTap
from perf.processes import LOOPBACK, Broker, cpu_seconds, free_port
from perf.run_partitions import Connection, framed

SLOTS = "max.incremental.fetch.session.cache.slots"
TOPIC = "many"
PAUSE_S = 0.004
SETTLING_S = 3.0
START_TIMEOUT_S = 60.0
FETCH_VERSION = 12
CLIENTS = ("raw", "kafka-python", "librdkafka", "java")
ROOT = Path(__file__).resolve().parents[1]


class Producer:
    """Writes one small batch at a time to the active partitions in turn."""

    def __init__(self, port: int, active: int) -> None:
        self.connection = Connection(port)
        batch = frames.batch([b"x" * 100], int(time.time() * 1000))
        self.frames = [frames.produce(TOPIC, index, batch).frame for index in range(active)]
        self.next = 0

    def write_many(self, count: int) -> None:
        for _ in range(count):
            self.connection.exchange(self.frames[self.next % len(self.frames)])
            self.next += 1
            time.sleep(PAUSE_S)


class RawConsumer:
    """Keeps a session where the broker gives it one, and follows the high watermarks."""

    def __init__(self, port: int, partitions: int) -> None:
        self.connection = Connection(port)
        self.offsets = [0] * partitions
        self.session_id = self.epoch = 0
        self.stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        moved: list[int] = []
        while not self.stopping:
            moved = self.follow(self.fetch(moved))

    def fetch(self, moved: list[int]) -> Any:
        asked = moved if self.session_id else range(len(self.offsets))
        partitions = [
            {"partition": index, "fetch_offset": self.offsets[index], "partition_max_bytes": 1 << 20} for index in asked
        ]
        fields = {
            "replica_id": -1,
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 50 << 20,
            "session_id": self.session_id,
            "session_epoch": self.epoch,
            "topics": [{"topic": TOPIC, "partitions": partitions}] if partitions else [],
        }
        frame = self.connection.exchange(framed(encode_request(apis.FETCH, FETCH_VERSION, 1, "raw", fields)))
        _, answer = decode_response(apis.FETCH, FETCH_VERSION, frame)
        if answer.error_code != 0:
            raise RuntimeError(f"the fetch session failed: error {answer.error_code}")
        self.session_id = answer.session_id
        self.epoch = self.epoch + 1 if self.session_id else 0
        return answer

    def follow(self, answer: Any) -> list[int]:
        moved = []
        for topic in answer.responses:
            for part in topic.partitions:
                if part.records:
                    self.offsets[part.partition_index] = part.high_watermark
                    moved.append(part.partition_index)
        return moved

    def stop(self) -> None:
        self.stopping = True
        self.thread.join()
        self.connection.close()


class PolledConsumer:
    """A client library's consumer with all partitions assigned, polled in a thread."""

    def __init__(self, poll: Callable[[], object], close: Callable[[], object]) -> None:
        self.close = close
        self.poll = poll
        self.stopping = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while not self.stopping:
            self.poll()

    def stop(self) -> None:
        self.stopping = True
        self.thread.join()
        self.close()


class JavaConsumer:
    """Apache Kafka's console consumer, in a group of its own that commits nothing."""

    def __init__(self, port: int) -> None:
        command = [str(ROOT / "bin" / "kafka-run"), "3.9", "org.apache.kafka.tools.consumer.ConsoleConsumer"]
        command += ["--bootstrap-server", f"{LOOPBACK}:{port}", "--topic", TOPIC, "--from-beginning"]
        command += ["--consumer-property", "enable.auto.commit=false"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()


def start_consumer(client: str, port: int, partitions: int) -> RawConsumer | PolledConsumer | JavaConsumer:
    address = f"{LOOPBACK}:{port}"
    if client == "raw":
        return RawConsumer(port, partitions)
    if client == "java":
        return JavaConsumer(port)
    if client == "librdkafka":
        import confluent_kafka

        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": address, "group.id": "perf", "enable.auto.commit": False, "fetch.queue.backoff.ms": 1}
        )
        consumer.assign([confluent_kafka.TopicPartition(TOPIC, index, 0) for index in range(partitions)])
        return PolledConsumer(lambda: consumer.consume(100, 0.1), consumer.close)
    import kafka

    polled = kafka.KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False, auto_offset_reset="earliest")
    polled.assign([kafka.TopicPartition(TOPIC, index) for index in range(partitions)])
    return PolledConsumer(lambda: polled.poll(timeout_ms=100), polled.close)


def create_topic(port: int, partitions: int) -> None:
    topic = {"name": TOPIC, "num_partitions": partitions, "replication_factor": 1}
    connection = Connection(port)
    fields = {"topics": [topic], "timeout_ms": 60_000}
    _, answer = decode_response(
        apis.CREATE_TOPICS, 5, connection.exchange(framed(encode_request(apis.CREATE_TOPICS, 5, 1, "perf", fields)))
    )
    connection.close()
    if answer.topics[0].error_code != 0:
        raise RuntimeError(f"the topic was not created: error {answer.topics[0].error_code}")


class Cost:
    """Of one fetch, on average."""

    def __init__(self, fetches: int, request_bytes: float, answer_bytes: float, cpu_us: float) -> None:
        self.fetches = fetches
        self.request_bytes = request_bytes
        self.answer_bytes = answer_bytes
        self.cpu_us = cpu_us


def wait_until_idle(tap: FetchTap) -> None:
    """Until the client fetches, and nothing but what it asks for again and again comes back."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while tap.counts()[0] < 5:
        if time.monotonic() > deadline:
            raise RuntimeError("the client does not fetch")
        time.sleep(0.05)
    time.sleep(SETTLING_S)


def measure(client: str, given: argparse.Namespace, overrides: dict[str, str]) -> Cost:
    tap_port = free_port()
    with tempfile.TemporaryDirectory(prefix="kcli-perf-") as name:
        advertised = {"advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{tap_port}"}
        broker = Broker(Path(name) / "broker", {**advertised, **overrides})
        tap = FetchTap(tap_port, broker.port)
        try:
            create_topic(broker.port, given.partitions)
            producer = Producer(broker.port, given.active)
            producer.write_many(given.records)
            alone = cpu_of(broker, lambda: producer.write_many(given.records))
            consumer = start_consumer(client, tap_port, given.partitions)
            try:
                wait_until_idle(tap)
                before = tap.counts()
                with_consumer = cpu_of(broker, lambda: producer.write_many(given.records))
                fetches, bytes_in, bytes_out = (now - then for now, then in zip(tap.counts(), before, strict=True))
            finally:
                consumer.stop()
        finally:
            tap.stop()
            broker.stop()
    cpu_us = (with_consumer - alone) / fetches * 1e6
    return Cost(fetches, bytes_in / fetches, bytes_out / fetches, cpu_us)


def cpu_of(broker: Broker, work: Callable[[], None]) -> float:
    before = cpu_seconds(broker.pid)
    work()
    return cpu_seconds(broker.pid) - before


def median(costs: list[Cost]) -> Cost:
    names = ("fetches", "request_bytes", "answer_bytes", "cpu_us")
    return Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in names))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures what fetch sessions save.")
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=list(CLIENTS))
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--active", type=int, default=10, help="partitions that get records (default 10)")
    parser.add_argument("--records", type=int, default=1000, help="records while the client consumes (default 1000)")
    parser.add_argument("--rounds", type=int, default=1, help="rounds to take medians of (default 1)")
    parser.add_argument("--override", action="append", default=[], metavar="K=V", help="a configuration of the broker")
    given = parser.parse_args()
    overrides = dict(override.split("=", 1) for override in given.override)
    print(f"{given.partitions} partitions, {given.active} active, {given.records} records, {given.rounds} rounds")
    print(f"{'client':<14}{'sessions':>9}{'fetches':>9}{'request B':>11}{'answer B':>10}{'CPU us':>8}")
    for client in given.clients:
        kept, none = (
            median([measure(client, given, {**overrides, **slots}) for _ in range(given.rounds)])
            for slots in ({}, {SLOTS: "0"})
        )
        for name, cost in (("yes", kept), ("no", none)):
            print(
                f"{client:<14}{name:>9}{cost.fetches:>9.0f}{cost.request_bytes:>11.0f}{cost.answer_bytes:>10.0f}"
                f"{cost.cpu_us:>8.1f}",
                flush=True,
            )
        print(
            f"{client:<14}{'no / yes':>9}{'':>9}{none.request_bytes / kept.request_bytes:>11.1f}"
            f"{none.answer_bytes / kept.answer_bytes:>10.1f}{none.cpu_us / kept.cpu_us:>8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
