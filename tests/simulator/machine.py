"""A simulated machine: its disk, the metadata on it, and a broker that can be stopped, killed, or lose its power."""

from __future__ import annotations

import gc

from kcore.config.broker import BrokerConfig
from kcore.controller.memory_store import MemoryMetadata, MemoryMetadataStore
from kcore.platform.failing_disk import FailingDisk
from kcore.platform.memory_disk import MemoryDisk
from kcore.server.broker import Broker
from kcore.storage.log import Log
from tests.invariants.history import TopicPartition
from tests.simulator.manual_scheduler import ManualScheduler

START_MS = 1_700_000_000_000
LOG_DIR = "/data"
MAX_FILE_BYTES = 1 << 24
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "log.dirs": LOG_DIR,
    "num.network.threads": "1",
    "num.io.threads": "1",
    # Logs that are loaded by several threads change the disk in an order that no seed decides.
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.segment.bytes": "1500",
    "log.initial.task.delay.ms": "0",
    "log.index.interval.bytes": "100",
    "log.index.size.max.bytes": "4096",
    # The group coordinator's times are of the real clock, years ahead of the disk's.
    "log.message.timestamp.after.max.ms": "9223372036854775807",
    # The disk's clock is the network's too, and it leaps.
    "connections.max.idle.ms": "1000000000000",
}


class Machine:
    """`seed` decides what of a crashing change happens; `settings` are the broker's, beside SETTINGS."""

    def __init__(self, seed: int, settings: dict[str, str]) -> None:
        self.memory = MemoryDisk(now_ms=START_MS, volatile_cache=True, max_file_bytes=MAX_FILE_BYTES)
        self.disk = FailingDisk(self.memory, seed)
        self.metadata = MemoryMetadata()
        self.settings = {**SETTINGS, **settings}
        self.broker: Broker | None = None
        self.scheduler = ManualScheduler(self.memory.now_ms)
        # The last one of each partition, closed or not: of a directory that failed the manager forgets them.
        self.logs: dict[TopicPartition, Log] = {}
        self.starts = 0

    @property
    def port(self) -> int:
        assert self.broker is not None
        return self.broker.bound_listeners[0].port

    @property
    def has_crashed(self) -> bool:
        return self.disk.has_crashed

    def start(self, *, does_work: bool = True) -> None:
        """Starts the broker, recovery and all, and does the work that is due; raises what keeps it from starting."""
        self.starts += 1
        self.scheduler = ManualScheduler(self.memory.now_ms)
        store = MemoryMetadataStore(self.metadata)
        broker = Broker(BrokerConfig(self.settings), self.disk, store, scheduler=self.scheduler)
        broker.startup()
        self.broker = broker
        self.note_logs()
        if does_work:
            self.run_due()

    def run_due(self) -> None:
        """Does the background work that is due; of a crashed machine none."""
        if self.broker is not None and not self.has_crashed:
            self.note_logs()
            self.scheduler.run_due()
            self.note_logs()

    def note_logs(self) -> None:
        assert self.broker is not None
        self.logs.update((TopicPartition(*key), log) for key, log in self.broker.log_manager.all_logs().items())

    def advance(self, milliseconds: int) -> None:
        """Lets time pass."""
        self.memory.advance(milliseconds)
        self.run_due()

    def stop(self) -> None:
        """A clean end, unless the machine has crashed or does so meanwhile."""
        broker, self.broker = self.broker, None
        if broker is not None:
            broker.shutdown()
        if self.memory.open_descriptors:
            # Of a log that a failed start had opened and told nobody of: the error that ended it holds on to it.
            gc.collect()
        assert self.memory.open_descriptors == 0, "the broker has left files open"

    def is_marked_clean(self) -> bool:
        """Whether the last broker says that it ended cleanly."""
        return self.memory.exists(f"{LOG_DIR}/.kafka_cleanshutdown")

    def kill(self) -> None:
        """The process ends at once, the machine goes on: what was written is there."""
        self.disk.crash()
        self.stop()
        self.disk.heal()

    def lose_power(self, seed: int) -> None:
        """The machine ends at once: what was synced is there, and what `seed` says of the rest."""
        self.disk.crash()
        self.stop()
        self.memory.restore_power(seed)
        self.disk.heal()

    def topics(self) -> dict[str, int]:
        """The partitions of each topic, as the metadata has them."""
        state = self.metadata.state
        if state is None:
            return {}
        return {name: len(topic.partitions) for name, topic in state.image.topics.items()}

    def partitions(self) -> list[TopicPartition]:
        return [TopicPartition(name, index) for name, count in sorted(self.topics().items()) for index in range(count)]

    def files(self, partition: TopicPartition) -> dict[str, bytes]:
        """What is in a partition's directory, by name."""
        directory = f"{LOG_DIR}/{partition}"
        if not self.memory.exists(directory):
            return {}
        return {name: self.memory.read_file(f"{directory}/{name}") for name in self.memory.listdir(directory)}
