"""One of the broker's `log.dirs`: its lock, its identity, its clean-shutdown marker and its checkpoints.

    .lock                  locked while a broker uses the directory, against brokers of Apache Kafka too
    meta.properties        whose directory this is
    .kafka_cleanshutdown   {"version":0,"brokerEpoch":N}: every log was flushed and closed (CleanShutdownFileHandler)
    kcli-clean-logs        how each log was left then, so that none has to be opened to be known
    *-checkpoint           offsets of the partitions in it
    <topic>-<partition>/   the partitions

Crash policy: the marker is removed, durably, before the first log is opened, so that a crash while logs are being
loaded counts as one. An operation that fails with an OSError puts the directory out of use (`failure`): nothing is read
from it or written to it from then on, until the broker starts anew.
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
        # Held from the look at the logs to the end of the write: an older picture must not replace a newer one.
        self.checkpoint_lock = Lock()
        self.log_count = 0
        self.meta: MetaProperties | None = None
        self.had_clean_shutdown = False
        # How that shutdown left the logs.
        self.left_clean: dict[TopicPartition, CleanState] = {}
        # With log.flush.group.commit: who flushes for all that wait.
        self.committer: LogCommitter | None = None
        # By checkpoint: partitions that the file may still name, although their logs here are deleted.
        self.deleted: dict[str, set[TopicPartition]] = {name: set() for name in WRITTEN_CHECKPOINTS}
        # Looks at the logs for a checkpoint are numbered: the last one, and the last one for each checkpoint.
        self.look = 0
        self.looks = dict.fromkeys(WRITTEN_CHECKPOINTS, 0)
        # The names of checkpoints that do not say any more what the logs would.
        self.stale_checkpoints: set[str] = set()
        # Whether the last look found that logs had to refuse something for want of room.
        self.is_full = False
        # Why the directory is out of use; None while it is in use.
        self.failure: Exception | None = None

    def note_look(self, checkpoint: str) -> None:
        """The logs are looked at for a checkpoint."""
        self.look += 1
        self.looks[checkpoint] = self.look

    def note_deleted(self, key: TopicPartition, made_at_look: int) -> None:
        """A log is deleted that was made after that look: a checkpoint without a later one cannot name it."""
        for name, look in self.looks.items():
            if look > made_at_look:
                self.deleted[name].add(key)

    @property
    def is_online(self) -> bool:
        """Whether the directory is in use."""
        return self.failure is None

    def open(self) -> None:
        """Makes the directory if need be, locks it and reads whose it is.

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
        """Gives the lock back; the file stays, as Kafka leaves it."""
        descriptor, self._lock_descriptor = self._lock_descriptor, -1
        if descriptor >= 0:
            self._disk.close(descriptor)

    def write_meta(self, meta: MetaProperties) -> None:
        """Makes this the directory of a cluster and broker."""
        write_meta_properties(self._disk, self.path, meta)
        self.meta = meta

    def _make(self) -> None:
        """Makes the directory, and those above it, so that a loss of power leaves their names."""
        missing = []
        path = self.path.rstrip("/")
        while path and not self._disk.exists(path):
            missing.append(path)
            path = path.rpartition("/")[0].rstrip("/")
        self._disk.mkdirs(self.path)
        for made in reversed(missing):
            self._disk.fsync_dir(made.rpartition("/")[0] or ("/" if made.startswith("/") else "."))

    def take_clean_shutdown(self) -> None:
        """Notes whether the last shutdown was clean, and removes the marker."""
        marker = f"{self.path}/{CLEAN_SHUTDOWN_FILE}"
        self.had_clean_shutdown = self._disk.exists(marker)
        left_clean = take_clean_state(self._disk, self.path)
        if self.had_clean_shutdown:
            self.left_clean = left_clean
            self._disk.unlink(marker)
            self._disk.fsync_dir(self.path)

    def mark_clean_shutdown(self, broker_epoch: int, left_clean: Mapping[TopicPartition, CleanState]) -> None:
        """Says that every log in the directory was flushed and closed (KIP-966 keeps the broker epoch with it).

        `left_clean` is what the next start may believe of them without a look.
        """
        write_clean_state(self._disk, self.path, left_clean)
        content = f'{{"version":0,"brokerEpoch":{broker_epoch}}}'
        self._disk.write_file_atomically(f"{self.path}/{CLEAN_SHUTDOWN_FILE}", content.encode())

    def checkpoint(self, name: str) -> OffsetCheckpoint:
        """One of the directory's checkpoint files."""
        return OffsetCheckpoint(self._disk, f"{self.path}/{name}")

    def read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """Its offsets, or none when the file is damaged: the logs know better, and reading them takes only longer."""
        try:
            return self.checkpoint(name).read()
        except CorruptFileError as error:
            log.warn("Ignored a damaged checkpoint, as if it were missing: %s", error)
            return {}

    def recovery_points(self) -> dict[TopicPartition, int]:
        """Up to where each log is known to be on the device."""
        return self.read_checkpoint(RECOVERY_POINT_FILE)

    def log_start_offsets(self) -> dict[TopicPartition, int]:
        """Where each log begins that had records deleted from within its first segment."""
        return self.read_checkpoint(LOG_START_OFFSET_FILE)

    def high_watermarks(self) -> dict[TopicPartition, int]:
        """Up to where each partition was known to be replicated."""
        return self.read_checkpoint(HIGH_WATERMARK_FILE)

    def partition_entries(self) -> list[str]:
        """The names of the directories in it, sorted."""
        return [name for name, is_directory in self._disk.entries(self.path) if is_directory]
