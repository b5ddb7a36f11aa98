"""One partition of `__consumer_offsets` as a log of records: appends them, and reads them back from the start.

What is appended is in the log, and with `log.flush.group.commit` durable, when `append` returns; the caller holds its
shard's lock for as long, so that memory is changed in the order of the log.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.errors import KafkaStorageError
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kcore.coordinator.group.records import Pair
    from kcore.record.decoder import RecordBatch
    from kcore.replication.partition import Partition

LOAD_BYTES = 1 << 20
LOG_END = 0  # isolation: everything that is in the log
ALL_REPLICAS = -1

APPEND_ERRORS = {
    codes.UNKNOWN_TOPIC_OR_PARTITION: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_ENOUGH_REPLICAS: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_LEADER_OR_FOLLOWER: codes.NOT_COORDINATOR,
    codes.KAFKA_STORAGE_ERROR: codes.NOT_COORDINATOR,
}
# What a client is told of a commit that is larger than the log takes (Kafka's `GroupMetadataManager.storeOffsets`).
TOO_LARGE = (codes.MESSAGE_TOO_LARGE, codes.RECORD_LIST_TOO_LARGE)


class GroupLog:
    """Appends to and reads from one partition that this broker leads."""

    __slots__ = ("_partition",)

    def __init__(self, partition: Partition) -> None:
        self._partition = partition

    def __str__(self) -> str:
        return f"{self._partition.topic}-{self._partition.index}"

    def append(self, records: Sequence[Pair], timestamp_ms: int) -> int:
        """Appends records in one batch; the wire code, as the client of a group is to see it."""
        batch = encode_batch(records, timestamp=timestamp_ms)
        error = self._partition.append_records(batch, ALL_REPLICAS, internal=True).error
        return APPEND_ERRORS.get(error, error)

    def read(self) -> Iterator[RecordBatch]:
        """Every batch that is there by now, in order; raises KafkaStorageError where one cannot be read."""
        offset = self._partition.log.start_offset
        end = self._partition.log.end_offset
        while offset < end:
            outcome = self._partition.fetch(offset, LOAD_BYTES, LOG_END)
            if outcome.error or not outcome.records:
                raise KafkaStorageError(f"{self} cannot be read at offset {offset} (error {outcome.error})")
            for batch in decode_batches(outcome.records):
                yield batch
                offset = batch.next_offset
