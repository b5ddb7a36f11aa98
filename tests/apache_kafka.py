"""Apache Kafka itself as a process, for tests and measurements: one broker, in KRaft mode or with a ZooKeeper server.

    with ApacheKafka("3.9", tmp_path / "kafka", {"num.partitions": "2"}) as kafka:
        ... kafka.bootstrap_server ...
    with ZooKeeperKafka("2.8", tmp_path / "old", {"log.message.format.version": "0.9.0"}) as kafka:
        ...

The jars come from Maven Central by bin/kafka-jars, which knows the versions ("2.8", "3.9", "4", or a full one); those
up to 3.9 bring ZooKeeper's server with them. In KRaft mode, broker and controller in one, the storage is formatted the
first time, with a fixed cluster id, so that what two brokers say of themselves can be compared. It is ready when it
answers a Metadata request that names it. Its log goes to `<directory>.log`, and is shown when it does not start.
Leaving the `with` block kills whatever still runs, and so does the end of the process that started it.

Tests ask for the fixtures `apache_kafka_28`, `apache_kafka_39`, `apache_kafka_39_zookeeper` and `apache_kafka_4`
(tests/conftest.py): one broker for all workers of a run (tests/shared_kafka.py), because a start takes seconds. Topics
are then the test's own, under names of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from kcore.protocol import apis
from kcore.testing.port_reservation import PortReservation
from tests.raw_client import RawClient

ROOT = Path(__file__).resolve().parent.parent
KAFKA_JARS = ROOT / "bin" / "kafka-jars"
KAFKA_RUN = ROOT / "bin" / "kafka-run"
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
ASK_AGAIN_S = 0.05
SHOWN_LOG_BYTES = 4_000
# ZooKeeper may not have noticed yet that the broker of that id was killed; then it is started again.
START_ATTEMPTS = 3
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
NODE_ID = 1
# What one broker needs to serve everything, and to do so without waiting for others.
ALONE = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}
PROPERTIES = {
    **ALONE,
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "controller.quorum.append.linger.ms": "0",
    # Records of tests have fixed times, long past, and retention would delete them half a minute after the start.
    "log.initial.task.delay.ms": str(24 * 60 * 60 * 1000),
}
ZOOKEEPER_PROPERTIES = {
    **ALONE,
    "broker.id": str(NODE_ID),
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    # The registration of a broker that was killed stays in ZooKeeper for this long.
    "zookeeper.session.timeout.ms": "2000",
}
# A compiler that starts fast and a small heap; measurements give their own.
QUICK_START = ("-Xmx512M", "-XX:TieredStopAtLevel=1", "-Xshare:auto")


class ApacheKafka:
    """`version` as bin/kafka-jars takes it; `properties` go over PROPERTIES; ports are free ones of the kernel's choice
    and nobody else's until `close`, also while it is down."""

    defaults: Mapping[str, str] = PROPERTIES

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
        self.properties = {**self.defaults, **(properties or {})}
        self.java_options = list(java_options)
        self.log_path = directory.with_name(directory.name + ".log")
        self.properties_path = directory.with_name(directory.name + ".properties")
        self.process: subprocess.Popen[bytes] | None = None
        self.port = 0
        self.controller_port = 0
        self._reservation: PortReservation | None = None

    # What a test asks of it

    @property
    def bootstrap_server(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def is_running(self) -> bool:
        """Of one that another process has started: whether it answers."""
        return self.process.poll() is None if self.process is not None else self.port != 0 and serves(self.port)

    def log(self) -> str:
        """What it has written in all of its lives."""
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    # Its life

    def start(self) -> ApacheKafka:
        """Starts it and returns when it serves."""
        assert self.process is None, "it runs already"
        # The first time they are fetched, which takes as long as it takes.
        subprocess.run([KAFKA_JARS, self.version], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        for _ in range(START_ATTEMPTS):
            if self._reservation is None:
                self._reserve_ports()
            self.directory.mkdir(parents=True, exist_ok=True)
            self._write_properties()
            self._prepare()
            before = len(self.log())
            self.process = self._java("kafka.Kafka", str(self.properties_path))
            if self._wait_until_it_serves():
                return self
            if self.process is not None:
                self._end(signal.SIGKILL)
            if "NodeExists" not in self.log()[before:]:
                break
        self.kill()
        raise AssertionError(f"Apache Kafka {self.version} did not start:\n{self.log()[-SHOWN_LOG_BYTES:]}")

    def _reserve_ports(self) -> None:
        self._reservation, (self.port, self.controller_port) = reserved_ports(2)

    def _own_properties(self) -> dict[str, str]:
        """What depends on ports and directories."""
        return {
            "controller.quorum.voters": f"{NODE_ID}@127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.directory),
        }

    def _prepare(self) -> None:
        """What has to be there before the broker is started."""
        if not (self.directory / "meta.properties").exists():
            self._format()

    def _write_properties(self) -> None:
        own = self._own_properties()
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

    def run(self, program: str, *arguments: str, stdin: bytes = b"") -> str:
        """What one of this version's own programs prints; its exit code must be 0."""
        done = subprocess.run(
            [KAFKA_RUN, self.version, program, *arguments],
            input=stdin,
            capture_output=True,
            timeout=START_TIMEOUT_S,
            env={**os.environ, "KAFKA_HEAP_OPTS": " ".join(self.java_options)},
        )
        assert done.returncode == 0, f"{program} ended with {done.returncode}:\n{done.stdout!r}\n{done.stderr!r}"
        return done.stdout.decode()

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

    def pause(self) -> None:
        """SIGSTOP, and it has stopped when this returns: it may go on for a while after kill(2)."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitpid(self.pid, os.WUNTRACED)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Ends it for good, and gives its ports back."""
        self.kill()
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None

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
        self.close()
        if kind is not None:
            # pytest shows it with the failure.
            print(f"The log of Apache Kafka {self.version}:\n{self.log()[-SHOWN_LOG_BYTES:]}", file=sys.stderr)


class ZooKeeperKafka(ApacheKafka):
    """With a ZooKeeper server of its own, whose data lies beside the broker's and which runs over `restart`.

    `log.message.format.version` and what else KRaft's brokers do not have can be had here: old formats come from 2.8.
    """

    defaults = ZOOKEEPER_PROPERTIES

    def __init__(
        self,
        version: str,
        directory: Path,
        properties: Mapping[str, str] | None = None,
        *,
        java_options: Sequence[str] = QUICK_START,
    ) -> None:
        super().__init__(version, directory, properties, java_options=java_options)
        self.zookeeper_directory = directory.with_name(directory.name + ".zookeeper")
        self.zookeeper: subprocess.Popen[bytes] | None = None
        self.zookeeper_port = 0

    def _own_properties(self) -> dict[str, str]:
        return {
            "zookeeper.connect": f"127.0.0.1:{self.controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.directory),
        }

    def _prepare(self) -> None:
        """Starts ZooKeeper, anew where its port was to change; the broker itself waits for it to answer."""
        if self.zookeeper is not None and self.zookeeper.poll() is None and self.zookeeper_port == self.controller_port:
            return
        self._kill_zookeeper()
        self.zookeeper_port = self.controller_port
        self.zookeeper_directory.mkdir(parents=True, exist_ok=True)
        configuration = self.zookeeper_directory / "zoo.cfg"
        configuration.write_text(
            f"dataDir={self.zookeeper_directory}\nclientPortAddress=127.0.0.1\nclientPort={self.controller_port}\n"
            "tickTime=500\nadmin.enableServer=false\nmaxClientCnxns=0\n"
        )
        self.zookeeper = self._java("org.apache.zookeeper.server.quorum.QuorumPeerMain", str(configuration))

    def kill(self) -> None:
        """Both processes."""
        super().kill()
        self._kill_zookeeper()

    def _kill_zookeeper(self) -> None:
        zookeeper, self.zookeeper = self.zookeeper, None
        if zookeeper is not None:
            zookeeper.kill()
            zookeeper.wait()

    def restart(self, *, kill: bool = False) -> ApacheKafka:
        """Ends the broker alone, cleanly or not, and starts it again on the same ports and data."""
        if kill:
            self._end(signal.SIGKILL)
        else:
            self.stop()
        return self.start()


def serves(port: int) -> bool:
    """Whether a broker answers there, and knows itself as one that clients may be sent to."""
    try:
        with RawClient(port) as client:
            versions = client.request(apis.API_VERSIONS, 0, {})
            return versions.error_code == 0 and bool(client.request(apis.METADATA, 1, {"topics": []}).brokers)
    except (OSError, AssertionError):
        # Refused, reset or closed before the answer: not yet.
        return False


def reserved_ports(count: int) -> tuple[PortReservation, list[int]]:
    """Ports for servers that set SO_REUSEADDR, as Java's do; until the reservation is closed nobody else gets them."""
    reservation = PortReservation(",".join(["PLAINTEXT://127.0.0.1:0"] * count))
    return reservation, [int(listener.rpartition(":")[2]) for listener in reservation.listeners.split(",")]
