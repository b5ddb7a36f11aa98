"""Writing the offset checkpoints of the log directories: recovery points, log start offsets and high watermarks.

Crash policy: the logs are the truth, and the checkpoints are written every few seconds and at shutdown. The offsets of
a deleted log leave the checkpoints when these are written next, or before a log of the same name is created in the
directory, so that a new log never inherits them.
"""

from __future__ import annotations

from kcore.storage.checkpoints import (
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    WRITTEN_CHECKPOINTS,
)
from kcore.storage.log import take_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log import Log
    from kcore.storage.log_dir import LogDir
    from kcore.storage.managed_logs import ManagedLog, ManagedLogs

    # The offset of a log in a checkpoint; None leaves the log out.
    OffsetOf = Callable[[TopicPartition, Log], int | None]

# A checkpoint may name this many deleted logs, or as many as there are logs, before it is written again.
MAX_DELETED_NAMED = 1_000


class LogCheckpoints:
    """The checkpoints of all log directories."""

    __slots__ = ("_log_dirs", "_logs", "initial_high_watermarks", "on_changed_logs")

    def __init__(self, logs: ManagedLogs) -> None:
        self._logs = logs
        self._log_dirs = logs.log_dirs
        # The high watermarks in the checkpoints when the broker started.
        self.initial_high_watermarks: dict[TopicPartition, int] = {}
        # Called with the logs that changed since the last call.
        self.on_changed_logs: Callable[[list[ManagedLog]], None] | None = None

    def note_changes(self) -> None:
        """Marks the checkpoints and segments of changed logs as stale. Of an idle log only a flag is read."""
        with self._logs.lock:
            changed: list[ManagedLog] = take_changed(self._logs.values())
            self._logs.unflushed.update(changed)
        for entry in changed:
            entry.log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
            entry.log.report_failure()
        if self.on_changed_logs is not None:
            self.on_changed_logs(changed)

    def write_recovery_points(self) -> None:
        """Writes the recovery point of each log."""
        self._write_stale(RECOVERY_POINT_FILE)

    def write_log_start_offsets(self) -> None:
        """Writes the log start offsets that are above 0."""
        self._write_stale(LOG_START_OFFSET_FILE)

    def write_high_watermarks(self) -> None:
        """Writes the high watermarks, and takes directories offline whose logs had an I/O error on the data plane."""
        self._write_stale(HIGH_WATERMARK_FILE)

    def save_start_offsets(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Writes the start offsets of these logs at once, so that deleted records stay deleted after a crash.

        Returns the partitions whose start offset is not on the device: their directory is offline or full.
        """
        with self._logs.lock:
            found = ((key, self._logs.get(key)) for key in partitions)
            entries = {key: entry for key, entry in found if entry is not None}
        undone: set[TopicPartition] = set()
        for log_dir in {id(entry.log_dir): entry.log_dir for entry in entries.values()}.values():
            is_done = False
            with self._log_dirs.guard(log_dir):
                self._write(log_dir, LOG_START_OFFSET_FILE)
                is_done = True
            if not is_done:
                undone.update(key for key, entry in entries.items() if entry.log_dir is log_dir)
        return undone

    def write_all(self, log_dir: LogDir) -> None:
        """Writes all checkpoints of a directory. Those that cannot be written now are written later."""
        log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
        with self._log_dirs.guard(log_dir):
            if log_dir.is_online:
                for name in WRITTEN_CHECKPOINTS:
                    self._write(log_dir, name)

    def drop_offsets(self, log_dir: LogDir, key: TopicPartition) -> None:
        """Writes the checkpoints that may still name a deleted log of this name. One write drops all deleted logs."""
        for name in WRITTEN_CHECKPOINTS:
            if key in log_dir.deleted[name]:
                self._write(log_dir, name)

    def bound_deleted(self, log_dir: LogDir) -> None:
        """Writes the checkpoints that may name too many deleted logs."""
        bound = max(MAX_DELETED_NAMED, log_dir.log_count)
        for name in WRITTEN_CHECKPOINTS:
            if len(log_dir.deleted[name]) > bound:
                self._write(log_dir, name)

    def _write_stale(self, name: str) -> None:
        """Writes a checkpoint in every directory where its content has changed."""
        self.note_changes()
        for log_dir in self._log_dirs.online():
            if name in log_dir.stale_checkpoints:
                with self._log_dirs.guard(log_dir):
                    self._write(log_dir, name)

    def _offset_of(self, name: str) -> OffsetOf:
        if name == RECOVERY_POINT_FILE:
            return lambda _, opened: opened.recovery_point
        if name == LOG_START_OFFSET_FILE:
            # Kafka leaves a log out when the name of its first segment says the same. Here it is written: until the
            # directory is synced, a loss of power brings earlier segments back.
            return lambda _, opened: opened.start_offset or None
        return self._high_watermark

    def _high_watermark(self, key: TopicPartition, opened: Log) -> int:
        # A partition that does not lead yet keeps the offset of the last checkpoint.
        return min(max(opened.high_watermark, self.initial_high_watermarks.get(key, 0)), opened.end_offset)

    def _write(self, log_dir: LogDir, name: str) -> None:
        """Writes one checkpoint with the offsets of the directory's logs."""
        offset_of = self._offset_of(name)
        with log_dir.checkpoint_lock:
            log_dir.stale_checkpoints.discard(name)
            with self._logs.lock:
                log_dir.note_look(name)
                deleted = frozenset(log_dir.deleted[name])
                logs = self._logs.logs_in(log_dir)
            offsets = ((key, offset_of(key, opened)) for key, opened in logs.items())
            try:
                log_dir.checkpoint(name).write({key: offset for key, offset in offsets if offset is not None})
            except OSError:
                log_dir.stale_checkpoints.add(name)
                raise
            with self._logs.lock:
                # Not those that were deleted during the write: the file still names them.
                log_dir.deleted[name] -= deleted
