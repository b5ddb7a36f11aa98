"""Measures produce and fetch while nothing of Python can run in the broker.

    .venv/bin/python -m perf.run_interpreter_lock [--rounds N] [--json FILE]

The debug hook holds the interpreter lock natively for two seconds. Meanwhile: 1,000 acks of one record each; 1,000
long polls that an append wakes, timed from the sending of the record to the fetch's answer; 1,000 long polls that time
out, timed beyond their max wait. One kind a hold, so that they do not wait for each other's CPU.
"""

from __future__ import annotations

import argparse
import json
import signal
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from perf import frames
from perf.processes import LOOPBACK, Broker, build_load, run_load

HOLD_MS = 2_000
REQUESTS = 1_000
MAX_WAIT_MS = 50
WAITERS = 40  # fewer than the listening socket's backlog, or connecting takes a second


def hold(broker: Broker) -> socket.socket:
    """Holds the lock and answers a connection on which a request waits for Python."""
    broker.process.send_signal(signal.SIGUSR2)
    time.sleep(0.05)
    waiting = socket.create_connection((LOOPBACK, broker.port), timeout=30)
    waiting.sendall(frames.framed(frames.METADATA, 1, struct.pack(">i", 0), flexible=False))
    return waiting


def is_still_held(waiting: socket.socket) -> bool:
    """Whether Python has not answered yet; the connection is then read to the end of the hold."""
    waiting.settimeout(0.0001)
    try:
        waiting.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        waiting.settimeout(30)
        waiting.recv(1)
        return True
    finally:
        waiting.close()
    return False


def acks(directory: Path, broker: Broker, topic: str) -> float:
    load = frames.produce(topic, 0, frames.batch([b"one record"], 1_700_000_000_000))
    return float(run_load(directory, broker.port, load, requests=REQUESTS)["latency_us"]["p99"]) / 1e3


def timeouts(directory: Path, broker: Broker, topic: str) -> float:
    load = frames.fetch(topic, 0, max_bytes=1 << 20, max_wait_ms=MAX_WAIT_MS)
    report = run_load(directory, broker.port, load, requests=REQUESTS, connections=WAITERS)
    return float(report["latency_us"]["p99"]) / 1e3 - MAX_WAIT_MS


def wake_ups(directory: Path, broker: Broker, topic: str) -> float:
    produce = frames.produce(topic, 0, frames.batch([b"one record"], 1_700_000_000_000)).frame
    load = frames.fetch(topic, 0, max_bytes=1 << 20, max_wait_ms=30_000)
    assert load.offset_position is not None
    fetch = bytearray(load.frame)
    latencies = []
    with (
        socket.create_connection((LOOPBACK, broker.port)) as fetching,
        socket.create_connection((LOOPBACK, broker.port)) as producing,
    ):
        for connection in (fetching, producing):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for offset in range(REQUESTS):
            struct.pack_into(">q", fetch, load.offset_position, offset)
            fetching.sendall(fetch)
            time.sleep(0.0003)  # until it waits
            sent = time.monotonic()
            producing.sendall(produce)
            read_answer(fetching)
            latencies.append(time.monotonic() - sent)
            read_answer(producing)
    return sorted(latencies)[REQUESTS * 99 // 100] * 1e3


def read_answer(connection: socket.socket) -> None:
    (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
    connection.recv(size, socket.MSG_WAITALL)


def measure(directory: Path, rounds: int) -> dict[str, dict[str, float]]:
    overrides = {"kcli.debug.hooks": "true", "kcli.debug.hold.ms": str(HOLD_MS)}
    broker = Broker(directory / "data", overrides)
    found: dict[str, dict[str, float]] = {}
    kinds: list[Callable[[Path, Broker, str], float]] = [acks, wake_ups, timeouts]
    try:
        for kind in kinds:
            p99s = []
            for number in range(rounds):
                topic = f"{kind.__name__}-{number}"
                broker.create_topic(topic)
                waiting = hold(broker)
                p99s.append(kind(directory, broker, topic))
                if not is_still_held(waiting):
                    raise SystemExit(f"{kind.__name__}: {REQUESTS} took longer than the hold of {HOLD_MS} ms")
            found[kind.__name__] = {"p99_ms": statistics.median(p99s), "p99_ms_max": max(p99s)}
            print(f"{kind.__name__:9s} p99 {statistics.median(p99s):.2f} ms (worst of {rounds} rounds {max(p99s):.2f})")
    finally:
        broker.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the data plane while the interpreter lock is held.")
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take medians of (default 5)")
    parser.add_argument("--json", type=Path, help="keep the figures in this file")
    arguments = parser.parse_args()
    build_load()
    with tempfile.TemporaryDirectory() as directory:
        found = measure(Path(directory), arguments.rounds)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
