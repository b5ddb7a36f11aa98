"""All logs of a broker, over its log directories (Kafka's `LogManager`).

Life: `open` locks the directories and reads to which cluster and broker they belong. `startup` opens the logs of the
topics in the metadata (with `num.recovery.threads.per.data.dir` threads a directory) and schedules retention, flushing
and checkpoints. `shutdown` flushes and closes everything and leaves the clean-shutdown markers.

| file | what |
|---|---|
| `managed_logs.py` | the table of open logs, its lock, and their I/O errors |
| `topic_log_configs.py` | the configuration of each topic's logs |
| `log_creation.py`, `log_deletion.py` | logs come and go |
| `log_checkpoints.py` | recovery points, log start offsets and high watermarks on disk |
| `log_maintenance.py` | scheduled work |

Failures: an operation that finds the disk full is refused or done later. A directory with any other I/O error goes
offline with its logs (`on_directory_failure` gets the partitions), and the other directories stay in use. When none is
left, `on_all_directories_failed` has to stop the broker. An error on the data plane is found by the next checkpoint of
high watermarks, which checks every log.

Concurrency: handler threads and the scheduler call at the same time; the table has the lock.
"""

from __future__ import annotations

from resource import RLIMIT_NOFILE, getrlimit

from kcore.logger import get_logger
from kcore.storage.checkpoints import WRITTEN_CHECKPOINTS
from kcore.storage.log_checkpoints import LogCheckpoints
from kcore.storage.log_committer import LogCommitter
from kcore.storage.log_creation import LogCreation
from kcore.storage.log_deletion import LogDeletion
from kcore.storage.log_dir_scan import LogDirScan, find_partitions, has_partitions, settle_duplicates
from kcore.storage.log_dirs import DESCRIPTOR_REMEDY, LogDirs, LogDirsError, is_descriptor_shortage
from kcore.storage.log_maintenance import LogMaintenance
from kcore.storage.managed_logs import ManagedLogs
from kcore.storage.recovery_threads import run_jobs
from kcore.storage.segment import bound_open_segments
from kcore.storage.topic_log_configs import TopicLogConfigs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kcore.config.broker import BrokerConfig
    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log import Log
    from kcore.storage.log_dir import LogDir
    from kcore.storage.log_dir_scan import FoundPartition, HostedTopic
    from kcore.storage.managed_logs import ManagedLog
    from kcore.storage.meta_properties import MetaProperties
    from kcore.storage.scheduler import Scheduler

    DirectoryFailureListener = Callable[[str, list[TopicPartition]], None]

log = get_logger(__name__)

# For this many logs, syncing their whole file systems costs less than syncing about ten files of each.
MIN_SYNCED_TOGETHER = 64


class LogManager:
    """`directories` are those of `log.dirs`. The two callbacks run on the thread that met the failure."""

    __slots__ = (
        "_config",
        "_configs",
        "_creation",
        "_deletion",
        "_disk",
        "_is_started",
        "_log_dirs",
        "_logs",
        "checkpoints",
        "maintenance",
        "on_all_directories_failed",
        "on_directory_failure",
    )

    def __init__(self, disk: Disk, directories: Sequence[str], config: BrokerConfig, scheduler: Scheduler) -> None:
        self._disk = disk
        self._config = config
        self._is_started = False
        self._log_dirs = LogDirs(disk, directories)
        self._logs = ManagedLogs(self._log_dirs, scheduler)
        self._configs = TopicLogConfigs(config)
        self.checkpoints = LogCheckpoints(self._logs)
        self.maintenance = LogMaintenance(disk, config, self._logs, self.checkpoints, scheduler)
        self._creation = LogCreation(disk, self._logs, self._configs, self.checkpoints)
        self._deletion = LogDeletion(disk, self._logs, self._configs, self.checkpoints, scheduler)
        self.on_directory_failure: DirectoryFailureListener | None = None
        self.on_all_directories_failed: Callable[[], None] | None = None

    # Start

    def open(self) -> MetaProperties | None:
        """Locks the directories and reads to which cluster and broker they belong; None when all are new.

        Raises what `LogDirs.open` raises.
        """
        return self._log_dirs.open()

    def startup(
        self,
        broker_id: int,
        cluster_id: str,
        topics: Mapping[str, HostedTopic],
        deleted_topic_ids: Collection[bytes] = (),
    ) -> None:
        """Opens the logs of the topics that this broker hosts, and starts the background work.

        Raises LogDirsError when a directory belongs to another broker or none is left, CorruptFileError for a damaged
        `partition.metadata`.
        """
        self._log_dirs.on_failure = self._directory_failed
        bound_open_segments(self._open_segment_limit())
        for name, topic in topics.items():
            self._configs.set(name, topic.overrides)
        self._log_dirs.claim(broker_id, cluster_id)
        scans = self._scan_directories(topics, deleted_topic_ids)
        settle_duplicates(scans, self._log_dirs)
        jobs = [self._load_jobs(scan, topics) for scan in scans]
        run_jobs(jobs, self._config.number("num.recovery.threads.per.data.dir"))
        for scan in scans:
            if scan.deletions:
                delay_ms = self._config.number("log.segment.delete.delay.ms")
                self._deletion.remove_later(scan.log_dir, scan.deletions, delay_ms)
            if scan.has_foreign_offsets():
                self.checkpoints.write_all(scan.log_dir)
        self._log_dirs.check_any_online()
        self._is_started = True
        self._log_dirs.rides_out_full_disks = True
        self.maintenance.schedule()

    def _scan_directories(
        self, topics: Mapping[str, HostedTopic], deleted_topic_ids: Collection[bytes]
    ) -> list[LogDirScan]:
        scans = []
        for log_dir in self._log_dirs.online():
            scan = LogDirScan(self._disk, log_dir, topics, deleted_topic_ids)
            with self._log_dirs.guard(log_dir):
                log_dir.take_clean_shutdown()
                log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
                self._start_committer(log_dir)
                scan.run()
                scans.append(scan)
        return scans

    def _start_committer(self, log_dir: LogDir) -> None:
        if self._config.flag("log.flush.group.commit"):
            log_dir.committer = LogCommitter()
            log_dir.committer.start()

    def _open_segment_limit(self) -> int:
        """`kcli.log.max.open.segments`. Default: half of the file descriptors; the others are for connections."""
        return self._config.number("kcli.log.max.open.segments") or max(1, getrlimit(RLIMIT_NOFILE)[0] // 2)

    def _load_jobs(self, scan: LogDirScan, topics: Mapping[str, HostedTopic]) -> list[Callable[[], None]]:
        def job(key: TopicPartition) -> Callable[[], None]:
            return lambda: self._load(scan, key, topics[key[0]].topic_id)

        return [job(key) for key in scan.logs]

    def _load(self, scan: LogDirScan, key: TopicPartition, topic_id: bytes) -> None:
        log_dir = scan.log_dir
        with self._log_dirs.guard(log_dir):
            if not log_dir.is_online:
                self._logs.offline.add(key)
                return
            recovery_point, start_offset = scan.recovery_points.get(key), scan.log_start_offsets.get(key, 0)
            try:
                entry = self._creation.open(log_dir, key, topic_id, recovery_point, start_offset)
            except OSError as error:
                if is_descriptor_shortage(error):
                    raise LogDirsError(
                        f"Cannot open the log of {key[0]}-{key[1]}: {error}; {DESCRIPTOR_REMEDY}"
                    ) from error
                raise
            if log_dir.committer is not None and entry.log.recovery_point < entry.log.end_offset:
                # After a crash the recovery point may be below acknowledged records. They are flushed before the log is
                # used: until the committer comes to this log, consumers would not see them.
                entry.log.flush()
            with self._logs.lock:
                self._logs.add(key, entry)
                self.checkpoints.initial_high_watermarks[key] = scan.high_watermarks.get(key, 0)

    # Configuration

    def update_topic_configs(self, overrides: Mapping[str, Mapping[str, str]]) -> None:
        """Gives the logs of topics their new configurations, from the next append on."""
        configs = self._configs.computed(overrides)
        with self._logs.lock:
            self._configs.take(configs, overrides)
            entries = [(entry, configs[topic]) for (topic, _), entry in self._logs.items() if topic in configs]
        for entry, config in entries:
            entry.config = config
            entry.log.update_config(config)

    # Logs

    def get_log(self, topic: str, partition: int) -> Log | None:
        """The log of a partition; None when it is not here or its directory is offline."""
        entry = self._logs.get((topic, partition))
        return entry.log if entry is not None else None

    def all_logs(self) -> dict[TopicPartition, Log]:
        """Every log that is open."""
        return {key: entry.log for key, entry in self._logs.items()}

    def logs_by_directory(self) -> list[tuple[LogDir, dict[TopicPartition, Log]]]:
        """Every log directory with its open logs. An offline directory has none."""
        return [(log_dir, self._logs.logs_in(log_dir)) for log_dir in self._log_dirs]

    def get_or_create_log(
        self,
        topic: str,
        partition: int,
        topic_id: bytes,
        overrides: Mapping[str, str] | None = None,
        *,
        is_new: bool = False,
    ) -> Log:
        """The partition's log. If there is none, it is created in the online directory with the fewest logs.

        `is_new` says that the partition was only just created, so that no offline directory can contain it. Raises
        INCONSISTENT_TOPIC_ID for another topic of the same name, KAFKA_STORAGE_ERROR when the log cannot be created:
        LogShortageError when that passes by itself.
        """
        return self._creation.get_or_create((topic, partition), topic_id, overrides, is_new=is_new)

    def delete_logs(self, partitions: Iterable[TopicPartition]) -> bool:
        """Closes logs and renames their directories for removal after `file.delete.delay.ms`; ignores unknown ones.

        The cost depends on these logs only, with one sync of each directory. Returns whether no directory of these
        partitions can come back at the next start: all of them are renamed on the device, and no log directory is
        offline.
        """
        return self._deletion.delete(partitions)

    def has_partitions(self) -> bool:
        """Whether there is the directory of any partition."""
        return any(has_partitions(self._disk, log_dir) for log_dir in self._log_dirs.online())

    def found_partitions(self) -> list[FoundPartition]:
        """The partitions whose directories exist, whatever the metadata says. Raises CorruptFileError, OSError."""
        return [found for log_dir in self._log_dirs.online() for found in find_partitions(self._disk, log_dir)]

    def highest_leader_epoch(self) -> int:
        """The highest leader epoch in any log, -1 without one."""
        return max((opened.latest_epoch for opened in self.all_logs().values()), default=-1)

    def highest_producer_id(self) -> int:
        """The highest producer id in the producer state of any log, -1 without one."""
        return max(
            (
                producer["producer_id"]
                for opened in self.all_logs().values()
                for producer in opened.producer_state.active_producers()
            ),
            default=-1,
        )

    def offline_directories(self) -> list[str]:
        """The log directories that are offline."""
        return [log_dir.path for log_dir in self._log_dirs if not log_dir.is_online]

    def is_offline(self, topic: str, partition: int) -> bool:
        """Whether the directory of a partition failed."""
        return (topic, partition) in self._logs.offline

    def offline_partitions(self) -> list[TopicPartition]:
        """Partitions in a failed directory, and those that were requested since and can only be there."""
        with self._logs.lock:
            return list(self._logs.offline)

    def checkpointed_high_watermark(self, topic: str, partition: int) -> int:
        """The high watermark in the checkpoint when the broker started; 0 for a log that was created since."""
        return self.checkpoints.initial_high_watermarks.get((topic, partition), 0)

    def save_start_offsets(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Writes the start offsets of these logs at once, so that deleted records stay deleted after a crash.

        Returns the partitions whose start offset is not on the device: their directory is offline or full.
        """
        return self.checkpoints.save_start_offsets(partitions)

    # Failure and end

    def _directory_failed(self, log_dir: LogDir) -> None:
        failed = self._logs.take_offline(log_dir)
        for entry in failed.values():
            # Its holders can no longer append or read. What it cannot write any more need not be reported.
            with self._logs.guard(entry):
                entry.log.close()
        log.error("%d partitions are offline because log directory %s failed", len(failed), log_dir.path)
        if self.on_directory_failure is not None:
            self.on_directory_failure(log_dir.path, list(failed))
        if not self._log_dirs.online() and self.on_all_directories_failed is not None:
            self.on_all_directories_failed()

    def shutdown(self, broker_epoch: int = -1) -> None:
        """Flushes and closes every log, writes the checkpoints and, if all succeeded, the clean-shutdown markers.

        Nothing is written after a start that failed: logs that were not opened may still need their recovery. The
        scheduler has to be stopped before. A second call does nothing.
        """
        was_started, self._is_started = self._is_started, False
        # A directory where something cannot be written now is not shut down cleanly.
        self._log_dirs.rides_out_full_disks = False
        self._stop_committers()
        if was_started:
            self._flush_and_close()
            for log_dir in self._log_dirs.online():
                self.checkpoints.write_all(log_dir)
        self._on_every_log("close")
        if was_started:
            self._mark_clean_shutdown(broker_epoch)
        self._logs.clear()
        self._log_dirs.close()

    def _mark_clean_shutdown(self, broker_epoch: int) -> None:
        for log_dir in self._log_dirs.online():
            with self._log_dirs.guard(log_dir):
                states = ((key, opened.left_clean()) for key, opened in self._logs.logs_in(log_dir).items())
                left_clean = {key: state for key, state in states if state is not None}
                log_dir.mark_clean_shutdown(broker_epoch, left_clean)

    def _stop_committers(self) -> None:
        for log_dir in self._log_dirs:
            committer, log_dir.committer = log_dir.committer, None
            if committer is not None:
                committer.shutdown()

    def _flush_and_close(self) -> None:
        """Flushes and closes the logs. Many unflushed logs are synced together, with their file systems.

        The checkpoints and markers, which say how far the logs are on the device, are written afterwards.
        """
        unflushed = sum(entry.log.recovery_point < entry.log.end_offset for entry in self._logs.values())
        is_deferred = unflushed >= MIN_SYNCED_TOGETHER and self._disk.defer_syncs()
        try:
            self._on_every_log("flush")
            self._on_every_log("close")
            if is_deferred:
                for log_dir in self._log_dirs.online():
                    with self._log_dirs.guard(log_dir):
                        self._disk.sync_deferred(log_dir.path)
        finally:
            if is_deferred:
                self._disk.end_deferral()

    def _on_every_log(self, method: str) -> None:
        def job(entry: ManagedLog) -> Callable[[], None]:
            def run() -> None:
                with self._logs.guard(entry):
                    if entry.log_dir.is_online:
                        getattr(entry.log, method)()

            return run

        entries = self._logs.values()
        jobs = [[job(entry) for entry in entries if entry.log_dir is log_dir] for log_dir in self._log_dirs.online()]
        run_jobs(jobs, self._config.number("num.recovery.threads.per.data.dir"))
