"""Deleting logs: a log's directory is renamed to `-delete` at once, and removed after `file.delete.delay.ms`.

Crash policy: the renaming is on the device before `delete` returns, so that a deleted log does not come back.
"""

from __future__ import annotations

from kcore.logger import get_logger
from kcore.storage.directory_name import DELETE_SUFFIX, directory_name, renamed
from kcore.storage.directory_removal import remove_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log_checkpoints import LogCheckpoints
    from kcore.storage.log_dir import LogDir
    from kcore.storage.managed_logs import ManagedLog, ManagedLogs
    from kcore.storage.scheduler import Scheduler
    from kcore.storage.topic_log_configs import TopicLogConfigs

    # By delay in milliseconds, the names of renamed directories.
    Renamed = dict[int, list[str]]

log = get_logger("kcore.storage.log_manager")

# A task of the scheduler removes at most this many directories, so that other tasks run in between.
MAX_REMOVED_TOGETHER = 100


class LogDeletion:
    """Deletes logs from the table of logs and from disk."""

    __slots__ = ("_checkpoints", "_configs", "_disk", "_log_dirs", "_logs", "_scheduler")

    def __init__(
        self,
        disk: Disk,
        logs: ManagedLogs,
        configs: TopicLogConfigs,
        checkpoints: LogCheckpoints,
        scheduler: Scheduler,
    ) -> None:
        self._disk = disk
        self._logs = logs
        self._log_dirs = logs.log_dirs
        self._configs = configs
        self._checkpoints = checkpoints
        self._scheduler = scheduler

    def delete(self, partitions: Iterable[TopicPartition]) -> bool:
        """`LogManager.delete_logs`."""
        keys = list(partitions)
        renamed_in: dict[int, tuple[LogDir, Renamed]] = {}
        pending: set[object] = set()
        for key in keys:
            self._logs.offline.discard(key)
            self._checkpoints.initial_high_watermarks.pop(key, None)
            entry = self._logs.get(key)
            if entry is not None:
                _, names = renamed_in.setdefault(id(entry.log_dir), (entry.log_dir, {}))
                if not self._rename(key, entry, names):
                    pending.add(key)
        with self._logs.lock:
            self._configs.forget({topic for topic, _ in keys})
        for log_dir, names in renamed_in.values():
            for delay_ms, own in names.items():
                self.remove_later(log_dir, own, delay_ms)
            pending.add(log_dir)
            with self._log_dirs.guard(log_dir):
                self._disk.fsync_dir(log_dir.path)
                pending.discard(log_dir)
                self._checkpoints.bound_deleted(log_dir)
        return not pending and all(log_dir.is_online for log_dir in self._log_dirs)

    def _rename(self, key: TopicPartition, entry: ManagedLog, names: Renamed) -> bool:
        """Closes a log and renames its directory, unless another thread did; whether no I/O error occurred."""
        log_dir = entry.log_dir
        # The guard is outermost: it reports a failure without the lock.
        with self._log_dirs.guard(log_dir), self._logs.lock:
            if self._logs.remove(key) is not None:
                entry.is_deleted = True
                log_dir.note_deleted(key, entry.created_at_look)
                name = renamed(*key, DELETE_SUFFIX)
                entry.log.close(for_deletion=True)
                self._disk.rename(f"{log_dir.path}/{directory_name(*key)}", f"{log_dir.path}/{name}")
                log.debug("Log of partition %s-%d is marked for deletion as %s", *key, name)
                names.setdefault(entry.config.file_delete_delay_ms, []).append(name)
            return True
        return False

    def remove_later(self, log_dir: LogDir, names: Sequence[str], delay_ms: int) -> None:
        """Removes renamed directories after a delay, a few at a time."""

        def remove() -> None:
            for name in names[:MAX_REMOVED_TOGETHER]:
                with self._log_dirs.guard(log_dir):
                    if log_dir.is_online:
                        remove_directory(self._disk, f"{log_dir.path}/{name}")
                        log.debug("Deleted log directory %s/%s", log_dir.path, name)
            if len(names) > MAX_REMOVED_TOGETHER:
                self.remove_later(log_dir, names[MAX_REMOVED_TOGETHER:], 0)

        self._scheduler.schedule("kafka-delete-logs", remove, delay_ms=delay_ms)
