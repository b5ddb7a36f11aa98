"""The broker's `log.dirs` together: locked and claimed as one, failing one by one (Kafka's `LogDirFailureChannel`).

Failures: an OSError, or KAFKA_STORAGE_ERROR from a log, in a `guard` takes its directory offline until the next start
of the broker. `on_failure` is called once for a directory, on the thread that met the error, under no lock of this
package.
"""

from __future__ import annotations

from errno import EDQUOT, EEXIST, EMFILE, ENFILE, ENOSPC, ENOTDIR, EROFS
from threading import Lock

from kcore import errors, uuid
from kcore.logger import get_logger
from kcore.storage.log_dir import LogDir
from kcore.storage.meta_properties import MetaProperties

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from kcore.platform.disk import Disk

log = get_logger(__name__)


FAILURE_REMEDY = "fix the disk and restart the broker"
DENIED_REMEDY = "change its owner or mode, or run the broker as its owner, and restart the broker"
ROOM_REMEDY = "free some space on its disk. The broker tries again"
DESCRIPTOR_REMEDY = "raise the limit of open files (ulimit -n) or lower kcli.log.max.open.segments"


class LogShortageError(errors.KafkaError, code=56):
    """A log cannot be created because the disk is full or file descriptors are lacking; a later attempt may succeed."""


class LogDirsError(Exception):
    """The log directories cannot be used. The message has the directory and what to do."""


class LogDirsDeniedError(LogDirsError):
    """The operating system denies access to every log directory."""


class LogDirs:
    """All log directories, also offline ones, in the order of the configuration."""

    __slots__ = ("_directories", "_lock", "on_failure", "rides_out_full_disks")

    def __init__(self, disk: Disk, paths: Sequence[str]) -> None:
        self._directories = [LogDir(disk, path) for path in paths]
        self._lock = Lock()
        self.on_failure: Callable[[LogDir], None] | None = None
        # While the broker serves, work that finds the disk full is postponed. A start and a shutdown cannot wait.
        self.rides_out_full_disks = False

    def __iter__(self) -> Iterator[LogDir]:
        return iter(self._directories)

    def online(self) -> list[LogDir]:
        """The directories that can be used."""
        return [log_dir for log_dir in self._directories if log_dir.is_online]

    def open(self) -> MetaProperties | None:
        """Locks all directories and returns their cluster and broker; None when all are new.

        Raises LogDirLockedError, CorruptFileError, and LogDirsError when they contradict each other or none is usable.
        """
        try:
            for log_dir in self._directories:
                with self.guard(log_dir):
                    log_dir.open()
            self.check_any_online()
            return self._common_meta()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Releases the locks."""
        for log_dir in self._directories:
            log_dir.close()

    def check_any_online(self) -> None:
        """Raises LogDirsError when no directory can be used."""
        if not self.online():
            failures = [(log_dir.path, log_dir.failure) for log_dir in self._directories]
            reasons = "; ".join(f"{path}: {failure_text(failure)}" for path, failure in failures)
            if all(isinstance(failure, PermissionError) for _, failure in failures):
                raise LogDirsDeniedError(f"cannot use the log directories ({reasons}); {DENIED_REMEDY}")
            remedies = " ".join(dict.fromkeys(_start_remedy(failure) for _, failure in failures))
            raise LogDirsError(f"None of the log directories can be used ({reasons}). {remedies}")

    def _common_meta(self) -> MetaProperties | None:
        known = [(log_dir.path, log_dir.meta) for log_dir in self.online() if log_dir.meta is not None]
        directory_ids: dict[bytes, str] = {}
        for path, meta in known:
            first_path, first = known[0]
            for name, own, other in (
                ("cluster.id", meta.cluster_id, first.cluster_id),
                ("node.id", meta.node_id, first.node_id),
            ):
                if own != other:
                    raise LogDirsError(
                        f"{first_path} has {name} {other} in its meta.properties, and {path} has {own}: "
                        "log.dirs must name directories of one broker"
                    )
            if meta.directory_id is not None and directory_ids.setdefault(meta.directory_id, path) != path:
                raise LogDirsError(
                    f"{directory_ids[meta.directory_id]} and {path} have the same directory.id: one is a copy of the "
                    "other. Remove the copy from log.dirs"
                )
        return known[0][1] if known else None

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Writes `meta.properties` where it is missing. LogDirsError for that of another broker."""
        for log_dir in self.online():
            meta = log_dir.meta
            if meta is None:
                with self.guard(log_dir):
                    if log_dir.partition_entries():
                        log.warn(
                            "%s had no meta.properties. It is created for broker %d of cluster %s",
                            *(log_dir.path, broker_id, cluster_id),
                        )
                    log_dir.write_meta(MetaProperties(cluster_id, broker_id, uuid.random_uuid()))
            elif meta.cluster_id not in (None, cluster_id) or meta.node_id not in (None, broker_id):
                raise LogDirsError(
                    f"{log_dir.path} belongs to broker {meta.node_id} of cluster {meta.cluster_id}, and this is broker "
                    f"{broker_id} of cluster {cluster_id}: correct node.id, or give the broker a log.dirs of its own"
                )

    def guard(self, log_dir: LogDir, unless: Callable[[], bool] | None = None) -> DirectoryGuard:
        """`with log_dirs.guard(log_dir): ...` turns an I/O error inside into the failure of the directory.

        `unless` is called after an error: if it returns true, the directory stays online.
        """
        return DirectoryGuard(self, log_dir, unless)

    def fail(self, log_dir: LogDir, error: Exception) -> None:
        """Takes a directory offline. Only the first error is kept."""
        with self._lock:
            if not log_dir.is_online:
                return
            # Without its traceback: the frames would keep logs alive as long as the failure is kept.
            log_dir.failure = error.with_traceback(None)
        remedy = DENIED_REMEDY if isinstance(error, PermissionError) else FAILURE_REMEDY
        log.error("Log directory %s is offline now: %s; %s", log_dir.path, failure_text(error), remedy)
        if self.on_failure is not None:
            self.on_failure(log_dir)


def failure_text(error: Exception | None) -> str:
    """The reason of a failure. For a denied permission it has the path."""
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"permission denied: {error.filename}"
    if isinstance(error, OSError) and error.errno in (EEXIST, ENOTDIR):
        return "it is not a directory"
    if isinstance(error, OSError) and error.errno == EROFS:
        return "the file system is read-only"
    return str(error)


def _start_remedy(error: Exception | None) -> str:
    """What to do about a directory that could not be opened."""
    if isinstance(error, PermissionError):
        return "Change the owner or mode of the path, or run the broker as its owner."
    number = error.errno if isinstance(error, OSError) else None
    if number in (EEXIST, ENOTDIR):
        return "Set log.dirs to a directory."
    if number == EROFS:
        return "Remount the file system for writing, or set log.dirs to another directory."
    if number in (ENOSPC, EDQUOT):
        return "Free space, or set log.dirs to another directory."
    return "Fix the disk, or set log.dirs to another directory."


def is_descriptor_shortage(error: BaseException) -> bool:
    """Whether the process or the system has no file descriptor left. That is no failure of the disk."""
    return isinstance(error, OSError) and error.errno in (EMFILE, ENFILE)


def is_full_disk(error: BaseException) -> bool:
    """Whether the disk, or a quota of the file system, is full."""
    return isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT)


class DirectoryGuard:
    """Takes the directory offline on an I/O error in its block, and suppresses the error. Check `log_dir.is_online`
    after.

    A shortage of file descriptors is only logged: the directory stays online. So is a full disk while the broker
    serves.
    """

    __slots__ = ("_log_dir", "_log_dirs", "_unless")

    def __init__(self, log_dirs: LogDirs, log_dir: LogDir, unless: Callable[[], bool] | None) -> None:
        self._log_dirs = log_dirs
        self._log_dir = log_dir
        self._unless = unless

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, OSError | errors.KafkaStorageError):
            return False
        if is_descriptor_shortage(error):
            log.error("Work in log directory %s is postponed: %s; %s", self._log_dir.path, error, DESCRIPTOR_REMEDY)
            return True
        if self._log_dirs.rides_out_full_disks and is_full_disk(error):
            log.error("Work in log directory %s is postponed: %s; %s", self._log_dir.path, error, ROOM_REMEDY)
            return True
        if self._unless is None or not self._unless():
            self._log_dirs.fail(self._log_dir, error)
        return True
