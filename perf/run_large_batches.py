"""Measures what other clients notice of batches that decompress to hundreds of megabytes.

    .venv/bin/python -m perf.run_large_batches [--connections 40] [--megabytes 200] [--codec gzip] [--seconds 10]
        [--override K=V]... [--json FILE]

Eight clients send a record of 100 bytes every 5 ms each, and wait for its acknowledgement: first alone, then while
`--connections` clients send one batch each that decompresses to `--megabytes`. What is printed: the acknowledgement
times of the eight in both parts, how long the large batches took together, and the broker's memory.
"""

from __future__ import annotations

import argparse
import json
import math
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from kcore.record.compression import NAMES
from kcore.record.encoder import RecordBatchBuilder
from perf import frames
from perf.processes import LOOPBACK, Broker, resident_bytes

SMALL, LARGE = "small", "large"
CLIENTS = 8
PAUSE_S = 0.005
PATIENCE_S = 120.0
MIB = 1 << 20


def large_batch(size_bytes: int, codec: int) -> bytes:
    """One record of zeros."""
    builder = RecordBatchBuilder(codec=codec)
    builder.append(b"key", bytes(size_bytes), int(time.time() * 1000))
    return bytes(builder.build())


def receive(connection: socket.socket) -> bytes:
    head = read_exactly(connection, 4)
    return read_exactly(connection, int.from_bytes(head, "big"))


def read_exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise RuntimeError("the broker closed a connection")
        data += piece
    return bytes(data)


class SmallClients:
    """Clients that send a small record now and then; `times` are seconds from each record to its acknowledgement."""

    def __init__(self, port: int) -> None:
        self.times: list[float] = []
        self._port = port
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        frame = frames.produce(SMALL, 0, frames.batch([bytes(100)], int(time.time() * 1000))).frame
        with socket.create_connection((LOOPBACK, self._port), timeout=PATIENCE_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not self._stopping.wait(PAUSE_S):
                started = time.perf_counter()
                connection.sendall(frame)
                receive(connection)
                self.times.append(time.perf_counter() - started)


class MemoryPeak:
    """The most memory that a process has had while this ran."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        self._pid = pid
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(0.005):
            self.bytes = max(self.bytes, resident_bytes(self._pid))


def send_large(port: int, frame: bytes, connections: int) -> float:
    """Seconds until all are answered."""
    clients = [socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) for _ in range(connections)]
    started = time.perf_counter()
    for client in clients:
        client.sendall(frame)
    for client in clients:
        receive(client)
        client.close()
    return time.perf_counter() - started


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    chosen = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
    found = {name: ordered[max(0, math.ceil(share * len(ordered)) - 1)] * 1000 for name, share in chosen.items()}
    return {"records": len(ordered), **{f"{name}_ms": round(value, 2) for name, value in found.items()}}


def measure(options: argparse.Namespace, directory: Path) -> dict[str, Any]:
    overrides = dict(word.split("=", 1) for word in options.override)
    frame = frames.produce(LARGE, 0, large_batch(options.megabytes * MIB, NAMES.index(options.codec))).frame
    broker = Broker(directory / "data", overrides)
    try:
        for topic in (SMALL, LARGE):
            broker.create_topic(topic)
        alone = SmallClients(broker.port)
        alone.start()
        time.sleep(options.seconds)
        alone.stop()
        before_bytes = resident_bytes(broker.pid)
        peak = MemoryPeak(broker.pid)
        beside = SmallClients(broker.port)
        beside.start()
        large_s = send_large(broker.port, frame, options.connections)
        beside.stop()
        peak.stop()
    finally:
        broker.stop()
    return {
        "codec": options.codec,
        "request_bytes": len(frame),
        "alone": summary(alone.times),
        "beside": summary(beside.times),
        "large_s": round(large_s, 2),
        "memory_before_mib": before_bytes // MIB,
        "memory_peak_mib": peak.bytes // MIB,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=40)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--codec", choices=NAMES[1:], default="gzip")
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--override", action="append", default=[], metavar="K=V")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        result = measure(options, Path(directory))
    print(json.dumps(result, indent=2))
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
