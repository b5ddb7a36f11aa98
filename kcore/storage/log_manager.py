"""All logs of a broker, over its log directories (Kafka's `LogManager`).

Life: `open` locks the directories and says whose they are, `startup` opens the logs of the topics that the metadata
names (with `num.recovery.threads.per.data.dir` threads a directory) and schedules retention, flushing and checkpoints,
`shutdown` flushes and closes everything and leaves the clean-shutdown markers.

Crash policy: logs are the truth. Recovery points only shorten recovery; high watermarks and log start offsets are
written every few seconds and at shutdown. A deleted log is renamed to `-delete`, durably, before `delete_logs` returns.
Its offsets leave the checkpoints when these are written next, or before a log of the same name is made there, so that a
new log can never inherit them. A start ignores the offsets of partitions that it does not find.

Failures: what finds no room on a full disk is refused or done later. A directory with any other I/O error goes offline
with its logs (`on_directory_failure` hears of the partitions), and the others go on; when none is left,
`on_all_directories_failed` has to stop the broker. An error that the data plane met is found by the next checkpoint of
high watermarks, which asks every log.

Concurrency: handler threads and the scheduler call at once. `_lock` guards the tables, and the making and deleting of
logs; it is not held over flushes, retention, recovery and callbacks.
"""

from __future__ import annotations

from resource import RLIMIT_NOFILE, getrlimit
from threading import RLock

from kcore import errors, uuid
from kcore.config.topic import TopicConfig
from kcore.logger import get_logger
from kcore.storage.checkpoints import (
    HIGH_WATERMARK_FILE,
    LOG_START_OFFSET_FILE,
    RECOVERY_POINT_FILE,
    WRITTEN_CHECKPOINTS,
)
from kcore.storage.directory_name import DELETE_SUFFIX, directory_name, renamed
from kcore.storage.directory_removal import remove_directory
from kcore.storage.log import take_changed
from kcore.storage.log_committer import LogCommitter
from kcore.storage.log_config import LogConfig
from kcore.storage.log_dir_scan import LogDirScan, find_partitions, has_partitions, settle_duplicates
from kcore.storage.log_dirs import (
    DESCRIPTOR_REMEDY,
    ROOM_REMEDY,
    LogDirs,
    LogDirsError,
    LogShortageError,
    is_descriptor_shortage,
    is_full_disk,
)
from kcore.storage.log_loader import load_log, new_log
from kcore.storage.partition_metadata import FILE_NAME as METADATA_FILE
from kcore.storage.partition_metadata import write_topic_id
from kcore.storage.recovery_threads import run_jobs
from kcore.storage.segment import bound_open_segments, close_unused, distrusted_index_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from typing import Any

    from kcore.config.broker import BrokerConfig
    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log import Log
    from kcore.storage.log_dir import LogDir
    from kcore.storage.log_dir_scan import FoundPartition, HostedTopic
    from kcore.storage.log_dirs import DirectoryGuard
    from kcore.storage.meta_properties import MetaProperties
    from kcore.storage.scheduler import Scheduler

    DirectoryFailureListener = Callable[[str, list[TopicPartition]], None]

log = get_logger(__name__)


# From so many logs on, syncing the file systems that they lie on costs less than some ten files of each.
SYNCED_TOGETHER = 64
FOUND = -1
# From so many deleted logs on that a checkpoint may still name, and from as many as there are logs, it is written.
DELETED_REMEMBERED = 1_000
# One task of the scheduler removes at most so many directories: the other tasks have their turn in between.
REMOVED_TOGETHER = 100


class ManagedLog:
    """A log, where it lies, to which topic it belongs and how it is configured.

    Work that began before the log was deleted may fail to find its files: once `is_deleted`, that is no I/O error.
    """

    __slots__ = (
        "_fail_later",
        "config",
        "is_deleted",
        "log",
        "log_dir",
        "made_at_look",
        "refusals_told",
        "refused_at",
        "topic_id",
    )

    log: Log

    def __init__(
        self,
        log_dir: LogDir,
        topic_id: bytes,
        config: LogConfig,
        fail_later: Callable[[ManagedLog, OSError], None],
    ) -> None:
        self.log_dir = log_dir
        self._fail_later = fail_later
        self.topic_id = topic_id
        self.config = config
        self.is_deleted = False
        # The last look at the logs for a checkpoint when this log was made; before all of them for one that was found.
        self.made_at_look = FOUND
        # For want of room on the disk: how many somebody was told of, and where the log ended then.
        self.refusals_told = 0
        self.refused_at = 0

    def on_failure(self, _: Log, error: OSError) -> None:
        """What the log is to call."""
        self._fail_later(self, error)


class LogManager:
    """`directories` are those of `log.dirs`. The two callbacks run on the thread that met the failure."""

    __slots__ = (
        "_config",
        "_configs",
        "_disk",
        "_doubts_looked_into",
        "_doubts_told",
        "_initial_high_watermarks",
        "_is_started",
        "_lock",
        "_log_dirs",
        "_logs",
        "_offline",
        "_overrides",
        "_scheduler",
        "_unflushed",
        "high_watermarks",
        "on_all_directories_failed",
        "on_directory_failure",
    )

    def __init__(self, disk: Disk, directories: Sequence[str], config: BrokerConfig, scheduler: Scheduler) -> None:
        self._disk = disk
        self._config = config
        self._scheduler = scheduler
        self._log_dirs = LogDirs(disk, directories)
        self._lock = RLock()
        self._is_started = False
        self._logs: dict[TopicPartition, ManagedLog] = {}
        # Partitions whose directory failed, as far as they are known.
        self._offline: set[TopicPartition] = set()
        # Changed since finished segments were last brought onto the device.
        self._unflushed: set[ManagedLog] = set()
        # By topic.
        self._configs: dict[str, LogConfig] = {}
        # What they were made from: one look at the configuration serves all partitions of a topic.
        self._overrides: dict[str, Mapping[str, str]] = {}
        # As the last checkpoints had them when the broker started.
        self._initial_high_watermarks: dict[TopicPartition, int] = {}
        # Where the broker's high watermarks come from; None: from the logs themselves.
        self.high_watermarks: Callable[[], Mapping[TopicPartition, int]] | None = None
        # How many findings of wrong indexes were looked into, and of which segments somebody has read.
        self._doubts_looked_into = 0
        self._doubts_told: set[str] = set()
        self.on_directory_failure: DirectoryFailureListener | None = None
        self.on_all_directories_failed: Callable[[], None] | None = None

    # Start

    def open(self) -> MetaProperties | None:
        """Locks the directories; the answer is whose they are, None when all are new. Errors as of `LogDirs.open`."""
        return self._log_dirs.open()

    def startup(
        self,
        broker_id: int,
        cluster_id: str,
        topics: Mapping[str, HostedTopic],
        deleted_topic_ids: Collection[bytes] = (),
    ) -> None:
        """Opens the logs of the topics that this broker hosts, and starts the background work.

        Raises LogDirsError when a directory is someone else's or none is left, CorruptFileError for a damaged
        `partition.metadata`.
        """
        self._log_dirs.on_failure = self._directory_failed
        bound_open_segments(self._open_segment_limit())
        for name, topic in topics.items():
            self._set_config(name, topic.overrides)
        self._log_dirs.claim(broker_id, cluster_id)
        scans = []
        for log_dir in self._log_dirs.online():
            scan = LogDirScan(self._disk, log_dir, topics, deleted_topic_ids)
            with self._log_dirs.guard(log_dir):
                log_dir.take_clean_shutdown()
                log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
                self._start_committer(log_dir)
                scan.run()
                scans.append(scan)
        settle_duplicates(scans, self._log_dirs)
        jobs = [self._load_jobs(scan, topics) for scan in scans]
        run_jobs(jobs, self._config.number("num.recovery.threads.per.data.dir"))
        for scan in scans:
            if scan.deletions:
                delay_ms = self._config.number("log.segment.delete.delay.ms")
                self._schedule_removal(scan.log_dir, scan.deletions, delay_ms)
            if scan.has_foreign_offsets():
                self._write_checkpoints(scan.log_dir)
        self._log_dirs.check_any_online()
        self._is_started = True
        self._log_dirs.rides_out_full_disks = True
        self._schedule_tasks()

    def _start_committer(self, log_dir: LogDir) -> None:
        if self._config.flag("log.flush.group.commit"):
            log_dir.committer = LogCommitter()
            log_dir.committer.start()

    def _open_segment_limit(self) -> int:
        """`kcli.log.max.open.segments`, a descriptor each; the others are for connections."""
        return self._config.number("kcli.log.max.open.segments") or max(1, getrlimit(RLIMIT_NOFILE)[0] // 2)

    def _load_jobs(self, scan: LogDirScan, topics: Mapping[str, HostedTopic]) -> list[Callable[[], None]]:
        def job(key: TopicPartition) -> Callable[[], None]:
            return lambda: self._load(scan, key, topics[key[0]].topic_id)

        return [job(key) for key in scan.logs]

    def _load(self, scan: LogDirScan, key: TopicPartition, topic_id: bytes) -> None:
        log_dir = scan.log_dir
        with self._log_dirs.guard(log_dir):
            if not log_dir.is_online:
                self._offline.add(key)
                return
            recovery_point, start_offset = scan.recovery_points.get(key), scan.log_start_offsets.get(key, 0)
            try:
                entry = self._open_log(log_dir, key, topic_id, recovery_point, start_offset)
            except OSError as error:
                if is_descriptor_shortage(error):
                    raise LogDirsError(f"The logs cannot be opened: {error}; {DESCRIPTOR_REMEDY}") from error
                raise
            if log_dir.committer is not None and entry.log.recovery_point < entry.log.end_offset:
                # After a crash the recovery point may lie below what was acknowledged. Nobody must find that out of
                # sight, above the high watermark, until the committer has come to this log.
                entry.log.flush()
            with self._lock:
                self._add(key, entry)
                self._initial_high_watermarks[key] = scan.high_watermarks.get(key, 0)

    def _add(self, key: TopicPartition, entry: ManagedLog) -> None:
        committer = entry.log_dir.committer
        if committer is not None:
            entry.log.set_committer(committer)
        self._logs[key] = entry
        entry.log_dir.log_count += 1
        entry.log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)

    def _remove(self, key: TopicPartition) -> ManagedLog | None:
        entry = self._logs.pop(key, None)
        if entry is not None:
            entry.log_dir.log_count -= 1
            entry.log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
            self._unflushed.discard(entry)
        return entry

    def _open_log(
        self,
        log_dir: LogDir,
        key: TopicPartition,
        topic_id: bytes,
        recovery_point: int | None = None,
        start_offset: int = 0,
    ) -> ManagedLog:
        """`recovery_point` 0: nothing of it is known to be sound, as of a log that was put here (`partition_import`).

        A clean shutdown, which would have noted a log's end, has not spoken for that one; the device has all of it.
        """
        topic, partition = key
        entry = self._managed(log_dir, key, topic_id)
        entry.log = load_log(
            self._disk,
            f"{log_dir.path}/{directory_name(topic, partition)}",
            topic,
            partition,
            entry.config,
            recovery_point=recovery_point or 0,
            log_start_offset=start_offset,
            clean_shutdown=log_dir.had_clean_shutdown and recovery_point != 0,
            is_durable=log_dir.had_clean_shutdown,
            left=log_dir.left_clean.pop(key, None),
            on_failure=entry.on_failure,
        )
        return entry

    def _managed(self, log_dir: LogDir, key: TopicPartition, topic_id: bytes) -> ManagedLog:
        return ManagedLog(log_dir, topic_id, self._configs[key[0]], self._fail_later)

    # Configuration

    def _log_config(self, overrides: Mapping[str, str]) -> LogConfig:
        properties: Any = TopicConfig(self._config, overrides)
        config = LogConfig.from_properties(properties)
        # The settings of a log that no topic can override.
        config.producer_expiration_ms = self._config.number("producer.id.expiration.ms")
        config.decompressed_limit_bytes = self._config.number("kcli.batch.max.decompressed.bytes")
        return config

    def _set_config(self, topic: str, overrides: Mapping[str, str]) -> LogConfig:
        config = self._configs[topic] = self._log_config(overrides)
        self._overrides[topic] = dict(overrides)
        return config

    def update_topic_config(self, topic: str, overrides: Mapping[str, str]) -> None:
        """`update_topic_configs` of one."""
        self.update_topic_configs({topic: overrides})

    def update_topic_configs(self, overrides: Mapping[str, Mapping[str, str]]) -> None:
        """Gives the logs of topics their new configurations, from the next append on.

        Topics with the same overrides share one, so that a changed default of ten thousand topics is one computation.
        """
        shared: dict[frozenset[tuple[str, str]], LogConfig] = {}
        configs = {}
        for topic, own in overrides.items():
            key = frozenset(own.items())
            if key not in shared:
                shared[key] = self._log_config(own)
            configs[topic] = shared[key]
        with self._lock:
            self._configs.update(configs)
            self._overrides.update((topic, dict(own)) for topic, own in overrides.items())
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
        with self._lock:
            return {key: entry.log for key, entry in self._logs.items()}

    def logs_by_directory(self) -> list[tuple[LogDir, dict[TopicPartition, Log]]]:
        """Every log directory, with the logs that are open in it: none where it is out of use."""
        return [(log_dir, self._logs_in(log_dir)) for log_dir in self._log_dirs]

    def has_partitions(self) -> bool:
        """Whether the directory of any partition is there."""
        return any(has_partitions(self._disk, log_dir) for log_dir in self._log_dirs.online())

    def found_partitions(self) -> list[FoundPartition]:
        """The partitions whose directories are there, whatever the metadata says; CorruptFileError, OSError."""
        return [found for log_dir in self._log_dirs.online() for found in find_partitions(self._disk, log_dir)]

    def highest_leader_epoch(self) -> int:
        """The highest in any log, -1 without one."""
        return max((opened.latest_epoch for opened in self.all_logs().values()), default=-1)

    def highest_producer_id(self) -> int:
        """The highest of those that logs remember, -1 without one."""
        return max(
            (
                producer["producer_id"]
                for opened in self.all_logs().values()
                for producer in opened.producer_state.active_producers()
            ),
            default=-1,
        )

    def offline_directories(self) -> list[str]:
        """The log directories out of use."""
        return [log_dir.path for log_dir in self._log_dirs if not log_dir.is_online]

    def is_offline(self, topic: str, partition: int) -> bool:
        """Whether the directory of a partition failed."""
        return (topic, partition) in self._offline

    def offline_partitions(self) -> list[TopicPartition]:
        """Those whose directory failed, and those asked for since that can only lie in one that did."""
        with self._lock:
            return list(self._offline)

    def checkpointed_high_watermark(self, topic: str, partition: int) -> int:
        """The high watermark that the broker found when it started; 0 for a log made since."""
        return self._initial_high_watermarks.get((topic, partition), 0)

    def get_or_create_log(
        self,
        topic: str,
        partition: int,
        topic_id: bytes,
        overrides: Mapping[str, str] | None = None,
        *,
        is_new: bool = False,
    ) -> Log:
        """The partition's log, made in the directory with the fewest logs when there is none.

        `is_new` says that the partition was only just created, so that no offline directory can hold it. Raises
        INCONSISTENT_TOPIC_ID for another topic of the same name, KAFKA_STORAGE_ERROR when there is no place for it:
        LogShortageError where that passes by itself.
        """
        key = (topic, partition)
        failures: dict[str, Exception] = {}
        while True:
            with self._lock:
                entry = self._logs.get(key)
                if entry is not None:
                    if entry.topic_id != topic_id:
                        raise errors.InconsistentTopicIdError(
                            f"The log of {topic}-{partition} belongs to topic id {uuid.to_text(entry.topic_id)}, "
                            f"not {uuid.to_text(topic_id)}."
                        )
                    return entry.log
                if overrides is None:
                    overrides = self._overrides.get(topic, {})
                if overrides != self._overrides.get(topic):
                    self._set_config(topic, overrides)
                log_dir = self._directory_for_new_log(key, is_new, failures)
                try:
                    if not any(key in deleted for deleted in log_dir.deleted.values()):
                        return self._create_log(log_dir, key, topic_id)
                except (OSError, errors.KafkaStorageError) as error:
                    failures[log_dir.path] = error
                    self._note_unmade(log_dir, key, error)
                    continue
            # Not under the lock, which is taken under that of the checkpoints.
            try:
                self._drop_offsets(log_dir, key)
            except OSError as error:
                failures[log_dir.path] = error
                self._note_unmade(log_dir, key, error)

    def _drop_offsets(self, log_dir: LogDir, key: TopicPartition) -> None:
        """Writes the checkpoints that may still name a deleted log of this name; one write serves all names in them."""
        for name, write in self._checkpoint_writers():
            if key in log_dir.deleted[name]:
                write(log_dir)

    def _note_unmade(self, log_dir: LogDir, key: TopicPartition, error: Exception) -> None:
        """Another directory gets its turn, unless it is descriptors that are lacking."""
        if is_descriptor_shortage(error):
            raise LogShortageError(f"No log can be made for {key[0]}-{key[1]}: {error}; {DESCRIPTOR_REMEDY}") from error
        if is_full_disk(error):
            self._forget_half_made(log_dir, key)
        else:
            self._fail_dir_later(log_dir, error)

    def _forget_half_made(self, log_dir: LogDir, key: TopicPartition) -> None:
        """Another directory gets its turn: what was begun here would be found as a second one by the next start."""
        path = f"{log_dir.path}/{directory_name(*key)}"
        try:
            if self._disk.exists(path) and not set(self._disk.listdir(path)) - {METADATA_FILE}:
                remove_directory(self._disk, path)
        except OSError as error:
            if not is_full_disk(error):
                self._fail_dir_later(log_dir, error)
            else:
                log.error("%s stays half made for now: %s; %s", path, error, ROOM_REMEDY)

    def _directory_for_new_log(self, key: TopicPartition, is_new: bool, failures: Mapping[str, Exception]) -> LogDir:
        """`failures` are those of the directories that were tried already."""
        online = [log_dir for log_dir in self._log_dirs.online() if log_dir.path not in failures]
        full = [path for path, error in failures.items() if is_full_disk(error)]
        if full and not online:
            raise LogShortageError(
                f"Can not create log for {key[0]}-{key[1]}: {', '.join(full)} has no room; {ROOM_REMEDY}"
            )
        offline = self.offline_directories()
        offline += [path for path in failures if path not in full and path not in offline]
        if not online or (not is_new and (offline or key in self._offline)):
            # A start that could not read its directory has not seen it.
            self._offline.add(key)
            raise errors.KafkaStorageError(
                f"Can not create log for {key[0]}-{key[1]} because log directories {', '.join(offline)} are offline"
            )
        return min(online, key=lambda log_dir: log_dir.log_count)

    def _create_log(self, log_dir: LogDir, key: TopicPartition, topic_id: bytes) -> Log:
        """Nothing is synced: the log's first flush does that, and without a record it is made anew after a crash."""
        path = f"{log_dir.path}/{directory_name(*key)}"
        try:
            self._disk.mkdir(path)
        except FileExistsError:
            # Of an attempt that failed half-way.
            write_topic_id(self._disk, path, topic_id)
            entry = self._open_log(log_dir, key, topic_id)
        else:
            write_topic_id(self._disk, path, topic_id)
            entry = self._managed(log_dir, key, topic_id)
            entry.made_at_look = log_dir.look
            entry.log = new_log(self._disk, path, *key, entry.config, on_failure=entry.on_failure)
        self._offline.discard(key)
        self._add(key, entry)
        log.debug("Created log for partition %s-%d in %s", *key, path)
        return entry.log

    def delete_log(self, topic: str, partition: int) -> None:
        """`delete_logs` of one."""
        self.delete_logs([(topic, partition)])

    def delete_logs(self, partitions: Iterable[TopicPartition]) -> bool:
        """Closes logs and renames their directories for removal after `file.delete.delay.ms`; unknown ones are none.

        The cost is that of these logs, whatever else is in their directories, with one sync of each directory. Returns
        whether no directory of these partitions can come back at the next start: all of them are renamed on the device,
        and no log directory is out of use.
        """
        renamed_in: dict[int, tuple[LogDir, dict[int, list[str]]]] = {}
        keys = list(partitions)
        pending: set[object] = set()
        for key in keys:
            self._offline.discard(key)
            self._initial_high_watermarks.pop(key, None)
            entry = self._logs.get(key)
            if entry is not None:
                log_dir = entry.log_dir
                _, names = renamed_in.setdefault(id(log_dir), (log_dir, {}))
                pending.add(key)
                # The lock is given back before a failure is told.
                with self._log_dirs.guard(log_dir), self._lock:
                    if self._remove(key) is not None:
                        entry.is_deleted = True
                        log_dir.note_deleted(key, entry.made_at_look)
                        name = self._set_aside_for_removal(key, entry)
                        names.setdefault(entry.config.file_delete_delay_ms, []).append(name)
                    pending.discard(key)
        self._forget_configs({topic for topic, _ in keys})
        for log_dir, names in renamed_in.values():
            for delay_ms, own in names.items():
                self._schedule_removal(log_dir, own, delay_ms)
            pending.add(log_dir)
            with self._log_dirs.guard(log_dir):
                self._disk.fsync_dir(log_dir.path)
                pending.discard(log_dir)
                self._bound_deleted(log_dir)
        return not pending and not self.offline_directories()

    def _forget_configs(self, topics: Iterable[str]) -> None:
        """The configurations of deleted topics; a log that is created later computes its own."""
        with self._lock:
            for topic in topics:
                self._configs.pop(topic, None)
                self._overrides.pop(topic, None)

    def _set_aside_for_removal(self, key: TopicPartition, entry: ManagedLog) -> str:
        """The name that the log's directory has now."""
        log_dir = entry.log_dir
        name = renamed(*key, DELETE_SUFFIX)
        entry.log.close(for_deletion=True)
        self._disk.rename(f"{log_dir.path}/{directory_name(*key)}", f"{log_dir.path}/{name}")
        log.debug("Log of partition %s-%d is marked for deletion as %s", *key, name)
        return name

    def _bound_deleted(self, log_dir: LogDir) -> None:
        """Writes the checkpoints that may name as many deleted logs as there are logs: a bound, at a constant cost."""
        bound = max(DELETED_REMEMBERED, log_dir.log_count)
        for name, write in self._checkpoint_writers():
            if len(log_dir.deleted[name]) > bound:
                write(log_dir)

    def _schedule_removal(self, log_dir: LogDir, names: Sequence[str], delay_ms: int) -> None:
        """Removes directories, a few at a time."""

        def remove() -> None:
            for name in names[:REMOVED_TOGETHER]:
                with self._log_dirs.guard(log_dir):
                    if log_dir.is_online:
                        remove_directory(self._disk, f"{log_dir.path}/{name}")
                        log.debug("Deleted log directory %s/%s", log_dir.path, name)
            if len(names) > REMOVED_TOGETHER:
                self._schedule_removal(log_dir, names[REMOVED_TOGETHER:], 0)

        self._scheduler.schedule("kafka-delete-logs", remove, delay_ms=delay_ms)

    # Background work

    def _schedule_tasks(self) -> None:
        initial_ms = self._config.number("log.initial.task.delay.ms")
        watermark_ms = self._config.number("replica.high.watermark.checkpoint.interval.ms")
        self._scheduler.schedule("flush-rolled-segments", self.flush_rolled_segments, watermark_ms, watermark_ms)
        recovery_points, start_offsets = self.checkpoint_recovery_points, self.checkpoint_log_start_offsets
        watermarks = self.checkpoint_high_watermarks
        for name, run, delay_ms, period in (
            ("kafka-log-retention", self.apply_retention, initial_ms, "log.retention.check.interval.ms"),
            ("kafka-log-flusher", self.flush_due_logs, initial_ms, "log.flush.scheduler.interval.ms"),
            ("producer-expiration", self.expire_producers, 0, "producer.id.expiration.check.interval.ms"),
            ("recovery-point-checkpoint", recovery_points, initial_ms, "log.flush.offset.checkpoint.interval.ms"),
            ("start-offset-checkpoint", start_offsets, initial_ms, "log.flush.start.offset.checkpoint.interval.ms"),
            ("high-watermark-checkpoint", watermarks, 0, "replica.high.watermark.checkpoint.interval.ms"),
        ):
            self._scheduler.schedule(name, run, delay_ms=delay_ms, period_ms=self._config.number(period))

    def _entries(self) -> list[tuple[TopicPartition, ManagedLog]]:
        with self._lock:
            return list(self._logs.items())

    def apply_retention(self) -> None:
        """Lets every log drop the segments that its topic's retention no longer covers."""
        for _, entry in self._entries():
            self._delete_old_segments(entry)

    def _delete_old_segments(self, entry: ManagedLog) -> None:
        with self._guard(entry):
            if entry.log.delete_old_segments(self._disk.now_ms()):
                # Renamed for now; the same call removes the files once their time has come.
                delay_ms = entry.config.file_delete_delay_ms + 1
                self._scheduler.schedule("delete-file", lambda: self._delete_old_segments(entry), delay_ms=delay_ms)

    def flush_due_logs(self) -> None:
        """Flushes the logs whose last flush is `flush.ms` ago."""
        for _, entry in self._entries():
            with self._guard(entry):
                if self._disk.now_ms() - entry.log.last_flush_ms >= entry.config.flush_ms:
                    entry.log.flush()

    def _note_changes(self) -> None:
        """Sorts what has changed since the last look for those who write it down; of idle logs only a flag is read."""
        with self._lock:
            changed: list[ManagedLog] = take_changed(list(self._logs.values()))
            self._unflushed.update(changed)
        for entry in changed:
            entry.log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
            entry.log.report_failure()
        self._tell_of_full_disks(changed)

    def _tell_of_full_disks(self, changed: Iterable[ManagedLog]) -> None:
        """Says when a directory begins to refuse records for want of room, and when it takes them again."""
        for entry in changed:
            log_dir, count = entry.log_dir, entry.log.refused_for_room
            if count != entry.refusals_told:
                entry.refusals_told, entry.refused_at = count, entry.log.end_offset
                if not log_dir.is_full:
                    log_dir.is_full = True
                    log.error(
                        "The disk of log directory %s is full: producers are refused with KAFKA_STORAGE_ERROR until "
                        "there is room, readers go on",
                        log_dir.path,
                    )
            elif log_dir.is_full and count and entry.log.end_offset > entry.refused_at:
                log_dir.is_full = False
                log.info("Log directory %s has room again: records are appended", log_dir.path)

    def flush_rolled_segments(self) -> None:
        """Brings segments onto the device that are finished, and closes files that nobody has read from lately."""
        self._note_changes()
        with self._lock:
            unflushed, self._unflushed = self._unflushed, set()
        for entry in unflushed:
            is_done = False
            with self._guard(entry):
                entry.log.flush_rolled()
                is_done = True
            if not is_done and entry.log_dir.is_online and not entry.is_deleted:
                # For want of descriptors: it has its turn again.
                self._unflushed.add(entry)
        self._tell_of_wrong_indexes()
        close_unused()

    def _tell_of_wrong_indexes(self) -> None:
        """Names the indexes that readers found to contradict their segments; a count says whether there is news."""
        count = distrusted_index_count()
        if count == self._doubts_looked_into:
            return
        self._doubts_looked_into = count
        # Replaced as a whole, so that the paths of deleted segments are not kept.
        told_before, self._doubts_told = self._doubts_told, set()
        for _, entry in self._entries():
            for segment in entry.log.segments:
                if not segment.indexes_are_wrong:
                    continue
                self._doubts_told.add(segment.path)
                if segment.path not in told_before:
                    log.warn(
                        "The indexes of %s contradict it and are not believed: reads of this segment take longer until "
                        "the next start, which builds them anew",
                        segment.path,
                    )

    def expire_producers(self) -> None:
        """Forgets the idempotent producers that have been silent for `producer.id.expiration.ms`."""
        for _, entry in self._entries():
            entry.log.producer_state.remove_expired(self._disk.now_ms())

    def checkpoint_recovery_points(self) -> None:
        """Writes up to where each log is known to be on the device."""
        self._write_stale(RECOVERY_POINT_FILE, self._write_recovery_points)

    def _write_stale(self, name: str, write: Callable[[LogDir], None]) -> None:
        """Writes a checkpoint of every directory where it would not say the same again."""
        self._note_changes()
        for log_dir in self._log_dirs.online():
            if name in log_dir.stale_checkpoints:
                with self._log_dirs.guard(log_dir):
                    write(log_dir)

    def checkpoint_log_start_offsets(self) -> None:
        """Writes where those logs begin that do not begin at 0."""
        self._write_stale(LOG_START_OFFSET_FILE, self._write_log_start_offsets)

    def save_start_offsets(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        """Writes at once where these logs begin, so that records that were deleted stay deleted after a crash.

        The answer is those of which that is not on the device: the directory is offline now, or has no room.
        """
        with self._lock:
            entries = {key: self._logs[key] for key in partitions if key in self._logs}
        undone: set[TopicPartition] = set()
        for log_dir in {id(entry.log_dir): entry.log_dir for entry in entries.values()}.values():
            is_done = False
            with self._log_dirs.guard(log_dir):
                self._write_log_start_offsets(log_dir)
                is_done = True
            if not is_done:
                undone.update(key for key, entry in entries.items() if entry.log_dir is log_dir)
        return undone

    def checkpoint_high_watermarks(self) -> None:
        """Writes the high watermarks, and takes directories offline whose logs met an error on the data plane."""
        self._write_stale(HIGH_WATERMARK_FILE, self._write_high_watermarks)

    def _write_checkpoints(self, log_dir: LogDir) -> None:
        # Those that cannot be written now have their turn with the next look.
        log_dir.stale_checkpoints.update(WRITTEN_CHECKPOINTS)
        with self._log_dirs.guard(log_dir):
            if log_dir.is_online:
                for _, write in self._checkpoint_writers():
                    write(log_dir)

    def _logs_in(self, log_dir: LogDir) -> dict[TopicPartition, Log]:
        return {key: entry.log for key, entry in self._entries() if entry.log_dir is log_dir}

    def _checkpoint_writers(self) -> tuple[tuple[str, Callable[[LogDir], None]], ...]:
        return (
            (RECOVERY_POINT_FILE, self._write_recovery_points),
            (LOG_START_OFFSET_FILE, self._write_log_start_offsets),
            (HIGH_WATERMARK_FILE, self._write_high_watermarks),
        )

    def _write_recovery_points(self, log_dir: LogDir) -> None:
        self._write_checkpoint(log_dir, RECOVERY_POINT_FILE, lambda _, opened: opened.recovery_point)

    def _write_log_start_offsets(self, log_dir: LogDir) -> None:
        # Also where the first segment's name says the same, which Kafka leaves out: until the directory is synced, a
        # loss of power brings segments back that were before it.
        self._write_checkpoint(log_dir, LOG_START_OFFSET_FILE, lambda _, opened: opened.start_offset or None)

    def _write_high_watermarks(self, log_dir: LogDir) -> None:
        known = self.high_watermarks() if self.high_watermarks is not None else {}

        def watermark(key: TopicPartition, opened: Log) -> int:
            # A partition that is not led or followed yet keeps what the last checkpoint said.
            kept = self._initial_high_watermarks.get(key, 0)
            return min(max(known.get(key, opened.high_watermark), kept), opened.end_offset)

        self._write_checkpoint(log_dir, HIGH_WATERMARK_FILE, watermark)

    def _write_checkpoint(
        self, log_dir: LogDir, name: str, offset_of: Callable[[TopicPartition, Log], int | None]
    ) -> None:
        """Writes the offsets of the directory's logs; those that have none are left out."""
        with log_dir.checkpoint_lock:
            log_dir.stale_checkpoints.discard(name)
            with self._lock:
                log_dir.note_look(name)
                deleted = frozenset(log_dir.deleted[name])
                logs = self._logs_in(log_dir)
            offsets = ((key, offset_of(key, opened)) for key, opened in logs.items())
            try:
                log_dir.checkpoint(name).write({key: offset for key, offset in offsets if offset is not None})
            except OSError:
                log_dir.stale_checkpoints.add(name)
                raise
            with self._lock:
                # Only what was deleted before the look at the logs: the file does not name it any more.
                log_dir.deleted[name] -= deleted

    # Failure and end

    def _guard(self, entry: ManagedLog) -> DirectoryGuard:
        return self._log_dirs.guard(entry.log_dir, unless=lambda: entry.is_deleted)

    def _fail_later(self, entry: ManagedLog, error: OSError) -> None:
        if not entry.is_deleted:
            self._fail_dir_later(entry.log_dir, error)

    def _fail_dir_later(self, log_dir: LogDir, error: Exception) -> None:
        """Told by the scheduler, since the thread that met the error may hold any lock."""
        self._scheduler.schedule("log-dir-failure", lambda: self._log_dirs.fail(log_dir, error))

    def _directory_failed(self, log_dir: LogDir) -> None:
        with self._lock:
            failed = {key: entry for key, entry in self._logs.items() if entry.log_dir is log_dir}
            for key in failed:
                self._remove(key)
            self._offline.update(failed)
        for entry in failed.values():
            # It refuses appends and reads from now on, whoever holds it; what it cannot write any more is no news.
            with self._guard(entry):
                entry.log.close()
        partitions = list(failed)
        log.error("%d partitions in %s are offline with it", len(partitions), log_dir.path)
        if self.on_directory_failure is not None:
            self.on_directory_failure(log_dir.path, partitions)
        if not self._log_dirs.online() and self.on_all_directories_failed is not None:
            self.on_all_directories_failed()

    def shutdown(self, broker_epoch: int = -1) -> None:
        """Flushes and closes every log, writes the checkpoints and, where all went well, the clean-shutdown markers.

        After a start that failed nothing is written: logs that were not opened may still need their recovery. The
        scheduler has to be stopped before. Calling it again does nothing.
        """
        was_started, self._is_started = self._is_started, False
        # What cannot be written now was not shut down cleanly.
        self._log_dirs.rides_out_full_disks = False
        self._stop_committers()
        if was_started:
            self._flush_and_close()
            for log_dir in self._log_dirs.online():
                self._write_checkpoints(log_dir)
        self._on_every_log("close")
        if was_started:
            for log_dir in self._log_dirs.online():
                with self._log_dirs.guard(log_dir):
                    states = ((key, opened.left_clean()) for key, opened in self._logs_in(log_dir).items())
                    left_clean = {key: state for key, state in states if state is not None}
                    log_dir.mark_clean_shutdown(broker_epoch, left_clean)
        with self._lock:
            self._logs.clear()
            self._unflushed.clear()
        self._log_dirs.close()

    def _stop_committers(self) -> None:
        for log_dir in self._log_dirs:
            committer, log_dir.committer = log_dir.committer, None
            if committer is not None:
                committer.shutdown()

    def _flush_and_close(self) -> None:
        """Many logs with something to flush are not synced file by file, but with their file systems at once.

        What says how far they are on the device is written afterwards.
        """
        unflushed = sum(entry.log.recovery_point < entry.log.end_offset for _, entry in self._entries())
        is_deferred = unflushed >= SYNCED_TOGETHER and self._disk.defer_syncs()
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
                with self._guard(entry):
                    if entry.log_dir.is_online:
                        getattr(entry.log, method)()

            return run

        entries = [entry for _, entry in self._entries()]
        jobs = [[job(entry) for entry in entries if entry.log_dir is log_dir] for log_dir in self._log_dirs.online()]
        run_jobs(jobs, self._config.number("num.recovery.threads.per.data.dir"))
