"""Imports partitions that another broker wrote, usually Apache Kafka. This broker must be stopped.

A partition's directory is copied into a log directory. It is renamed instead if requested, or if it is in one of our
log directories already. Its topic, id, partition and leader epoch are registered in the embedded metadata store.
Segments are not changed: old formats (magic 0 and 1), transaction markers and gaps stay as they are.

An impossible import is refused before anything is changed. `ImportRefused` has the directory, the reason and the
remedy. Reasons: another topic with the same name or id, an existing partition, a gap in the partition numbers, a
directory without `partition.metadata` if no topic id is given, internal topics, a directory that a broker uses.

Crash policy: directories get their final names when all of them are complete, recovered and on the device, and the
checkpoints have their start and end offsets. The store is written last, in one transaction per topic. Therefore
directories with final names are complete after a crash. If the broker starts first, it sets them aside and logs them; a
repeated import takes them from there (`--move` does so automatically). The next import removes directories with
unfinished names. The sources of a copy are never changed.

A directory without a clean shutdown (no `.kafka_cleanshutdown` beside it) is recovered by the import and not by the
broker. The import has synced all data, so gaps in it come from compaction and are no loss. A broker that was killed
before its first checkpoint would treat them as a loss.
"""

from __future__ import annotations

import os

from kcore import errors, uuid
from kcore.config.topic import TopicConfig
from kcore.controller.topic_name import CLUSTER_METADATA_TOPIC, TopicNames, validate_topic_name
from kcore.metadata.image import INTERNAL_TOPICS, NO_LEADER, PartitionState, TopicImage
from kcore.record.decoder import decode_batches
from kcore.storage.checkpoints import LOG_START_OFFSET_FILE, RECOVERY_POINT_FILE, CorruptFileError, OffsetCheckpoint
from kcore.storage.directory_name import STRAY_SUFFIX, directory_name, parse_directory_name
from kcore.storage.directory_removal import remove_directory
from kcore.storage.leader_epoch_cache import FILE_NAME as EPOCH_FILE
from kcore.storage.leader_epoch_cache import parse as parse_epochs
from kcore.storage.log_config import LogConfig
from kcore.storage.log_dir import CLEAN_SHUTDOWN_FILE
from kcore.storage.log_dirs import LogDirs
from kcore.storage.log_loader import load_log
from kcore.storage.partition_metadata import read_topic_id, write_topic_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

    from kcore.config.broker import BrokerConfig
    from kcore.controller.metadata_store import MetadataStore
    from kcore.platform.disk import Disk
    from kcore.record.decoder import RecordBatch
    from kcore.storage.checkpoints import TopicPartition
    from kcore.storage.log_dir import LogDir

UNFINISHED_SUFFIX = "-import"
LEFT_BEHIND = (".deleted", ".tmp")
LOG_SUFFIX = ".log"
UNIQUE_ID_BYTES = 16
NO_EPOCH = -1
UNKNOWN_END = -1
READ_BYTES = 1 << 20
# The id of a broker without a configured id, as in the broker's start.
SINGLE_BROKER_ID = 1


class ImportRefused(Exception):
    """A directory cannot be imported. The message has the reason and what to do."""


class Candidate:
    """The directory of one partition to import."""

    __slots__ = (
        "end_offset",
        "is_clean",
        "leader_epoch",
        "log_start_offset",
        "partition",
        "size_bytes",
        "source",
        "topic",
        "topic_id",
    )

    def __init__(self, source: str, topic: str, partition: int, topic_id: bytes) -> None:
        self.source = source
        self.topic = topic
        self.partition = partition
        self.topic_id = topic_id
        self.leader_epoch = NO_EPOCH
        # The log end offset, known after a clean shutdown or a recovery; None before.
        self.end_offset: int | None = None
        self.is_clean = False
        self.log_start_offset: int | None = None
        self.size_bytes = 0

    @property
    def key(self) -> TopicPartition:
        """Topic and partition, as in checkpoints."""
        return self.topic, self.partition


class Move:
    """How to import one candidate; `is_rename` moves the directory instead of copying it."""

    __slots__ = ("candidate", "is_rename", "log_dir")

    def __init__(self, candidate: Candidate, log_dir: LogDir, is_rename: bool) -> None:
        self.candidate = candidate
        self.log_dir = log_dir
        self.is_rename = is_rename

    @property
    def target(self) -> str:
        """The directory of the imported partition."""
        return f"{self.log_dir.path}/{directory_name(*self.candidate.key)}"


class PartitionImport:
    """One import into the log directories of a stopped broker: `open`, `plan`, `carry_out`, `close`."""

    def __init__(self, disk: Disk, config: BrokerConfig, store: MetadataStore) -> None:
        self._disk = disk
        self._config = config
        self._store = store
        self._log_dirs = LogDirs(disk, config.log_directories)
        self._broker_id = config.broker_id
        self._cluster_id = ""

    def open(self) -> None:
        """Locks the log directories, which fails while a broker runs, and opens the metadata store."""
        meta = self._log_dirs.open()
        try:
            if self._broker_id < 0:
                known = meta.node_id if meta is not None else None
                self._broker_id = SINGLE_BROKER_ID if known is None else known
            self._cluster_id = self._store.open(meta.cluster_id if meta is not None else None)
        except BaseException:
            self._log_dirs.close()
            raise

    def close(self) -> None:
        """Closes the store and unlocks the log directories."""
        self._store.close()
        self._log_dirs.close()

    # Planning

    def plan(self, directories: Sequence[str], topic_id: bytes | None = None, *, moves: bool = False) -> list[Move]:
        """Returns what `carry_out` will do, without changing anything. Raises ImportRefused.

        `topic_id` applies to directories without `partition.metadata`. With `moves`, directories are renamed instead of
        copied.
        """
        for log_dir in self._log_dirs.online():
            if log_dir.meta is not None and not self._disk.exists(f"{log_dir.path}/{CLEAN_SHUTDOWN_FILE}"):
                # Recovery there may truncate logs. It must not truncate imported logs, which are already synced.
                raise ImportRefused(
                    f"{log_dir.path} was not shut down cleanly: start the broker and stop it again first"
                )
        candidates = sorted((self._inspect(path, topic_id, moves) for path in directories), key=lambda found: found.key)
        self._check_conflicts(candidates)
        return [self._placed(candidate, moves) for candidate in candidates]

    def _inspect(self, directory: str, stated_id: bytes | None, moves: bool) -> Candidate:
        path = os.path.abspath(directory)
        topic, partition = self._named(path)
        if not self._disk.exists(path) or not self._disk.is_directory(path):
            path = self._moved_before(path, (topic, partition), moves)
        candidate = Candidate(path, topic, partition, self._topic_id(path, stated_id))
        segments = sorted(name for name in self._disk.listdir(path) if name.endswith(LOG_SUFFIX))
        if not segments:
            raise ImportRefused(f"{path} has no .log file. Pass the directory of one partition, as in orders-0")
        candidate.size_bytes = sum(self._disk.size(f"{path}/{name}") for name in segments)
        last_epoch, end_offset = self._last_batch(path, segments[-1])
        candidate.leader_epoch = max(last_epoch, self._checkpointed_epoch(path))
        parent = os.path.dirname(path)
        if not path.endswith(STRAY_SUFFIX):
            candidate.log_start_offset = self._checkpointed(parent, LOG_START_OFFSET_FILE, candidate.key)
            if self._disk.exists(f"{parent}/{CLEAN_SHUTDOWN_FILE}"):
                recovery_point = self._checkpointed(parent, RECOVERY_POINT_FILE, candidate.key)
                # A clean shutdown flushed everything.
                candidate.end_offset = recovery_point if recovery_point == end_offset else None
                candidate.is_clean = candidate.end_offset is not None
        return candidate

    def _moved_before(self, path: str, key: TopicPartition, moves: bool) -> str:
        """The present path of a missing directory: an import that was interrupted by a crash may have moved it."""
        found = [f"{log_dir.path}/{directory_name(*key)}" for log_dir in self._log_dirs.online()]
        found = [target for target in found if self._disk.exists(target)]
        if not found:
            raise ImportRefused(f"{path} does not exist. Check the path of the partition directory")
        if self._store.image.partition(*key) is not None:
            raise ImportRefused(
                f"{path} does not exist, and partition {key[1]} of topic {key[0]} is already in {found[0]}. If an "
                "earlier import created it, omit this directory"
            )
        if not moves:
            raise ImportRefused(f"{path} does not exist, but {found[0]} does. To import that one, pass its path")
        return found[0]

    def _named(self, path: str) -> TopicPartition:
        """The topic and partition in a directory's name, with or without the suffix of a stray directory."""
        name = os.path.basename(path)
        if name.endswith(STRAY_SUFFIX):
            name = name.rpartition(".")[0]
        parsed = parse_directory_name(name)
        if parsed is None:
            raise ImportRefused(
                f"{path} is not a partition directory: its name must be TOPIC-PARTITION, as in orders-0"
                if self._disk.exists(path)
                else f"{path} does not exist. Pass the directory of a partition, as in /var/kafka/orders-0"
            )
        try:
            validate_topic_name(parsed[0])
        except errors.InvalidTopicError as error:
            raise ImportRefused(f"{path}: {error}") from None
        if parsed[0] in INTERNAL_TOPICS or parsed[0] == CLUSTER_METADATA_TOPIC:
            raise ImportRefused(
                f"{path} belongs to the internal topic {parsed[0]}, which each cluster has of its own: leave it out; "
                "consumer groups start again, by their auto.offset.reset or by offsets that you set"
            )
        return parsed

    def _topic_id(self, path: str, stated: bytes | None) -> bytes:
        own = read_topic_id(self._disk, path)
        if own is None and stated is None:
            raise ImportRefused(
                f"{path} has no partition.metadata, which would name the topic's id: give it as --topic-id ID, or a "
                f"new one for a topic that never had any, such as {uuid.to_text(uuid.random_uuid())}"
            )
        if own is not None and stated is not None and own != stated:
            raise ImportRefused(
                f"{path} belongs to topic id {uuid.to_text(own)} by its partition.metadata, not to "
                f"{uuid.to_text(stated)}: leave --topic-id out"
            )
        chosen = own if own is not None else stated
        assert chosen is not None
        return chosen

    def _last_batch(self, path: str, name: str) -> tuple[int, int]:
        """The latest leader epoch in a segment (-1 if its format has none, or without batches), and the log end offset.

        The end offset is UNKNOWN_END if a batch is corrupt.
        """
        end_offset, epoch = int(name.removesuffix(LOG_SUFFIX)), NO_EPOCH
        descriptor = self._disk.open(f"{path}/{name}")
        try:
            for batch in self._batches(descriptor):
                end_offset, epoch = batch.next_offset, max(epoch, batch.partition_leader_epoch)
        except errors.CorruptMessageError:
            # The epoch of the batches before it counts. Recovery decides on the rest.
            end_offset = UNKNOWN_END
        finally:
            self._disk.close(descriptor)
        return epoch, end_offset

    def _batches(self, descriptor: int) -> Iterator[RecordBatch]:
        """The complete batches of a file, which is read in pieces."""
        position, size = 0, READ_BYTES
        while piece := self._disk.pread(descriptor, size, position):
            batches = decode_batches(piece, check_crc=False)
            yield from batches
            if batches.position == 0 and len(piece) < size:
                return
            # For a batch larger than a piece, read a piece of twice the size.
            size = READ_BYTES if batches.position else 2 * size
            position += batches.position

    def _checkpointed_epoch(self, path: str) -> int:
        """The latest epoch in the partition's leader-epoch-checkpoint; -1 without a readable one."""
        try:
            entries = parse_epochs(self._disk.read_file(f"{path}/{EPOCH_FILE}"))
        except FileNotFoundError:
            return NO_EPOCH
        return max((epoch for epoch, _ in entries or ()), default=NO_EPOCH)

    def _checkpointed(self, log_dir: str, name: str, key: TopicPartition) -> int | None:
        """The offset in the checkpoint beside the directory. A damaged checkpoint is ignored, as at startup."""
        try:
            return OffsetCheckpoint(self._disk, f"{log_dir}/{name}").read().get(key)
        except CorruptFileError:
            return None

    # Conflicts

    def _check_conflicts(self, candidates: Sequence[Candidate]) -> None:
        seen: dict[TopicPartition, Candidate] = {}
        for candidate in candidates:
            other = seen.setdefault(candidate.key, candidate)
            if other is not candidate:
                raise ImportRefused(
                    f"{other.source} and {candidate.source} are both partition {candidate.partition} of topic "
                    f"{candidate.topic}: name the one that is to be taken"
                )
        for topic in sorted({candidate.topic for candidate in candidates}):
            self._check_topic(topic, [candidate for candidate in candidates if candidate.topic == topic])

    def _check_topic(self, topic: str, candidates: Sequence[Candidate]) -> None:
        image = self._store.image
        topic_id = candidates[0].topic_id
        for candidate in candidates:
            if candidate.topic_id != topic_id:
                raise ImportRefused(
                    f"{candidates[0].source} belongs to topic id {uuid.to_text(topic_id)}, and {candidate.source} to "
                    f"{uuid.to_text(candidate.topic_id)}: they are of two topics that had the same name; import one"
                )
        existing = image.topics.get(topic)
        named_otherwise = image.topics_by_id.get(topic_id)
        if existing is not None and existing.topic_id != topic_id:
            raise ImportRefused(
                f"Topic {topic} exists here with topic id {uuid.to_text(existing.topic_id)}, and "
                f"{candidates[0].source} belongs to topic id {uuid.to_text(topic_id)}: delete the topic first, or "
                "rename the directory to the name of a topic that does not exist"
            )
        if named_otherwise is not None and named_otherwise.name != topic:
            raise ImportRefused(
                f"cannot import topic {topic}: its topic id {uuid.to_text(topic_id)} belongs to the existing topic "
                f"{named_otherwise.name}. Rename the directories to {named_otherwise.name}-N, or delete the topic"
            )
        if topic_id in self._store.deleted_topic_ids():
            raise ImportRefused(
                f"Topic id {uuid.to_text(topic_id)} was deleted here, and its directories are still to be removed: "
                "start the broker once, or remove partition.metadata and give another --topic-id"
            )
        if existing is None:
            try:
                TopicNames(image.topics).check_collision(topic)
            except errors.InvalidTopicError as error:
                raise ImportRefused(str(error)) from None
        self._check_numbers(topic, len(existing.partitions) if existing is not None else 0, candidates)

    def _check_numbers(self, topic: str, existing: int, candidates: Sequence[Candidate]) -> None:
        for expected, candidate in enumerate(candidates, existing):
            if candidate.partition < existing:
                raise ImportRefused(
                    f"cannot import {candidate.source}: partition {candidate.partition} of topic {topic} already "
                    "exists. If an earlier import created it, omit this directory. Otherwise delete the topic first"
                )
            if candidate.partition != expected:
                raise ImportRefused(
                    f"cannot import {candidate.source}: topic {topic} would have no partition {expected}. Pass the "
                    f"directories of all its partitions from {existing} on"
                )
            for log_dir in self._log_dirs.online():
                path = f"{log_dir.path}/{directory_name(*candidate.key)}"
                if self._disk.exists(path) and path != candidate.source:
                    raise ImportRefused(
                        f"cannot import {candidate.source}: {path} already exists, but does not belong to a topic. If "
                        f"an interrupted import created it, pass {path} instead. Otherwise move it away"
                    )

    def _placed(self, candidate: Candidate, moves: bool) -> Move:
        """The log directory for a partition: its own if that is ours, or else the one with the fewest partitions."""
        own = [log_dir for log_dir in self._log_dirs.online() if log_dir.path == os.path.dirname(candidate.source)]
        if own:
            return Move(candidate, own[0], is_rename=True)
        target = min(self._log_dirs.online(), key=lambda log_dir: len(log_dir.partition_entries()))
        return Move(candidate, target, is_rename=moves)

    # Execution

    def carry_out(self, plan: Iterable[Move], overrides: Mapping[str, str]) -> None:
        """Carries out the plan. `overrides` are the configurations of created topics. Raises OSError."""
        moves = list(plan)
        for log_dir in self._log_dirs.online():
            self._remove_unfinished(log_dir)
            if log_dir.meta is None:
                # A new directory: without the marker, the broker would recover its logs.
                log_dir.mark_clean_shutdown(-1, {})
        self._log_dirs.claim(self._broker_id, self._cluster_id)
        for move in moves:
            if move.log_dir.failure is not None:
                raise move.log_dir.failure
        # With a controller epoch, the store no longer looks lost because of directories without a topic.
        controller_epoch = self._store.claim_controller(self._broker_id)
        placed = [(move, self._bring(move, overrides)) for move in moves]
        touched = {id(move.log_dir): move.log_dir for move in moves}.values()
        for log_dir in touched:
            self._note_offsets(log_dir, [move.candidate for move in moves if move.log_dir is log_dir])
        for move, unfinished in placed:
            if unfinished != move.target:
                self._disk.rename(unfinished, move.target)
        for log_dir in touched:
            self._disk.fsync_dir(log_dir.path)
        self._register(controller_epoch, [move.candidate for move in moves], overrides)

    def _remove_unfinished(self, log_dir: LogDir) -> None:
        """Removes incomplete copies of an import that was interrupted by a crash."""
        for name in log_dir.partition_entries():
            unique_id = name.removesuffix(UNFINISHED_SUFFIX)
            if len(unique_id) == len(name) - len(UNFINISHED_SUFFIX) == 2 * UNIQUE_ID_BYTES:
                remove_directory(self._disk, f"{log_dir.path}/{name}")

    def _bring(self, move: Move, overrides: Mapping[str, str]) -> str:
        """Copies a directory to the log directory, recovers and syncs it. Returns its unfinished name."""
        source = move.candidate.source
        if move.is_rename:
            self._complete(source, move.candidate, overrides)
            return source
        unfinished = f"{move.log_dir.path}/{os.urandom(UNIQUE_ID_BYTES).hex()}{UNFINISHED_SUFFIX}"
        self._disk.mkdir(unfinished)
        for name, is_directory in self._disk.entries(source):
            if not is_directory and not name.endswith(LEFT_BEHIND):
                self._disk.copy_range(f"{source}/{name}", f"{unfinished}/{name}")
        self._complete(unfinished, move.candidate, overrides)
        return unfinished

    def _complete(self, directory: str, candidate: Candidate, overrides: Mapping[str, str]) -> None:
        if read_topic_id(self._disk, directory) is None:
            write_topic_id(self._disk, directory, candidate.topic_id)
        if not candidate.is_clean:
            self._recover(directory, candidate, overrides)
        self._disk.fsync_dir(directory)

    def _recover(self, directory: str, candidate: Candidate, overrides: Mapping[str, str]) -> None:
        is_new = candidate.topic not in self._store.image.topics
        own = overrides if is_new else self._store.image.topic_configs(candidate.topic)
        properties: Any = TopicConfig(self._config, own)
        opened = load_log(
            self._disk,
            directory,
            *candidate.key,
            LogConfig.from_properties(properties),
            log_start_offset=candidate.log_start_offset or 0,
            is_durable=True,
        )
        try:
            opened.flush()
            candidate.end_offset = opened.end_offset
            opened.close()
        except errors.KafkaStorageError as error:
            raise opened.failure or error from None

    def _note_offsets(self, log_dir: LogDir, candidates: Sequence[Candidate]) -> None:
        """Writes the start and end offsets to the checkpoints. Offsets of earlier logs of the same name are dropped."""
        for name, offsets in (
            (RECOVERY_POINT_FILE, {candidate.key: candidate.end_offset or 0 for candidate in candidates}),
            (LOG_START_OFFSET_FILE, {candidate.key: candidate.log_start_offset for candidate in candidates}),
        ):
            merged = {key: offset for key, offset in log_dir.read_checkpoint(name).items() if key not in offsets}
            merged.update((key, offset) for key, offset in offsets.items() if offset is not None)
            log_dir.checkpoint(name).write(merged)

    def _register(self, controller_epoch: int, candidates: Sequence[Candidate], overrides: Mapping[str, str]) -> None:
        for topic in sorted({candidate.topic for candidate in candidates}):
            own = [candidate for candidate in candidates if candidate.topic == topic]
            states = [self._state(candidate) for candidate in own]
            if topic in self._store.image.topics:
                self._store.add_partitions(controller_epoch, states)
            else:
                self._store.create_topic(controller_epoch, TopicImage(topic, own[0].topic_id, states), overrides)

    def _state(self, candidate: Candidate) -> PartitionState:
        """The partition without a leader. The next start of the broker elects one and increments the epoch."""
        replicas = (self._broker_id,)
        epoch = max(0, candidate.leader_epoch)
        return PartitionState(candidate.topic, candidate.partition, replicas, replicas, NO_LEADER, leader_epoch=epoch)
