"""One partition of `__consumer_offsets`: committed offsets, appended before they count and read back at start.

A record's key begins with its version: 0 and 1 are committed offsets, anything else (2 is a group's metadata) is not
read here and stays in the log as it is. A null value is a tombstone. Keys are written in version 1, values in
version 3, as Apache Kafka 3.9 writes them.

Concurrency: appending and remembering are one step under a lock, so that memory holds what the log's last record says.
"""

from __future__ import annotations

from threading import Lock

from kcore.coordinator.group import codes
from kcore.coordinator.group.offsets import CommittedOffset, Offsets
from kcore.errors import KafkaError
from kcore.logger import get_logger
from kcore.protocol.records import GROUP_METADATA_KEY, OFFSET_COMMIT_KEY, OFFSET_COMMIT_VALUE, version_of
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kcore.coordinator.group.offsets import TopicPartition
    from kcore.record.decoder import Record
    from kcore.replication.partition import Partition

LOG = get_logger("kcore.coordinator.group")

KEY_VERSION = 1
VALUE_VERSION = 3
LOAD_BYTES = 1 << 20
LOG_END = 0  # isolation: everything that is in the log
ALL_REPLICAS = -1


class OffsetLog:
    """Commits of the groups of one partition: `offsets` is what the log says."""

    def __init__(self, partition: Partition, offsets: Offsets) -> None:
        self.offsets = offsets
        self._partition = partition
        self._lock = Lock()

    def append(self, group_id: str, commits: Mapping[TopicPartition, CommittedOffset], now_ms: int) -> int:
        """Writes commits and then remembers them; answers the wire code a committing client is to get."""
        records = [
            (offset_key(group_id, topic, index), offset_value(committed))
            for (topic, index), committed in commits.items()
        ]
        with self._lock:
            error = self._write(records, now_ms)
            if error == codes.NONE:
                for (topic, index), committed in commits.items():
                    self.offsets.commit(group_id, topic, index, committed)
        return error

    def forget_topic(self, topic: str, now_ms: int) -> None:
        """Writes tombstones for a topic that is gone."""
        with self._lock:
            gone = [
                (group_id, index)
                for group_id in self.offsets.groups()
                for name, index in self.offsets.of_group(group_id)
                if name == topic
            ]
            tombstones = [(offset_key(group_id, topic, index), None) for group_id, index in gone]
            if gone and self._write(tombstones, now_ms):
                LOG.warn("The offsets of topic %s, deleted, could not be removed", topic)
                return
            for group_id, index in gone:
                self.offsets.forget(group_id, topic, index)

    def _write(self, records: Sequence[tuple[bytes, bytes | None]], now_ms: int) -> int:
        batch = encode_batch(records, timestamp=now_ms)
        outcome = self._partition.append_records(batch, ALL_REPLICAS, internal=True)
        return client_error(outcome.error)

    def load(self) -> int:
        """Reads the log from its start; answers how many records there were."""
        offset = self._partition.log.start_offset
        end = self._partition.log.end_offset
        count = 0
        while offset < end:
            outcome = self._partition.fetch(offset, LOAD_BYTES, LOG_END)
            if outcome.error or not outcome.records:
                LOG.error(
                    "Loading offsets from %s-%d stopped at offset %d with error %d: later commits are not seen",
                    self._partition.topic,
                    self._partition.index,
                    offset,
                    outcome.error,
                )
                break
            limit_bytes = self._partition.log.decompressed_limit_bytes
            for batch in decode_batches(outcome.records, decompressed_limit_bytes=limit_bytes):
                if not batch.is_control:
                    for record in batch:
                        self._replay_readable(record)
                        count += 1
                offset = batch.next_offset
        return count

    def _replay_readable(self, record: Record) -> None:
        """One record that cannot be read, by whoever it was written, must not keep all groups from their offsets."""
        try:
            self._replay(record)
        except KafkaError as error:
            LOG.error(
                "The record in %s-%d at offset %d is passed over: %s",
                self._partition.topic,
                self._partition.index,
                record.offset,
                error,
            )

    def _replay(self, record: Record) -> None:
        key = record.key
        if key is None:
            LOG.warn("A record without a key in %s at offset %d is passed over", self._partition.topic, record.offset)
            return
        version = version_of(key)
        if version > OFFSET_COMMIT_KEY.latest_version:
            if version > GROUP_METADATA_KEY.latest_version:
                LOG.warn(
                    "A record with key version %d in %s is not known here and kept", version, self._partition.topic
                )
            return
        _, place = OFFSET_COMMIT_KEY.decode(key)
        if record.value is None:
            self.offsets.forget(place.group, place.topic, place.partition)
            return
        _, value = OFFSET_COMMIT_VALUE.decode(record.value)
        committed = CommittedOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp)
        self.offsets.commit(place.group, place.topic, place.partition, committed)


def offset_key(group_id: str, topic: str, partition: int) -> bytes:
    """The key of a committed offset."""
    return OFFSET_COMMIT_KEY.encode(KEY_VERSION, {"group": group_id, "topic": topic, "partition": partition})


def offset_value(committed: CommittedOffset) -> bytes:
    """The value of a committed offset."""
    return OFFSET_COMMIT_VALUE.encode(
        VALUE_VERSION,
        {
            "offset": committed.offset,
            "leader_epoch": committed.leader_epoch,
            "metadata": committed.metadata,
            "commit_timestamp": committed.commit_timestamp_ms,
        },
    )


def client_error(append_error: int) -> int:
    """What a failed append means to a committing client (Kafka's `GroupMetadataManager.storeOffsets`)."""
    return APPEND_ERRORS.get(append_error, append_error)


APPEND_ERRORS = {
    codes.UNKNOWN_TOPIC_OR_PARTITION: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_ENOUGH_REPLICAS: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_LEADER_OR_FOLLOWER: codes.NOT_COORDINATOR,
    codes.KAFKA_STORAGE_ERROR: codes.NOT_COORDINATOR,
    codes.MESSAGE_TOO_LARGE: codes.INVALID_COMMIT_OFFSET_SIZE,
    codes.RECORD_LIST_TOO_LARGE: codes.INVALID_COMMIT_OFFSET_SIZE,
}
