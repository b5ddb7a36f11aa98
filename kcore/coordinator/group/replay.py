"""Reads the records of one partition of `__consumer_offsets` back into what they say (the load of a shard).

The newest record of a key counts, a tombstone ends it. A record that cannot be read, by whoever it was written, is
named in the log and passed over: it must not keep all groups from their offsets. Kinds that this broker does not serve
are named once, and stay in the log as they are.
"""

from __future__ import annotations

from kcore.coordinator.group import records
from kcore.coordinator.group.offsets import Offsets
from kcore.errors import KafkaError
from kcore.logger import get_logger
from kcore.protocol.records import version_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kcore.coordinator.group.records import GroupMetadata
    from kcore.record.decoder import Record, RecordBatch

LOG = get_logger("kcore.coordinator.group")


class Replay:
    """What the records read so far say. `place` names the partition in the log."""

    __slots__ = ("_place", "classic_groups", "offsets", "record_count")

    def __init__(self, place: str) -> None:
        self._place = place
        self.offsets = Offsets()
        self.classic_groups: dict[str, GroupMetadata] = {}
        self.record_count = 0

    def take_batch(self, batch: RecordBatch) -> None:
        """The next batch of the log."""
        if batch.is_control:
            return
        for record in batch:
            self.record_count += 1
            try:
                self._take(record)
            except KafkaError as error:
                LOG.error("The record in %s at offset %d is passed over: %s", self._place, record.offset, error)

    def _take(self, record: Record) -> None:
        key = record.key
        if key is None:
            LOG.warn("A record without a key in %s at offset %d is passed over", self._place, record.offset)
            return
        version = version_of(key)
        if version in (records.LEGACY_OFFSET_COMMIT, records.OFFSET_COMMIT):
            self._take_offset(key, record.value)
        elif version == records.GROUP_METADATA:
            self._take_group(key, record.value)
        elif 0 <= version < len(records.KINDS):
            LOG.warn_once(
                "Records of kind %d (%s) in %s are not used by this broker, and kept",
                version,
                records.KINDS[version],
                self._place,
            )
        else:
            LOG.warn_once("Records of kind %d in %s are not known here, and kept", version, self._place)

    def _take_offset(self, key: bytes, value: bytes | None) -> None:
        group_id, (topic, partition) = records.decode_offset_commit_key(key)
        if value is None:
            self.offsets.forget(group_id, topic, partition)
        else:
            self.offsets.commit(group_id, topic, partition, records.decode_offset_commit_value(value))

    def _take_group(self, key: bytes, value: bytes | None) -> None:
        group_id = records.decode_group_metadata_key(key)
        if value is None:
            self.classic_groups.pop(group_id, None)
        else:
            self.classic_groups[group_id] = records.decode_group_metadata_value(value)
