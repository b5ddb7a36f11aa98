"""Opening and creating logs: which directory gets a new log, and what happens when it cannot be created there.

A new log goes to the online directory with the fewest logs. When a directory has no room or fails, the next one is
tried; a shortage of file descriptors ends the attempt, because it concerns all directories. Nothing is synced here: the
log's first flush does that, and an empty log is created again after a crash.
"""

from __future__ import annotations

from kcore import errors, uuid
from kcore.logger import get_logger
from kcore.storage.directory_name import directory_name
from kcore.storage.directory_removal import remove_directory
from kcore.storage.log_dirs import (
    DESCRIPTOR_REMEDY,
    ROOM_REMEDY,
    LogShortageError,
    is_descriptor_shortage,
    is_full_disk,
)
from kcore.storage.log_loader import load_log, new_log
from kcore.storage.managed_logs import ManagedLog
from kcore.storage.partition_metadata import FILE_NAME as METADATA_FILE
from kcore.storage.partition_metadata import write_topic_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log import Log
    from kcore.storage.log_checkpoints import LogCheckpoints
    from kcore.storage.log_dir import LogDir
    from kcore.storage.managed_logs import ManagedLogs
    from kcore.storage.topic_log_configs import TopicLogConfigs

log = get_logger("kcore.storage.log_manager")


class LogCreation:
    """Opens and creates logs for the table of logs."""

    __slots__ = ("_checkpoints", "_configs", "_disk", "_log_dirs", "_logs")

    def __init__(self, disk: Disk, logs: ManagedLogs, configs: TopicLogConfigs, checkpoints: LogCheckpoints) -> None:
        self._disk = disk
        self._logs = logs
        self._log_dirs = logs.log_dirs
        self._configs = configs
        self._checkpoints = checkpoints

    def open(
        self,
        log_dir: LogDir,
        key: TopicPartition,
        topic_id: bytes,
        recovery_point: int | None = None,
        start_offset: int = 0,
    ) -> ManagedLog:
        """Opens the log of an existing directory.

        Recovery point 0 forces recovery even after a clean shutdown: such a log was put here by `partition_import`, and
        the shutdown has not checked it.
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

    def get_or_create(
        self, key: TopicPartition, topic_id: bytes, overrides: Mapping[str, str] | None, *, is_new: bool
    ) -> Log:
        """`LogManager.get_or_create_log`."""
        failures: dict[str, Exception] = {}
        while True:
            with self._logs.lock:
                entry = self._logs.get(key)
                if entry is not None:
                    check_topic_id(key, entry.topic_id, topic_id)
                    return entry.log
                self._configs.ensure(key[0], overrides)
                log_dir = self._directory_for(key, is_new, failures)
                try:
                    if not any(key in deleted for deleted in log_dir.deleted.values()):
                        return self._create(log_dir, key, topic_id)
                except (OSError, errors.KafkaStorageError) as error:
                    failures[log_dir.path] = error
                    self._note_failure(log_dir, key, error)
                    continue
            # Not under the lock, which is taken below that of the checkpoints.
            try:
                self._checkpoints.drop_offsets(log_dir, key)
            except OSError as error:
                failures[log_dir.path] = error
                self._note_failure(log_dir, key, error)

    def _managed(self, log_dir: LogDir, key: TopicPartition, topic_id: bytes) -> ManagedLog:
        return ManagedLog(self._logs, log_dir, topic_id, self._configs.of(key[0]))

    def _directory_for(self, key: TopicPartition, is_new: bool, failures: Mapping[str, Exception]) -> LogDir:
        """The directory for a new log; `failures` are those of the directories that were tried before."""
        online = [log_dir for log_dir in self._log_dirs.online() if log_dir.path not in failures]
        full = [path for path, error in failures.items() if is_full_disk(error)]
        if full and not online:
            raise LogShortageError(
                f"Can not create log for {key[0]}-{key[1]}: {', '.join(full)} has no room; {ROOM_REMEDY}"
            )
        offline = [log_dir.path for log_dir in self._log_dirs if not log_dir.is_online]
        offline += [path for path in failures if path not in full and path not in offline]
        if not online or (not is_new and (offline or key in self._logs.offline)):
            # The partition's directory may exist where the start could not read it.
            self._logs.offline.add(key)
            raise errors.KafkaStorageError(
                f"Can not create log for {key[0]}-{key[1]} because log directories {', '.join(offline)} are offline"
            )
        return min(online, key=lambda log_dir: log_dir.log_count)

    def _create(self, log_dir: LogDir, key: TopicPartition, topic_id: bytes) -> Log:
        path = f"{log_dir.path}/{directory_name(*key)}"
        try:
            self._disk.mkdir(path)
        except FileExistsError:
            # Left by an attempt that failed halfway.
            write_topic_id(self._disk, path, topic_id)
            entry = self.open(log_dir, key, topic_id)
        else:
            write_topic_id(self._disk, path, topic_id)
            entry = self._managed(log_dir, key, topic_id)
            entry.created_at_look = log_dir.look
            entry.log = new_log(self._disk, path, *key, entry.config, on_failure=entry.on_failure)
        self._logs.offline.discard(key)
        self._logs.add(key, entry)
        log.debug("Created log for partition %s-%d in %s", *key, path)
        return entry.log

    def _note_failure(self, log_dir: LogDir, key: TopicPartition, error: Exception) -> None:
        """Prepares the attempt in another directory. Raises LogShortageError when file descriptors are lacking."""
        if is_descriptor_shortage(error):
            raise LogShortageError(f"Can not create log for {key[0]}-{key[1]}: {error}; {DESCRIPTOR_REMEDY}") from error
        if is_full_disk(error):
            self._remove_incomplete(log_dir, key)
        else:
            self._logs.fail_later(log_dir, error)

    def _remove_incomplete(self, log_dir: LogDir, key: TopicPartition) -> None:
        """Removes a directory without a segment: the next start would find the partition in two directories."""
        path = f"{log_dir.path}/{directory_name(*key)}"
        try:
            if self._disk.exists(path) and not set(self._disk.listdir(path)) - {METADATA_FILE}:
                remove_directory(self._disk, path)
        except OSError as error:
            if not is_full_disk(error):
                self._logs.fail_later(log_dir, error)
            else:
                log.error("Cannot remove the incomplete log directory %s: %s; %s", path, error, ROOM_REMEDY)


def check_topic_id(key: TopicPartition, found: bytes, asked: bytes) -> None:
    """InconsistentTopicIdError when a log belongs to another topic of the same name."""
    if found != asked:
        raise errors.InconsistentTopicIdError(
            f"The log of {key[0]}-{key[1]} belongs to topic id {uuid.to_text(found)}, not {uuid.to_text(asked)}."
        )
