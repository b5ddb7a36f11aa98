"""Measures a broker with very many partitions: what they cost to make, to open again, to keep and to describe.

    .venv/bin/python -m perf.run_partitions [--topics N] [--partitions N] [--with-data N] [--idle S] [--override K=V]...

It creates `topics` topics of `partitions` partitions (1,000 x 10), writes one batch to `with-data` of them, and
prints: the time of creation, of a start after a clean shutdown and after kill -9, the CPU that the idle broker takes,
its resident memory and open descriptors, and how long a Metadata request for everything takes, from the socket and with
confluent-kafka. Starts are measured from the start of the process to its first answered request; beside them stands the
start on an empty directory. Figures are of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
import socket
import statistics
import struct
import tempfile
import time
from pathlib import Path

from kcore.protocol import apis
from kcore.protocol.headers import decode_response, encode_request
from perf import frames
from perf.processes import LOOPBACK, Broker, cpu_seconds, resident_bytes

CREATED_PER_REQUEST = 1_000  # partitions
CREATE_VERSION = 5
METADATA_VERSION = 12
METADATA_ROUNDS = 20
SETTLING_S = 12.0
TIMEOUT_S = 300.0


class Connection:
    """One connection that waits for each answer."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((LOOPBACK, port), timeout=TIMEOUT_S)
        self.answers = self.socket.makefile("rb")

    def exchange(self, framed: bytes) -> bytes:
        self.socket.sendall(framed)
        (size,) = struct.unpack(">i", self.answers.read(4))
        return self.answers.read(size)

    def close(self) -> None:
        self.answers.close()
        self.socket.close()


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def topic_names(count: int) -> list[str]:
    return [f"many-{number:05d}" for number in range(count)]


def create_topics(port: int, names: list[str], partitions: int) -> float:
    """Seconds to create them, about a thousand partitions a request."""
    connection = Connection(port)
    step = max(1, CREATED_PER_REQUEST // partitions)
    started = time.monotonic()
    for first in range(0, len(names), step):
        topics = [
            {"name": name, "num_partitions": partitions, "replication_factor": 1}
            for name in names[first : first + step]
        ]
        fields = {"topics": topics, "timeout_ms": 60_000}
        request = encode_request(apis.CREATE_TOPICS, CREATE_VERSION, 1, "perf", fields)
        _, answer = decode_response(apis.CREATE_TOPICS, CREATE_VERSION, connection.exchange(framed(request)))
        failed = [topic.name for topic in answer.topics if topic.error_code]
        if failed:
            raise RuntimeError(f"not created: {failed[:5]}")
    taken = time.monotonic() - started
    connection.close()
    return taken


def write_batches(port: int, names: list[str], partitions: int, count: int) -> float:
    """Seconds to write a batch of ten records to each of `count` partitions, one after the other."""
    connection = Connection(port)
    batch = frames.batch([b"x" * 100] * 10, int(time.time() * 1000))
    started = time.monotonic()
    for number in range(count):
        load = frames.produce(names[number % len(names)], number // len(names) % partitions, batch)
        answer = connection.exchange(load.frame)
        if any(answer[position - 4 : position - 2] != b"\0\0" for position in load.error_positions):
            raise RuntimeError(f"not written: partition {number} of {count}")
    taken = time.monotonic() - started
    connection.close()
    return taken


def metadata_ms(port: int, topics: int) -> float:
    """Milliseconds of a Metadata request for all topics, median, until its last byte is here."""
    connection = Connection(port)
    fields = {"topics": None, "allow_auto_topic_creation": False}
    request = framed(encode_request(apis.METADATA, METADATA_VERSION, 1, "perf", fields))
    taken = []
    answer = b""
    for _ in range(METADATA_ROUNDS):
        started = time.monotonic()
        answer = connection.exchange(request)
        taken.append(time.monotonic() - started)
    connection.close()
    _, message = decode_response(apis.METADATA, METADATA_VERSION, answer)
    if len(message.topics) < topics:
        raise RuntimeError(f"{len(message.topics)} topics of {topics}")
    return statistics.median(taken) * 1e3


def client_metadata_ms(port: int) -> float:
    """The same as confluent-kafka sees it, the making of its objects included."""
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": f"{LOOPBACK}:{port}"})
    client.list_topics(timeout=60)
    taken = []
    for _ in range(METADATA_ROUNDS):
        started = time.monotonic()
        client.list_topics(timeout=60)
        taken.append(time.monotonic() - started)
    return statistics.median(taken) * 1e3


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def idle_cpu_percent(pid: int, seconds: float) -> float:
    time.sleep(SETTLING_S)
    before = cpu_seconds(pid)
    started = time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - started) * 100


def measure(directory: Path, options: argparse.Namespace) -> dict[str, float]:
    overrides = dict(setting.split("=", 1) for setting in options.override)
    names = topic_names(options.topics)
    taken: dict[str, float] = {}
    broker = Broker(directory / "data", overrides)
    try:
        taken["start_empty_s"] = broker.start_s
        taken["rss_empty_mb"] = resident_bytes(broker.pid) / 1e6
        taken["create_s"] = create_topics(broker.port, names, options.partitions)
        taken["rss_created_mb"] = resident_bytes(broker.pid) / 1e6
        taken["descriptors_created"] = descriptors(broker.pid)
        taken["write_s"] = write_batches(broker.port, names, options.partitions, options.with_data)
        taken["descriptors_written"] = descriptors(broker.pid)
        taken["rss_written_mb"] = resident_bytes(broker.pid) / 1e6
        started = time.monotonic()
        broker.process.terminate()
        broker.process.wait(TIMEOUT_S)
        taken["clean_stop_s"] = time.monotonic() - started
        broker = Broker(directory / "data", overrides)
        taken["start_clean_s"] = broker.start_s
        taken["rss_clean_mb"] = resident_bytes(broker.pid) / 1e6
        taken["descriptors_clean"] = descriptors(broker.pid)
        taken["metadata_raw_ms"] = metadata_ms(broker.port, len(names))
        taken["metadata_client_ms"] = client_metadata_ms(broker.port)
        taken["idle_cpu_percent"] = idle_cpu_percent(broker.pid, options.idle)
        write_batches(broker.port, names, options.partitions, options.with_data)
        broker.process.send_signal(signal.SIGKILL)
        broker.process.wait(TIMEOUT_S)
        broker = Broker(directory / "data", overrides)
        taken["start_unclean_s"] = broker.start_s
        taken["descriptors_unclean"] = descriptors(broker.pid)
    finally:
        broker.process.kill()
        broker.process.wait(TIMEOUT_S)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--topics", type=int, default=1_000)
    parser.add_argument("--partitions", type=int, default=10, help="of each topic")
    parser.add_argument("--with-data", type=int, default=2_000, help="partitions that get a batch")
    parser.add_argument("--idle", type=float, default=30.0, help="seconds")
    parser.add_argument("--override", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--directory", type=Path, default=None)
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    print(f"descriptor limit {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}, {os.cpu_count()} CPUs")
    directory = Path(tempfile.mkdtemp(prefix="kcli-partitions-", dir=options.directory))
    try:
        taken = measure(directory, options)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    for name, value in taken.items():
        print(f"{name:22} {value:12.3f}")
    if options.json is not None:
        options.json.write_text(json.dumps(taken, indent=1) + "\n")


if __name__ == "__main__":
    main()
