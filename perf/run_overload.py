"""Measures a broker that is asked for far more than it can do, and whether it is as before afterwards.

    .venv/bin/python -m perf.run_overload [--seconds 600] [--times 20] [--slow 2000] [--churn 5000]
        [--override K=V]... [--json FILE]

At once, for `--seconds`: `kload` with twenty times the requests in flight that make it busy, produced natively (1 KiB)
and asked of the handlers (Metadata); 2,000 clients that ask for much and read slowly; 5,000 that open and close
connections. Beside them a well-behaved producer and a consumer of a topic of their own: every 10 ms a record, which the
consumer waits for by long polls. What is printed: the pair's acknowledgements, the time from a record's sending to its
arrival, and the longest time without progress; the broker's memory and descriptors, before, during and after.
The clients share the machine's cores with the broker, so the pair is slower for want of CPU too; the load is `nice`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kcore.protocol import apis
from kcore.protocol.headers import decode_response, encode_request
from kcore.record.decoder import decode_batches
from perf import frames
from perf.processes import LOAD, LOOPBACK, ROOT, Broker, build_load, resident_bytes, run_load

CALM, FLOODED, MUCH = "calm", "flooded", "much"
PAUSE_S = 0.01
CALM_SECONDS = 5.0
RECOVERY_S = 120.0
CONNECTIONS_WHEN_BUSY, DEPTH_WHEN_BUSY = 10, 4
MUCH_BYTES = 64 << 20
MIB = 1 << 20
PATIENCE_S = 60.0


class Pair:
    """A producer of one record every 10 ms, and a consumer that waits for each; both by one connection."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.stopping = False
        self.acked = self.arrived = 0
        self.ack_s: list[float] = []
        self.delay_s: list[float] = []
        self.arrivals: list[float] = []
        self.failures: list[str] = []

    @contextlib.contextmanager
    def at_work(self) -> Iterator[None]:
        end = end_offset(self.port, CALM)
        threads = [
            threading.Thread(target=self.guarded, args=(self.produce,)),
            threading.Thread(target=self.guarded, args=(self.consume, end)),
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self.stopping = True
            for thread in threads:
                thread.join()

    def guarded(self, work: Any, *arguments: Any) -> None:
        try:
            work(*arguments)
        except (OSError, struct.error, RuntimeError) as error:
            self.failures.append(f"{work.__name__}: {error!r}")

    def produce(self) -> None:
        with socket.create_connection((LOOPBACK, self.port), timeout=PATIENCE_S) as connection:
            while not self.stopping:
                began = time.monotonic()
                # When it was sent stands in the record.
                load = frames.produce(CALM, 0, frames.batch([struct.pack(">d", began)], int(time.time() * 1000)))
                answer = exchange_on(connection, load.frame)
                expect_no_error(answer, load)
                self.ack_s.append(time.monotonic() - began)
                self.acked += 1
                time.sleep(max(0.0, began + PAUSE_S - time.monotonic()))

    def consume(self, offset: int) -> None:
        with socket.create_connection((LOOPBACK, self.port), timeout=PATIENCE_S) as connection:
            while not self.stopping:
                load = frames.fetch(CALM, 0, max_bytes=MIB, offset=offset)
                answer = exchange_on(connection, load.frame)
                expect_no_error(answer, load)
                now = time.monotonic()
                for sent in sending_times(answer):
                    self.delay_s.append(now - sent)
                    self.arrivals.append(now)
                    offset += 1

    def figures(self) -> dict[str, Any]:
        if self.failures or not self.delay_s:
            raise RuntimeError(f"the well-behaved pair failed: {self.failures or 'nothing arrived'}")
        lasted = self.arrivals[-1] - self.arrivals[0]
        gaps = [later - earlier for earlier, later in zip(self.arrivals, self.arrivals[1:], strict=False)]
        return {
            "records_per_s": round(len(self.arrivals) / max(lasted, 0.001), 1),
            "ack_ms": quantiles_ms(self.ack_s),
            "delay_ms": quantiles_ms(self.delay_s),
            "longest_gap_ms": round(1000 * max(gaps, default=0.0), 1),
        }


def quantiles_ms(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    pick = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {name: round(1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))], 2) for name, q in pick.items()}


def exchange_on(connection: socket.socket, frame: bytes) -> bytes:
    connection.sendall(frame)
    (size,) = struct.unpack(">i", exactly(connection, 4))
    return exactly(connection, size)


def exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise RuntimeError("the broker closed the connection")
        data += piece
    return bytes(data)


def expect_no_error(answer: bytes, load: frames.Load) -> None:
    """The positions count the answer's length too."""
    for position in load.error_positions:
        if answer[position - 4 : position - 2] != b"\0\0":
            raise RuntimeError(f"an error at byte {position} of {answer[:60]!r}")


def sending_times(answer: bytes) -> list[float]:
    _, message = decode_response(apis.FETCH, 12, answer)
    records = message.responses[0].partitions[0].records
    return [struct.unpack(">d", record.value)[0] for batch in decode_batches(records) for record in batch]


def end_offset(port: int, topic: str) -> int:
    """The high watermark, as a fetch from the start is told."""
    load = frames.fetch(topic, 0, max_bytes=1, max_wait_ms=0)
    with socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) as connection:
        _, message = decode_response(apis.FETCH, 12, exchange_on(connection, load.frame))
    return int(message.responses[0].partitions[0].high_watermark)


class Watch:
    """The broker's memory and descriptors, once a second."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.resident: list[int] = []
        self.descriptors: list[int] = []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.over.wait(1.0):
            self.resident.append(resident_bytes(self.pid))
            self.descriptors.append(descriptor_count(self.pid))

    def __enter__(self) -> Watch:
        self.thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.over.set()
        self.thread.join()

    def figures(self) -> dict[str, Any]:
        """Ten figures over the time, so that growth is seen."""
        step = max(1, len(self.resident) // 10)
        return {
            "resident_mb": [round(value / 1e6, 1) for value in self.resident[::step]],
            "largest_resident_mb": round(max(self.resident) / 1e6, 1),
            "descriptors": self.descriptors[::step],
        }


def descriptor_count(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


class Load:
    """The processes that ask too much."""

    def __init__(self, directory: Path, port: int, options: argparse.Namespace) -> None:
        self.directory = directory
        self.port = port
        self.options = options
        self.processes: dict[str, subprocess.Popen[str]] = {}

    def start(self) -> None:
        in_flight = CONNECTIONS_WHEN_BUSY * DEPTH_WHEN_BUSY * self.options.times
        connections = min(1000, in_flight // DEPTH_WHEN_BUSY)
        self.flood("produce flood", frames.produce(FLOODED, 0, record_of(1024)), connections, DEPTH_WHEN_BUSY)
        # Handlers take one request of a connection at a time.
        self.flood("metadata flood", frames.Load(frames.metadata()), connections, 1)
        much = self.write("much", frames.fetch(MUCH, 0, max_bytes=MUCH_BYTES).frame)
        self.crowd("slow readers", "slow", self.options.slow, much)
        self.crowd("churn", "churn", self.options.churn)

    def write(self, name: str, frame: bytes) -> str:
        path = self.directory / f"{name.replace(' ', '-')}.frame"
        path.write_bytes(frame)
        return str(path)

    def flood(self, name: str, load: frames.Load, connections: int, depth: int) -> None:
        command = [str(LOAD / "kload"), "--port", str(self.port), "--frame", self.write(name, load.frame)]
        command += ["--connections", str(connections), "--depth", str(depth), "--for", str(int(self.options.seconds))]
        for position in load.error_positions:
            command += ["--error-at", str(position)]
        self.launch(name, command)

    def crowd(self, name: str, kind: str, connections: int, *frame: str) -> None:
        if connections:
            words = [kind, str(self.port), str(connections), str(self.options.seconds), *frame]
            self.launch(name, [sys.executable, "-m", "perf.crowd", *words])

    def launch(self, name: str, command: list[str]) -> None:
        # The load gives way to the broker and the pair: what is measured is the broker, not the scheduler.
        nice = ["nice", "-n", str(self.options.nice)]
        self.processes[name] = subprocess.Popen(
            [*nice, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
        )

    def finish(self) -> dict[str, Any]:
        told = {}
        for name, process in self.processes.items():
            out, error = process.communicate()
            told[name] = json.loads(out) if process.returncode == 0 else {"failed": error.strip()[-500:]}
        return told

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.communicate()


def record_of(size: int) -> bytes:
    return frames.batch([b"x" * size], int(time.time() * 1000))


def capacity(directory: Path, port: int) -> float:
    """Requests a second that the broker serves when it is just busy."""
    load = frames.produce(FLOODED, 0, record_of(1024))
    report = run_load(directory, port, load, requests=50_000, connections=CONNECTIONS_WHEN_BUSY, depth=DEPTH_WHEN_BUSY)
    return float(report["requests_per_s"])


def pair_figures(port: int, seconds: float) -> dict[str, Any]:
    pair = Pair(port)
    with pair.at_work():
        time.sleep(seconds)
    return pair.figures()


def fill(directory: Path, port: int) -> None:
    """What slow readers ask for."""
    batch, _ = frames.batch_of_size(MIB, int(time.time() * 1000))
    run_load(directory, port, frames.produce(MUCH, 0, batch), requests=2 * MUCH_BYTES // MIB, depth=2)


def recover(broker: Broker, descriptors_before: int) -> float:
    """Seconds until the broker has let go of every connection."""
    began = time.monotonic()
    while descriptor_count(broker.pid) > descriptors_before + 2:
        if time.monotonic() - began > RECOVERY_S:
            raise RuntimeError(f"{descriptor_count(broker.pid)} descriptors are open, {descriptors_before} before")
        time.sleep(0.05)
    return time.monotonic() - began


def measure(directory: Path, options: argparse.Namespace) -> dict[str, Any]:
    overrides = {"log.retention.check.interval.ms": "1000", **dict(word.split("=", 1) for word in options.override)}
    broker = Broker(directory / "data", overrides)
    load = None
    try:
        for topic in (CALM, FLOODED, MUCH):
            broker.create_topic(topic)
        exchange_configs(broker.port, FLOODED, {"retention.bytes": "200000000", "segment.bytes": "50000000"})
        fill(directory, broker.port)
        figures: dict[str, Any] = {"capacity_before": capacity(directory, broker.port)}
        figures["pair_before"] = pair_figures(broker.port, CALM_SECONDS)
        figures["resident_before_mb"] = round(resident_bytes(broker.pid) / 1e6, 1)
        descriptors = descriptor_count(broker.pid)
        load = Load(directory, broker.port, options)
        pair = Pair(broker.port)
        with Watch(broker.pid) as watch:
            load.start()
            with pair.at_work():
                time.sleep(options.seconds)
            figures["load"] = load.finish()
        figures["pair_during"] = pair.figures()
        figures["broker_during"] = watch.figures()
        figures["recovered_after_s"] = round(recover(broker, descriptors), 2)
        figures["pair_after"] = pair_figures(broker.port, CALM_SECONDS)
        figures["capacity_after"] = capacity(directory, broker.port)
        # Warm buffers go back when they were not needed for a while.
        time.sleep(options.settle)
        figures["resident_after_mb"] = round(resident_bytes(broker.pid) / 1e6, 1)
        return figures
    finally:
        if load is not None:
            load.kill()
        broker.stop()


def exchange_configs(port: int, topic: str, configs: dict[str, str]) -> None:
    rows = [{"name": name, "config_operation": 0, "value": value} for name, value in configs.items()]
    fields = {"resources": [{"resource_type": 2, "resource_name": topic, "configs": rows}]}
    payload = encode_request(apis.INCREMENTAL_ALTER_CONFIGS, 1, 1, "overload", fields)
    with socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S) as connection:
        answer = exchange_on(connection, struct.pack(">i", len(payload)) + payload)
    _, message = decode_response(apis.INCREMENTAL_ALTER_CONFIGS, 1, answer)
    if message.responses[0].error_code != 0:
        raise RuntimeError(message.responses[0].error_message)


def show(figures: dict[str, Any]) -> None:
    print(f"{'the pair':10}{'records/s':>10}{'ack p50':>9}{'p99':>9}{'max':>9}{'delay p50':>10}{'p99':>9}{'max':>9} ms")
    for name in ("before", "during", "after"):
        pair = figures[f"pair_{name}"]
        acks, delays = pair["ack_ms"], pair["delay_ms"]
        print(
            f"{name:10}{pair['records_per_s']:10.1f}{acks['p50']:9.2f}{acks['p99']:9.2f}{acks['max']:9.1f}"
            f"{delays['p50']:10.2f}{delays['p99']:9.2f}{delays['max']:9.1f}   longest gap {pair['longest_gap_ms']} ms"
        )
    for name, told in figures["load"].items():
        print(f"{name}: {told}")
    during = figures["broker_during"]
    print(f"resident MB: before {figures['resident_before_mb']}, over the time {during['resident_mb']},")
    print(f"  largest {during['largest_resident_mb']}, after {figures['resident_after_mb']}")
    print(f"descriptors over the time: {during['descriptors']}; all let go of after {figures['recovered_after_s']} s")
    before, after = figures["capacity_before"], figures["capacity_after"]
    print(f"requests/s when just busy: before {before:,.0f}, after {after:,.0f}: {after / before:.2f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--times", type=int, default=20, help="requests in flight, of those that make it busy")
    parser.add_argument("--slow", type=int, default=2000)
    parser.add_argument("--churn", type=int, default=5000)
    parser.add_argument("--nice", type=int, default=10, help="of the load (default 10)")
    parser.add_argument("--settle", type=float, default=30.0, help="seconds until memory is looked at again")
    parser.add_argument("--override", action="append", default=[], metavar="K=V")
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    build_load()
    with tempfile.TemporaryDirectory(prefix="kcli-overload-") as name:
        figures = measure(Path(name), options)
    show(figures)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
