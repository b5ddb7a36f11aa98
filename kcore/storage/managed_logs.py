"""The table of a broker's open logs: which partition's log is in which directory.

Concurrency: `lock` guards the table, the creation and the deletion of logs. It is not held over flushes, retention,
recovery and callbacks. It is taken below a directory's `checkpoint_lock`.
"""

from __future__ import annotations

from threading import RLock

from kcore.storage.checkpoints import WRITTEN_CHECKPOINTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log import Log
    from kcore.storage.log_config import LogConfig
    from kcore.storage.log_dir import LogDir
    from kcore.storage.log_dirs import DirectoryGuard, LogDirs
    from kcore.storage.scheduler import Scheduler

FOUND = -1


class ManagedLog:
    """A log with its directory, its topic id and its configuration.

    Work that began before the log was deleted may fail to find its files. Once `is_deleted`, that is no I/O error.
    """

    __slots__ = (
        "_logs",
        "config",
        "created_at_look",
        "is_deleted",
        "log",
        "log_dir",
        "refused_at",
        "reported_refusals",
        "topic_id",
    )

    log: Log

    def __init__(self, logs: ManagedLogs, log_dir: LogDir, topic_id: bytes, config: LogConfig) -> None:
        self._logs = logs
        self.log_dir = log_dir
        self.topic_id = topic_id
        self.config = config
        self.is_deleted = False
        # The number of the last checkpoint that did not include this log; FOUND for a log that the start found.
        self.created_at_look = FOUND
        # Appends refused because the disk is full: how many were reported, and the log end offset at that time.
        self.reported_refusals = 0
        self.refused_at = 0

    def on_failure(self, _: Log, error: OSError) -> None:
        """Called by the log when an I/O error takes it offline."""
        if not self.is_deleted:
            self._logs.fail_later(self.log_dir, error)


class ManagedLogs:
    """The open logs by partition, and the partitions that are offline."""

    __slots__ = ("_entries", "_scheduler", "lock", "log_dirs", "offline", "unflushed")

    def __init__(self, log_dirs: LogDirs, scheduler: Scheduler) -> None:
        self.log_dirs = log_dirs
        self._scheduler = scheduler
        self.lock = RLock()
        self._entries: dict[TopicPartition, ManagedLog] = {}
        # Known partitions in a failed directory.
        self.offline: set[TopicPartition] = set()
        # Logs that changed since their finished segments were last flushed.
        self.unflushed: set[ManagedLog] = set()

    def get(self, key: TopicPartition) -> ManagedLog | None:
        """The open log of a partition."""
        return self._entries.get(key)

    def items(self) -> list[tuple[TopicPartition, ManagedLog]]:
        """All open logs by partition."""
        with self.lock:
            return list(self._entries.items())

    def values(self) -> list[ManagedLog]:
        """All open logs."""
        with self.lock:
            return list(self._entries.values())

    def logs_in(self, log_dir: LogDir) -> dict[TopicPartition, Log]:
        """The open logs of one directory."""
        return {key: entry.log for key, entry in self.items() if entry.log_dir is log_dir}

    def add(self, key: TopicPartition, entry: ManagedLog) -> None:
        """Adds an open log. The caller holds the lock."""
        committer = entry.log_dir.committer
        if committer is not None:
            entry.log.set_committer(committer)
        self._entries[key] = entry
        entry.log_dir.log_count += 1
        entry.log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)

    def remove(self, key: TopicPartition) -> ManagedLog | None:
        """Removes a log, if it is there. The caller holds the lock."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            entry.log_dir.log_count -= 1
            entry.log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
            self.unflushed.discard(entry)
        return entry

    def take_offline(self, log_dir: LogDir) -> dict[TopicPartition, ManagedLog]:
        """Removes and returns the logs of a failed directory; their partitions are offline from now on."""
        with self.lock:
            failed = {key: entry for key, entry in self._entries.items() if entry.log_dir is log_dir}
            for key in failed:
                self.remove(key)
            self.offline.update(failed)
        return failed

    def clear(self) -> None:
        """Removes all logs."""
        with self.lock:
            self._entries.clear()
            self.unflushed.clear()

    # Failures

    def guard(self, entry: ManagedLog) -> DirectoryGuard:
        """`with logs.guard(entry): ...` turns an I/O error into the failure of the log's directory."""
        return self.log_dirs.guard(entry.log_dir, unless=lambda: entry.is_deleted)

    def fail_later(self, log_dir: LogDir, error: Exception) -> None:
        """Takes a directory offline on the scheduler's thread: the thread that met the error may hold any lock."""
        self._scheduler.schedule("log-dir-failure", lambda: self.log_dirs.fail(log_dir, error))
