"""Apache Kafka itself as a process, for tests and measurements: one node in KRaft mode, broker and controller in one.

    with ApacheKafka("3.9", tmp_path / "kafka", {"num.partitions": "2"}) as kafka:
        ... kafka.bootstrap_server ...

The jars come from Maven Central by bin/kafka-jars, which knows the versions ("3.9", "4", or a full one). The storage is
formatted the first time, with a fixed cluster id, so that what two brokers say of themselves can be compared. It is
ready when it answers a Metadata request that names it. Its log goes to `<directory>.log`, and is shown when it does not
start. Leaving the `with` block kills whatever still runs, and so does the end of the process that started it.

Tests ask for the fixtures `apache_kafka_39` and `apache_kafka_4` (tests/conftest.py): one broker a session, because a
start takes seconds. Topics are then the test's own, under names of its own.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kcore.protocol import apis
from tests.raw_client import RawClient

ROOT = Path(__file__).resolve().parent.parent
KAFKA_JARS = ROOT / "bin" / "kafka-jars"
KAFKA_RUN = ROOT / "bin" / "kafka-run"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
ASK_AGAIN_S = 0.05
SHOWN_LOG_BYTES = 4_000
# Another process may bind a port between our choice and Kafka's bind; then other ports are tried.
PORT_ATTEMPTS = 3
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
NODE_ID = 1
# What one node needs to serve everything, and to do so without waiting for others.
PROPERTIES = {
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "controller.quorum.append.linger.ms": "0",
}
# A compiler that starts fast and a small heap; measurements give their own.
QUICK_START = ("-Xmx512M", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class ApacheKafka:
    """`version` as bin/kafka-jars takes it; `properties` go over PROPERTIES; ports are free ones of the kernel's choice
    and stay the same over `restart`."""

    def __init__(
        self,
        version: str,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        *,
        java_options: Sequence[str] = QUICK_START,
    ) -> None:
        self.version = version
        self.directory = directory
        self.properties = {**PROPERTIES, **(properties or {})}
        self.java_options = list(java_options)
        self.log_path = directory.with_name(directory.name + ".log")
        self.properties_path = directory.with_name(directory.name + ".properties")
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.controller_port = 0

    # What a test asks of it

    @property
    def bootstrap_server(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def log(self) -> str:
        """What it has written in all of its lives."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # Its life

    def start(self) -> ApacheKafka:
        """Starts it and returns when it serves."""
        assert self.process is None, "it runs already"
        # The first time they are fetched, which takes as long as it takes.
        subprocess.run([KAFKA_JARS, self.version], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(PORT_ATTEMPTS):
            if self.port == 0:
                self.port, self.controller_port = free_port(), free_port()
            self._write_properties()
            if not (self.directory / "meta.properties").exists():
                self._format()
            before = len(self.log())
            self.process = self._java("kafka.Kafka", str(self.properties_path))
            if self._wait_until_it_serves():
                return self
            self.kill()
            if "Address already in use" not in self.log()[before:]:
                break
            self.port = 0
        raise AssertionError(f"Apache Kafka {self.version} did not start:\n{self.log()[-SHOWN_LOG_BYTES:]}")

    def _write_properties(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        own = {
            "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.directory),
        }
        lines = [f"{name}={value}\n" for name, value in {**own, **self.properties}.items()]
        self.properties_path.write_text("".join(lines))

    def _format(self) -> None:
        process = self._java("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(self.properties_path))
        try:
            code = process.wait(START_TIMEOUT_S)
        finally:
            process.kill()
            process.wait()
        assert code == 0, f"the storage could not be formatted:\n{self.log()[-SHOWN_LOG_BYTES:]}"

    def _java(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        with self.log_path.open("ab") as log:
            # setpriv and bin/kafka-run put themselves in the place of what they run: the process is Java's.
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", str(KAFKA_RUN), self.version, program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "KAFKA_HEAP_OPTS": " ".join(self.java_options)},
            )

    def _wait_until_it_serves(self) -> bool:
        """False when it ended before, or did not come up in time."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                return False
            if serves(self.port):
                return True
            # Nothing tells when a port starts to listen.
            time.sleep(ASK_AGAIN_S)
        return False

    def stop(self) -> int:
        """Asks it to stop, waits until it has, and returns its exit code (143: ended by SIGTERM, as Java says it)."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9: nothing is flushed, nothing is said."""
        if self.process is not None:
            self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        process, self.process = self.process, None
        assert process is not None, "it does not run"
        process.send_signal(number)
        try:
            return process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"Apache Kafka did not stop:\n{self.log()[-SHOWN_LOG_BYTES:]}") from None

    def restart(self, *, kill: bool = False) -> ApacheKafka:
        """Ends it, cleanly or not, and starts it again on the same ports and data."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def __enter__(self) -> ApacheKafka:
        return self.start()

    def __exit__(self, kind: object, *exception: object) -> None:
        self.kill()
        if kind is not None:
            # pytest shows it with the failure.
            print(f"The log of Apache Kafka {self.version}:\n{self.log()[-SHOWN_LOG_BYTES:]}", file=sys.stderr)


def serves(port: int) -> bool:
    """Whether a broker answers there, and knows itself as one that clients may be sent to."""
    try:
        with RawClient(port) as client:
            versions = client.request(apis.API_VERSIONS, 0, {})
            return versions.error_code == 0 and bool(client.request(apis.METADATA, 1, {"topics": []}).brokers)
    except (OSError, AssertionError):
        # Refused, reset or closed before the answer: not yet.
        return False


def free_port() -> int:
    """A port that the kernel gives nobody else for the next minute.

    A connection of it that was closed from its own side stays in TIME_WAIT, which keeps the kernel from choosing the
    port again, while a server that sets SO_REUSEADDR, as Java's do, may bind it by its number.
    """
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        address = server.getsockname()
        with socket.create_connection(address) as client:
            accepted, _ = server.accept()
            accepted.close()
            assert client.recv(1) == b""
    return int(address[1])
