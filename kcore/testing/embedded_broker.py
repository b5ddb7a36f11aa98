"""EmbeddedBroker: one real broker for a test, in its own process, on a free port of the loopback interface.

    with EmbeddedBroker({"num.partitions": 3}, topics=["orders"]) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        ...
        broker.kill()       # kill -9
        broker.start()      # on the same port and data

It is the broker that `kcli server-start` runs, with the same defaults. Nothing is mocked. Its data is in a temporary
directory (`home_in_memory`) unless `data_dir` is given.

Nothing is left behind: `close`, the end of a `with` block and the exit of the process end the broker and remove the
temporary directory, even if the process is killed by SIGKILL (`fork_server.py`). Until `close`, ports stay reserved for
the broker, even while it is down (`port_reservation.py`).

Concurrency: one thread at a time may use an EmbeddedBroker. Several EmbeddedBrokers are independent.
"""

from __future__ import annotations

import os
import signal
import time

from kcore.testing.errors import BrokerDied, BrokerNotStarted, EmbeddedBrokerError
from kcore.testing.fault_commands import RemoteFaults
from kcore.testing.faults import Faults
from kcore.testing.hosts import ProcessHost, ThreadHost
from kcore.testing.port_reservation import PortReservation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from types import TracebackType
    from typing import Any, Self, TypeAlias

    from kcore.client.admin.topics import NewTopic
    from kcore.client.cluster_client import ClusterClient
    from kcore.testing.hosts import Host

    Topics: TypeAlias = Iterable[str | NewTopic] | Mapping[str, int]

DEFAULT_LISTENERS = "PLAINTEXT://127.0.0.1:0"
START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 60.0
SHOWN_LOG_BYTES = 4_000
LOG_TIMEOUT_S = 30.0
KEPT_LOG_BYTES = 1 << 20
LOG_LOOK_INTERVAL_S = 0.005
USUAL_TEMPORARY_DIRECTORIES = ("/tmp", "/var/tmp", "/usr/tmp")
MEMORY_FILE_SYSTEM = "/dev/shm"
# A container's default of 64 MiB would be full after a few segments.
MIN_ROOM_IN_MEMORY_BYTES = 1 << 30


class EmbeddedBroker:
    """`properties` are broker configurations with Kafka's names. `topics` are created at the first start: names, a
    mapping of names to numbers of partitions, or `NewTopic`s.

    `in_process` runs the broker in threads of this process, for debuggers. It then cannot be killed or paused, and logs
    to this process's stderr.
    """

    def __init__(
        self,
        properties: Mapping[str, object] | None = None,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        topics: Topics = (),
        in_process: bool = False,
        start_timeout_s: float = START_TIMEOUT_S,
        stop_timeout_s: float = STOP_TIMEOUT_S,
    ) -> None:
        self.properties = {name: property_text(value) for name, value in (properties or {}).items()}
        self.start_timeout_s = start_timeout_s
        self.stop_timeout_s = stop_timeout_s
        self.started: dict[str, Any] = {}
        self._given_data_dir = None if data_dir is None else os.path.abspath(data_dir)
        self._topics = topics
        self._in_process = in_process
        self._directory: str | None = None
        self._ports: PortReservation | None = None
        self._host: Host | None = None
        self._is_paused = False
        self._kept_log = ""
        self._owner = os.getpid()

    # State

    @property
    def bootstrap_servers(self) -> str:
        """`host:port` of the first listener, for clients."""
        self._require_port()
        listener: str = self.started["listeners"][0]
        return listener.rpartition("://")[2]

    @property
    def port(self) -> int:
        return int(self.bootstrap_servers.rpartition(":")[2])

    @property
    def host(self) -> str:
        return self.bootstrap_servers.rpartition(":")[0].strip("[]")

    @property
    def pid(self) -> int:
        self._require_port()
        return int(self.started["pid"])

    @property
    def broker_id(self) -> int:
        self._require_port()
        return int(self.started["broker_id"])

    @property
    def cluster_id(self) -> str:
        self._require_port()
        return str(self.started["cluster_id"])

    @property
    def data_dir(self) -> Path:
        """The directory of the broker's logs. A temporary one exists from `start` to `close`."""
        from pathlib import Path

        if self._given_data_dir is not None:
            return Path(self._given_data_dir)
        if self._directory is None:
            raise EmbeddedBrokerError("the broker has no directory before start() and after close()")
        return Path(self._directory, "data")

    @property
    def is_running(self) -> bool:
        """False before `start`, after `stop` and `kill`, and after the broker died."""
        return self._host is not None and self._host.is_running()

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def log(self) -> str:
        """Return the broker's stderr, from all its starts. After `close`: the last MiB."""
        if self._in_process:
            raise RuntimeError("a broker inside this process has no log: it writes to stderr")
        if self._directory is None:
            return self._kept_log
        try:
            with open(self._log_path, encoding="utf-8", errors="replace") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def wait_for_log(self, text: str, timeout_s: float = LOG_TIMEOUT_S) -> None:
        """Wait until the log contains a text. Polls the file, because files have no events. Raises AssertionError."""
        deadline = time.monotonic() + timeout_s
        while text not in (log := self.log()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{text!r} did not appear in the broker's log:\n{log[-SHOWN_LOG_BYTES:]}")
            time.sleep(LOG_LOOK_INTERVAL_S)

    @property
    def faults(self) -> Faults:
        """Faults to inject, until `faults.clear()` or the end of the broker's process."""
        return Faults(RemoteFaults(self._command))

    def _command(self, *command: Any) -> Any:
        host = self._running_host()
        if self._is_paused:
            raise EmbeddedBrokerError("the broker is paused: call resume() first")
        return host.command(*command)

    # Starting and stopping

    def start(self) -> Self:
        """Start the broker and wait until it serves. Raises BrokerNotStarted with the reason and the end of its log."""
        try:
            self._begin_start()
            return self._finish_start()
        except BaseException:
            if not self.started and self._host is not None:
                self._leave()  # a later start creates everything again
            raise

    def _begin_start(self) -> None:
        if self.is_running:
            raise RuntimeError("the broker is already running")
        if self._directory is None:
            self._make_directory()
        assert self._host is not None
        assert self._ports is not None
        listeners, log_dirs = self._ports.listeners, str(self.data_dir)
        self._host.start({"log.dirs": log_dirs, **self.properties, "listeners": listeners}, self._log_path)

    def _make_directory(self) -> None:
        import tempfile

        self._ports = PortReservation(self.properties.get("listeners", DEFAULT_LISTENERS))
        self._directory = tempfile.mkdtemp(prefix="kcli-broker-", dir=home_in_memory())
        self._host = ThreadHost() if self._in_process else ProcessHost(self._directory)

    def _finish_start(self) -> Self:
        assert self._host is not None
        try:
            self.started = self._host.await_start(self.start_timeout_s)
        except BrokerNotStarted as error:
            log = self._last_log()
            raise BrokerNotStarted(f"{error}\n{log}" if log else str(error)) from None
        topics, self._topics = self._topics, ()
        if topics:
            self._create_topics(topics)
        return self

    def stop(self) -> int:
        """Shut the broker down cleanly (SIGTERM) and wait for it. Returns its exit code. The data stays."""
        host = self._running_host()
        if self._is_paused:
            self.resume()
        return host.stop(self.stop_timeout_s)

    def kill(self) -> None:
        """kill -9: nothing is flushed, and no connection is closed cleanly. The data stays."""
        self._running_host().kill()
        self._is_paused = False

    def restart(self, *, kill: bool = False) -> Self:
        """Stop or kill the broker, and start it again on the same ports and data."""
        if kill:
            self.kill()
        else:
            self.stop()
        return self.start()

    def pause(self) -> None:
        """Suspend the broker's process (SIGSTOP) until `resume`. Connections stay open, but nothing is answered."""
        self._running_host().signal(signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        """Continue a paused broker (SIGCONT)."""
        self._running_host().signal(signal.SIGCONT)
        self._is_paused = False

    def send_signal(self, number: int) -> None:
        """Send the broker's process a signal that does not end it."""
        self._running_host().signal(number)

    def close(self) -> None:
        """End the broker and remove everything. With a `data_dir`, it is shut down cleanly, and the directory stays."""
        if self._host is None or self._owner != os.getpid():
            return  # not started, or started by the process that this one was forked from
        try:
            if self._host.is_running():
                if self._given_data_dir is not None or self._in_process:
                    self.stop()
                else:
                    self.kill()
        finally:
            self._leave()

    def _leave(self) -> None:
        import shutil

        assert self._host is not None
        assert self._ports is not None
        self._is_paused = False
        if not self._in_process:
            self._kept_log = self.log()[-KEPT_LOG_BYTES:]
        self._host.close()
        self._ports.close()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._host = self._directory = self._ports = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)

    def __repr__(self) -> str:
        state = "paused" if self._is_paused else "running" if self.is_running else "not running"
        where = f" at {self.bootstrap_servers}" if self.started else ""
        return f"<EmbeddedBroker{where}, {state}>"

    # Topics

    def create_topic(
        self,
        name: str | None = None,
        partitions: int = 1,
        *,
        replication_factor: int = -1,
        config: Mapping[str, object] | None = None,
    ) -> str:
        """Create a topic and return its name. Default: a random name. Raises the broker's KafkaError."""
        from kcore.client.admin.topics import NewTopic

        if name is None:
            name = f"topic-{os.urandom(6).hex()}"
        configs = {key: property_text(value) for key, value in (config or {}).items()}
        self._create_topics([NewTopic(name, partitions, replication_factor, configs)])
        return name

    def delete_topic(self, name: str) -> None:
        """Delete a topic. Raises the broker's KafkaError."""
        from kcore.client.admin.results import raise_first
        from kcore.client.admin.topics import TopicAdmin

        with self._client() as client:
            raise_first(TopicAdmin(client).delete_topics([name]))

    def _create_topics(self, topics: Topics) -> None:
        from collections.abc import Mapping

        from kcore.client.admin.results import raise_first
        from kcore.client.admin.topics import NewTopic, TopicAdmin

        if isinstance(topics, Mapping):
            wanted = [NewTopic(name, partitions) for name, partitions in topics.items()]
        else:
            wanted = [topic if isinstance(topic, NewTopic) else NewTopic(topic) for topic in topics]
        with self._client() as client:
            raise_first(TopicAdmin(client).create_topics(wanted))

    def _client(self) -> ClusterClient:
        from kcore.client.cluster_client import ClusterClient

        return ClusterClient(self.bootstrap_servers, client_id="kcli-testing")

    # Checks

    def _require_port(self) -> None:
        if not self.started:
            raise EmbeddedBrokerError("the broker was not started: call start(), or use it in a `with` block")

    def _running_host(self) -> Host:
        host = self._host
        if host is None or not host.is_running():
            if self.started and self._directory is not None:
                raise BrokerDied(f"the broker is not running; its log ends with:\n{self._last_log()}")
            raise EmbeddedBrokerError("the broker is not running: call start(), or use it in a `with` block")
        return host

    def _last_log(self) -> str:
        return "" if self._in_process else self.log()[-SHOWN_LOG_BYTES:]

    @property
    def _log_path(self) -> str:
        assert self._directory is not None
        return os.path.join(self._directory, "broker.log")


def start_all(*brokers: EmbeddedBroker) -> None:
    """Start several brokers at once and wait until all serve. If one fails, all others are closed."""
    begun = []
    try:
        for broker in brokers:
            broker._begin_start()
            begun.append(broker)
        for broker in brokers:
            broker._finish_start()
    except BaseException:
        for broker in begun:
            broker.close()
        raise


def home_in_memory() -> str | None:
    """Return the directory for temporary directories: the memory file system if it has room, else None for the default.

    Also None if the environment names a directory (TMPDIR). Everything is written and synced as on a disk, and survives
    kill -9. But a sync does not wait for other users of the disk, which would be most of a start when tests run in
    parallel. The data need not outlive the test.
    """
    import tempfile

    is_named = any(os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP"))
    if is_named or tempfile.gettempdir() not in USUAL_TEMPORARY_DIRECTORIES:
        return None
    try:
        room = os.statvfs(MEMORY_FILE_SYSTEM)
    except OSError:
        return None
    if room.f_bavail * room.f_frsize < MIN_ROOM_IN_MEMORY_BYTES or not os.access(MEMORY_FILE_SYSTEM, os.W_OK | os.X_OK):
        return None
    return MEMORY_FILE_SYSTEM


def property_text(value: object) -> str:
    """Return a configuration value as in a properties file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ",".join(map(property_text, value))
    return str(value)
