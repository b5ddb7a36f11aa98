"""Replay: loads a shard from the records of one partition of `__consumer_offsets`.

The last record of a key is valid; a tombstone deletes it. Offsets of a transaction become valid with its commit marker;
groups are never part of a transaction. An unreadable record is logged and skipped, so that it does not make all groups
unavailable. Record kinds that this broker does not support are logged once and stay in the log.
"""

from __future__ import annotations

from kcore.coordinator.group import records
from kcore.coordinator.group.offsets import Offsets
from kcore.errors import KafkaError
from kcore.logger import get_logger
from kcore.protocol.records import version_of
from kcore.record.control import decode_marker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.consumer.group import ConsumerGroup
    from kcore.coordinator.group.records import GroupMetadata
    from kcore.record.decoder import Record, RecordBatch

LOG = get_logger("kcore.coordinator.group")

NO_PRODUCER_ID = -1
NAMED_AT_MOST = 20


class Replay:
    """The state after the records read so far. `place` is the partition, for log lines."""

    __slots__ = ("_place", "classic_groups", "consumer_groups", "offsets", "record_count", "unreadable_count")

    def __init__(self, place: str) -> None:
        self._place = place
        self.offsets = Offsets()
        self.classic_groups: dict[str, GroupMetadata] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.record_count = 0
        self.unreadable_count = 0

    def take_batch(self, batch: RecordBatch) -> None:
        """Applies the next batch of the log."""
        take = self._take_marker if batch.is_control else self._take
        producer_id = batch.producer_id if batch.is_transactional else NO_PRODUCER_ID
        for record in batch:
            self.record_count += 1
            try:
                take(record, producer_id)
            except KafkaError as error:
                self.unreadable_count += 1
                if self.unreadable_count <= NAMED_AT_MOST:
                    LOG.error("Skipped the record in %s at offset %d: %s", self._place, record.offset, error)

    def _take_marker(self, record: Record, producer_id: int) -> None:
        marker = decode_marker(record)
        if marker is not None:
            self.offsets.complete_transaction(producer_id, marker.is_commit)

    def _take(self, record: Record, producer_id: int) -> None:
        key = record.key
        if key is None:
            LOG.warn("Skipped a record without a key in %s at offset %d", self._place, record.offset)
            return
        version = version_of(key)
        if version in (records.LEGACY_OFFSET_COMMIT, records.OFFSET_COMMIT):
            self._take_offset(key, record, producer_id)
        elif version == records.GROUP_METADATA:
            self._take_group(key, record.value)
        elif version in records.CONSUMER_GROUP_KINDS:
            self._take_consumer_group(key, record.value)
        elif 0 <= version < len(records.KINDS):
            LOG.warn_once(
                "Records of kind %d (%s) in %s are not used by this broker, and kept",
                version,
                records.KINDS[version],
                self._place,
            )
        else:
            LOG.warn_once("Records of kind %d in %s are not known here, and kept", version, self._place)

    def _take_offset(self, key: bytes, record: Record, producer_id: int) -> None:
        group_id, place = records.decode_offset_commit_key(key)
        value = record.value
        if value is None:
            self.offsets.remove(group_id, place)
            return
        committed = records.decode_offset_commit_value(value, record.offset)
        if producer_id == NO_PRODUCER_ID:
            self.offsets.put(group_id, place, committed)
        else:
            self.offsets.put_pending(producer_id, group_id, place, committed)

    def _take_group(self, key: bytes, value: bytes | None) -> None:
        group_id = records.decode_group_metadata_key(key)
        if value is None:
            self.classic_groups.pop(group_id, None)
        else:
            self.classic_groups[group_id] = records.decode_group_metadata_value(value)

    def _take_consumer_group(self, key: bytes, value: bytes | None) -> None:
        from kcore.coordinator.group.consumer import records as consumer_records
        from kcore.coordinator.group.consumer.group import ConsumerGroup

        kind, what, content = consumer_records.decode(key, value)
        if kind == consumer_records.GROUP_EPOCH and content is not None:
            records.check_not_last("epoch", content.epoch)
        group = self.consumer_groups.get(what.group_id)
        if group is None:
            if content is None:
                return
            group = self.consumer_groups[what.group_id] = ConsumerGroup(what.group_id)
        group.apply(kind, what, content)
        if group.is_removed:
            del self.consumer_groups[what.group_id]
