"""Scheduled work on all logs: retention, flushing, expiry of producers, and reports about full disks and wrong indexes.

All of it runs on the scheduler's thread. An I/O error takes the directory of its log offline, and the work goes on with
the other logs.
"""

from __future__ import annotations

from kcore.logger import get_logger
from kcore.storage.segment import close_unused, distrusted_index_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kcore.config.broker import BrokerConfig
    from kcore.platform.disk import Disk
    from kcore.storage.log_checkpoints import LogCheckpoints
    from kcore.storage.managed_logs import ManagedLog, ManagedLogs
    from kcore.storage.scheduler import Scheduler

log = get_logger("kcore.storage.log_manager")


class LogMaintenance:
    """The periodic tasks of a broker's logs."""

    __slots__ = ("_checkpoints", "_config", "_disk", "_logs", "_reported_indexes", "_scheduler", "_wrong_indexes")

    def __init__(
        self, disk: Disk, config: BrokerConfig, logs: ManagedLogs, checkpoints: LogCheckpoints, scheduler: Scheduler
    ) -> None:
        self._disk = disk
        self._config = config
        self._logs = logs
        self._checkpoints = checkpoints
        self._scheduler = scheduler
        # How many indexes readers had found to be wrong at the last look, and the segments that were reported.
        self._wrong_indexes = 0
        self._reported_indexes: set[str] = set()
        checkpoints.on_changed_logs = self.report_full_disks

    def schedule(self) -> None:
        """Hands the tasks to the scheduler."""
        initial_ms = self._config.number("log.initial.task.delay.ms")
        watermark_ms = self._config.number("replica.high.watermark.checkpoint.interval.ms")
        write = self._checkpoints
        tasks: tuple[tuple[str, Callable[[], None], int, str], ...] = (
            ("kafka-log-retention", self.apply_retention, initial_ms, "log.retention.check.interval.ms"),
            ("kafka-log-flusher", self.flush_due, initial_ms, "log.flush.scheduler.interval.ms"),
            ("producer-expiration", self.expire_producers, 0, "producer.id.expiration.check.interval.ms"),
            (
                "recovery-point-checkpoint",
                write.write_recovery_points,
                initial_ms,
                "log.flush.offset.checkpoint.interval.ms",
            ),
            (
                "start-offset-checkpoint",
                write.write_log_start_offsets,
                initial_ms,
                "log.flush.start.offset.checkpoint.interval.ms",
            ),
            (
                "high-watermark-checkpoint",
                write.write_high_watermarks,
                0,
                "replica.high.watermark.checkpoint.interval.ms",
            ),
        )
        self._scheduler.schedule("flush-rolled-segments", self.flush_rolled, watermark_ms, watermark_ms)
        for name, run, delay_ms, period in tasks:
            self._scheduler.schedule(name, run, delay_ms=delay_ms, period_ms=self._config.number(period))

    def apply_retention(self) -> None:
        """Deletes the segments that are past their topic's retention."""
        for entry in self._logs.values():
            self._delete_old_segments(entry)

    def _delete_old_segments(self, entry: ManagedLog) -> None:
        with self._logs.guard(entry):
            if entry.log.delete_old_segments(self._disk.now_ms()):
                # The files are only renamed now. The same call removes them after file.delete.delay.ms.
                delay_ms = entry.config.file_delete_delay_ms + 1
                self._scheduler.schedule("delete-file", lambda: self._delete_old_segments(entry), delay_ms=delay_ms)

    def flush_due(self) -> None:
        """Flushes the logs that were not flushed for `flush.ms`."""
        for entry in self._logs.values():
            with self._logs.guard(entry):
                if self._disk.now_ms() - entry.log.last_flush_ms >= entry.config.flush_ms:
                    entry.log.flush()

    def flush_rolled(self) -> None:
        """Flushes finished segments, and closes files that were not read lately."""
        self._checkpoints.note_changes()
        with self._logs.lock:
            unflushed, self._logs.unflushed = self._logs.unflushed, set()
        for entry in unflushed:
            is_done = False
            with self._logs.guard(entry):
                entry.log.flush_rolled()
                is_done = True
            if not is_done and entry.log_dir.is_online and not entry.is_deleted:
                # File descriptors are lacking: try again next time.
                self._logs.unflushed.add(entry)
        self.report_wrong_indexes()
        close_unused()

    def expire_producers(self) -> None:
        """Removes the idempotent producers that wrote nothing for `producer.id.expiration.ms`."""
        for entry in self._logs.values():
            entry.log.producer_state.remove_expired(self._disk.now_ms())

    def report_full_disks(self, changed: Iterable[ManagedLog]) -> None:
        """Logs when a directory begins to refuse records because its disk is full, and when it accepts them again."""
        for entry in changed:
            log_dir, count = entry.log_dir, entry.log.refused_for_room
            if count != entry.reported_refusals:
                entry.reported_refusals, entry.refused_at = count, entry.log.end_offset
                if not log_dir.is_full:
                    log_dir.is_full = True
                    log.error(
                        "The disk of log directory %s is full. Producers get KAFKA_STORAGE_ERROR, consumers can read. "
                        "Free some space on the disk",
                        log_dir.path,
                    )
            elif log_dir.is_full and count and entry.log.end_offset > entry.refused_at:
                log_dir.is_full = False
                log.info("The disk of log directory %s has room again. Records are appended", log_dir.path)

    def report_wrong_indexes(self) -> None:
        """Logs the segments whose indexes readers found to be wrong. A counter shows whether there are new ones."""
        count = distrusted_index_count()
        if count == self._wrong_indexes:
            return
        self._wrong_indexes = count
        # A new set, so that the paths of deleted segments are dropped.
        reported, self._reported_indexes = self._reported_indexes, set()
        for entry in self._logs.values():
            for segment in entry.log.segments:
                if not segment.indexes_are_wrong:
                    continue
                self._reported_indexes.add(segment.path)
                if segment.path not in reported:
                    log.warn(
                        "The indexes of %s are wrong and are not used. Reads of this segment are slower until the next "
                        "start of the broker, which rebuilds them",
                        segment.path,
                    )
