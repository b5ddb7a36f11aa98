"""The scan of a log directory when the broker starts: which logs to open, to remove and to set aside.

A partition's directory is opened when its topic, by name and id, has this partition on this broker. It is removed when
a crash interrupted the deletion of its topic. A directory of another topic, or of a deleted topic of the same name, is
renamed to `-stray`, as Kafka 3.9 does; directories with other names are ignored. Both are logged as a warning and never
deleted. If a partition is in two log directories, the one without records is removed.
"""

from __future__ import annotations

from kcore import uuid
from kcore.logger import get_logger
from kcore.storage.directory_name import (
    DELETE_SUFFIX,
    FUTURE_SUFFIX,
    STRAY_SUFFIX,
    directory_name,
    parse_directory_name,
    renamed,
)
from kcore.storage.log_dirs import LogDirsError
from kcore.storage.partition_metadata import FILE_NAME, read_topic_id, write_topic_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from kcore.platform.disk import Disk
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log_dir import LogDir
    from kcore.storage.log_dirs import LogDirs

log = get_logger(__name__)


class HostedTopic:
    """A topic in the metadata: its id, its partitions on this broker, its configuration overrides."""

    __slots__ = ("overrides", "partitions", "topic_id")

    def __init__(
        self, topic_id: bytes, partitions: Collection[int], overrides: Mapping[str, str] | None = None
    ) -> None:
        self.topic_id = topic_id
        self.partitions = frozenset(partitions)
        self.overrides = dict(overrides or {})


class FoundPartition:
    """A partition's directory. `topic_id` is None without a `partition.metadata`."""

    __slots__ = ("partition", "path", "topic", "topic_id")

    def __init__(self, topic: str, partition: int, path: str, topic_id: bytes | None) -> None:
        self.topic = topic
        self.partition = partition
        self.path = path
        self.topic_id = topic_id


def find_partitions(disk: Disk, log_dir: LogDir) -> list[FoundPartition]:
    """The partitions in a log directory, whatever the metadata says. CorruptFileError for a `partition.metadata`."""
    return [
        FoundPartition(topic, partition, path, read_topic_id(disk, path))
        for topic, partition, path in _partition_directories(disk, log_dir)
    ]


def has_partitions(disk: Disk, log_dir: LogDir) -> bool:
    """Whether there is the directory of any partition."""
    return any(True for _ in _partition_directories(disk, log_dir))


def _partition_directories(disk: Disk, log_dir: LogDir) -> Iterator[tuple[str, int, str]]:
    """Directories with the name of a partition, and with `partition.metadata` or a segment in them."""
    for name in log_dir.partition_entries():
        parsed = None if name.endswith((DELETE_SUFFIX, STRAY_SUFFIX, FUTURE_SUFFIX)) else parse_directory_name(name)
        path = f"{log_dir.path}/{name}"
        if parsed is not None and any(file == FILE_NAME or file.endswith(".log") for file in disk.listdir(path)):
            yield *parsed, path


class LogDirScan:
    """`logs` are the partitions to open, `deletions` names of directories to remove. Reads the checkpoints too."""

    __slots__ = (
        "_deleted_topic_ids",
        "_disk",
        "_topics",
        "deletions",
        "high_watermarks",
        "log_dir",
        "log_start_offsets",
        "logs",
        "recovery_points",
    )

    def __init__(
        self, disk: Disk, log_dir: LogDir, topics: Mapping[str, HostedTopic], deleted_topic_ids: Collection[bytes]
    ) -> None:
        self._disk = disk
        self.log_dir = log_dir
        self._topics = topics
        self._deleted_topic_ids = deleted_topic_ids
        self.logs: list[tuple[str, int]] = []
        self.deletions: list[str] = []
        self.recovery_points: dict[TopicPartition, int] = {}
        self.log_start_offsets: dict[TopicPartition, int] = {}
        self.high_watermarks: dict[TopicPartition, int] = {}

    def run(self) -> None:
        """Scans the directory and renames what has to be set aside. Raises OSError, CorruptFileError."""
        for name in self.log_dir.partition_entries():
            self._sort(name)
        self.recovery_points = self.log_dir.recovery_points()
        self.log_start_offsets = self.log_dir.log_start_offsets()
        self.high_watermarks = self.log_dir.high_watermarks()

    def has_segments(self, key: TopicPartition) -> bool:
        """Whether the partition's log ever had a record in this directory."""
        return any(name.endswith(".log") for name in self._disk.listdir(self._path(key)))

    def give_up(self, key: TopicPartition) -> None:
        """Removes the partition's log in this directory: another directory has it."""
        self.logs.remove(key)
        self.deletions.append(self._rename(*key, DELETE_SUFFIX))

    def _path(self, key: TopicPartition) -> str:
        return f"{self.log_dir.path}/{directory_name(*key)}"

    def has_foreign_offsets(self) -> bool:
        """Whether a checkpoint has partitions that are gone: a new log of the name must not get their offsets."""
        known = self.recovery_points.keys() | self.log_start_offsets.keys() | self.high_watermarks.keys()
        return not known <= set(self.logs)

    def _sort(self, name: str) -> None:
        path = f"{self.log_dir.path}/{name}"
        if name.endswith(DELETE_SUFFIX):
            self.deletions.append(name)
            return
        if name.endswith((STRAY_SUFFIX, FUTURE_SUFFIX)):
            log.warn("Ignored %s, which was set aside. Move it away when you no longer need its records", path)
            return
        parsed = parse_directory_name(name)
        if parsed is None:
            log.warn("Ignored %s: it is not the directory of a partition", path)
            return
        topic, partition = parsed
        hosted = self._topics.get(topic)
        topic_id = read_topic_id(self._disk, path, hosted.topic_id if hosted is not None else None)
        if topic_id is not None and topic_id in self._deleted_topic_ids:
            self.deletions.append(self._rename(topic, partition, DELETE_SUFFIX))
            return
        reason = self._reason_to_set_aside(topic, partition, topic_id)
        if reason is not None:
            new_name = self._rename(topic, partition, STRAY_SUFFIX)
            log.warn("%s was set aside as %s: %s. Nothing in it is deleted", path, new_name, reason)
            return
        if topic_id is None:
            write_topic_id(self._disk, path, self._topics[topic].topic_id)
        self.logs.append((topic, partition))

    def _reason_to_set_aside(self, topic: str, partition: int, topic_id: bytes | None) -> str | None:
        hosted = self._topics.get(topic)
        if hosted is None:
            return f"there is no topic {topic} in this cluster"
        if topic_id is not None and topic_id != hosted.topic_id:
            own, other = uuid.to_text(hosted.topic_id), uuid.to_text(topic_id)
            return f"it belongs to topic id {other}, and topic {topic} has id {own}"
        if partition not in hosted.partitions:
            return f"topic {topic} has no partition {partition} on this broker"
        return None

    def _rename(self, topic: str, partition: int, suffix: str) -> str:
        directory = self.log_dir.path
        new_name = renamed(topic, partition, suffix)
        self._disk.rename(f"{directory}/{topic}-{partition}", f"{directory}/{new_name}")
        self._disk.fsync_dir(directory)
        return new_name


def settle_duplicates(scans: Iterable[LogDirScan], log_dirs: LogDirs) -> None:
    """Makes sure that every partition is in one directory. LogDirsError if two have records of it.

    When a directory fails during the creation of a log, it keeps an empty log, and another directory gets the
    partition.
    """
    seen: dict[TopicPartition, LogDirScan] = {}
    for scan in scans:
        for key in list(scan.logs):
            other = seen.setdefault(key, scan)
            if other is scan:
                continue
            empty = next((one for one in (scan, other) if _is_empty(one, key, log_dirs)), None)
            if empty is None:
                raise LogDirsError(
                    f"Partition {directory_name(*key)} is in two log directories, {other.log_dir.path} and "
                    f"{scan.log_dir.path}. Move one of them away"
                )
            seen[key] = kept = other if empty is scan else scan
            log.warn(
                "Partition %s is in %s. Its empty log in %s is removed",
                *(directory_name(*key), kept.log_dir.path, empty.log_dir.path),
            )
            with log_dirs.guard(empty.log_dir):
                empty.give_up(key)


def _is_empty(scan: LogDirScan, key: TopicPartition, log_dirs: LogDirs) -> bool:
    with log_dirs.guard(scan.log_dir):
        return not scan.has_segments(key)
    return False
