"""One of the broker's `log.dirs`: its lock, its identity, its clean-shutdown marker and its checkpoints.

    .lock                  locked while a broker uses the directory; brokers of Apache Kafka respect it too
    meta.properties        the cluster and the broker of the directory
    .kafka_cleanshutdown   {"version":0,"brokerEpoch":N}: every log was flushed and closed (CleanShutdownFileHandler)
    kcli-clean-logs        the state of each log at that shutdown (clean_shutdown_state)
    *-checkpoint           offsets of the partitions in it
    <topic>-<partition>/   the partitions

Crash policy: the marker is removed, durably, before the first log is opened, so that a crash during the start is
detected. An operation that fails with an OSError takes the directory offline (`failure`): until the next start of the
broker nothing is read from it or written to it.
"""

from __future__ import annotations

from threading import Lock

from kcore.logger import get_logger
from kcore.storage.checkpoints import (
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    WRITTEN_CHECKPOINTS,
    CorruptFileError,
    OffsetCheckpoint,
)
from kcore.storage.clean_shutdown_state import take_clean_state, write_clean_state
from kcore.storage.meta_properties import MetaProperties, read_meta_properties, write_meta_properties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.clean_shutdown_state import CleanState
    from kcore.storage.log_committer import LogCommitter

log = get_logger(__name__)

LOCK_FILE = ".lock"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"


class LogDirLockedError(Exception):
    """Another broker uses the directory."""


class LogDir:
    """`open` it before anything else, `close` it last."""

    __slots__ = (
        "_disk",
        "_lock_descriptor",
        "checkpoint_lock",
        "committer",
        "deleted",
        "failure",
        "had_clean_shutdown",
        "is_full",
        "left_clean",
        "log_count",
        "look",
        "looks",
        "meta",
        "path",
        "stale_checkpoints",
    )

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._lock_descriptor = -1
        self.path = path
        # Held from the snapshot of the logs' offsets until they are written: older offsets must not replace newer ones.
        self.checkpoint_lock = Lock()
        self.log_count = 0
        self.meta: MetaProperties | None = None
        self.had_clean_shutdown = False
        # The state of each log at that shutdown.
        self.left_clean: dict[TopicPartition, CleanState] = {}
        # With log.flush.group.commit: flushes for all requests that wait.
        self.committer: LogCommitter | None = None
        # By checkpoint: partitions that the file may still name, although their logs here are deleted.
        self.deleted: dict[str, set[TopicPartition]] = {name: set() for name in WRITTEN_CHECKPOINTS}
        # Looks at the logs for a checkpoint are numbered: the last one, and the last one for each checkpoint.
        self.look = 0
        self.looks = dict.fromkeys(WRITTEN_CHECKPOINTS, 0)
        # The names of checkpoints with outdated content.
        self.stale_checkpoints: set[str] = set()
        # Whether logs refused records at the last look because the disk is full.
        self.is_full = False
        # Why the directory is offline; None while it is online.
        self.failure: Exception | None = None

    def note_look(self, checkpoint: str) -> None:
        """Counts a look at the logs for a checkpoint."""
        self.look += 1
        self.looks[checkpoint] = self.look

    def note_deleted(self, key: TopicPartition, created_at_look: int) -> None:
        """Notes a deleted log in the checkpoints that may name it: those with a look after its creation."""
        for name, look in self.looks.items():
            if look > created_at_look:
                self.deleted[name].add(key)

    @property
    def is_online(self) -> bool:
        """Whether the directory can be used."""
        return self.failure is None

    def open(self) -> None:
        """Creates the directory if it is missing, locks it and reads `meta.properties`.

        Raises LogDirLockedError, CorruptFileError, or OSError when the directory cannot be used.
        """
        self._make()
        try:
            self._lock_descriptor = self._disk.lock(f"{self.path}/{LOCK_FILE}")
        except BlockingIOError:
            raise LogDirLockedError(
                f"Failed to acquire lock on file {LOCK_FILE} in {self.path}. A broker or another process is using this "
                "directory: stop it, or give each broker a log.dirs of its own."
            ) from None
        self.meta = read_meta_properties(self._disk, self.path)

    def close(self) -> None:
        """Releases the lock. The file stays, as with Kafka."""
        descriptor, self._lock_descriptor = self._lock_descriptor, -1
        if descriptor >= 0:
            self._disk.close(descriptor)

    def write_meta(self, meta: MetaProperties) -> None:
        """Writes `meta.properties`."""
        write_meta_properties(self._disk, self.path, meta)
        self.meta = meta

    def _make(self) -> None:
        """Creates the directory and its parents, and syncs their names."""
        missing = []
        path = self.path.rstrip("/")
        while path and not self._disk.exists(path):
            missing.append(path)
            path = path.rpartition("/")[0].rstrip("/")
        self._disk.mkdirs(self.path)
        for made in reversed(missing):
            self._disk.fsync_dir(made.rpartition("/")[0] or ("/" if made.startswith("/") else "."))

    def take_clean_shutdown(self) -> None:
        """Reads whether the last shutdown was clean, and removes the marker."""
        marker = f"{self.path}/{CLEAN_SHUTDOWN_FILE}"
        self.had_clean_shutdown = self._disk.exists(marker)
        left_clean = take_clean_state(self._disk, self.path)
        if self.had_clean_shutdown:
            self.left_clean = left_clean
            self._disk.unlink(marker)
            self._disk.fsync_dir(self.path)

    def mark_clean_shutdown(self, broker_epoch: int, left_clean: Mapping[TopicPartition, CleanState]) -> None:
        """Marks every log in the directory as flushed and closed (with the broker epoch of KIP-966).

        `left_clean` is the state of the logs, with which the next start need not open them.
        """
        write_clean_state(self._disk, self.path, left_clean)
        content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
        self._disk.write_file_atomically(f"{self.path}/{CLEAN_SHUTDOWN_FILE}", content.encode())

    def checkpoint(self, name: str) -> OffsetCheckpoint:
        """One of the directory's checkpoint files."""
        return OffsetCheckpoint(self._disk, f"{self.path}/{name}")

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Its offsets. Empty when the file is damaged: the logs have all its information."""
        try:
            return self.checkpoint(name).read()
        except CorruptFileError as error:
            damage = f"line {error.line}: {error.rule}" if error.line else error.rule
            log.warn("%s is damaged (%s). It is ignored and rebuilt; no action is required", error.path, damage)
            return {}

    def recovery_points(self) -> dict[TopicPartition, int]:
        """The recovery point of each log."""
        return self.read_checkpoint(RECOVERY_POINT_FILE)

    def log_start_offsets(self) -> dict[TopicPartition, int]:
        """The log start offsets above 0."""
        return self.read_checkpoint(LOG_START_OFFSET_FILE)

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """The high watermark of each partition."""
        return self.read_checkpoint(HIGH_WATERMARK_FILE)

    def partition_entries(self) -> list[str]:
        """The names of its subdirectories, sorted."""
        return [name for name, is_directory in self._disk.entries(self.path) if is_directory]
