"""GroupLog: appends records to one partition of `__consumer_offsets` and reads them from the start.

When an append returns, its records are in the log, and durable with `log.flush.group.commit`. The caller holds its
shard's lock during an append, so that memory changes in the order of the log. A handler that waits for the device lets
another handler run in its place, for other shards.
"""

from __future__ import annotations

from kcore.coordinator.group import codes
from kcore.errors import KafkaStorageError
from kcore.record.control import encode_marker
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kcore.coordinator.group.records import Pair
    from kcore.coordinator.group.surroundings import Aside
    from kcore.record.decoder import RecordBatch
    from kcore.replication.partition import Partition

LOG_END = 0  # isolation: up to the log end offset
ALL_REPLICAS = -1
# Size of a batch of independent records: well below the default max.message.bytes.
PART_BYTES = 1 << 18

APPEND_ERRORS = {
    codes.UNKNOWN_TOPIC_OR_PARTITION: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_ENOUGH_REPLICAS: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_ENOUGH_REPLICAS_AFTER_APPEND: codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_LEADER_OR_FOLLOWER: codes.NOT_COORDINATOR,
    codes.KAFKA_STORAGE_ERROR: codes.NOT_COORDINATOR,
}


class GroupLog:
    """Appends to and reads from one partition that this broker leads.

    An append returns the error code for the client, and the offset of the first record. `codec` compresses the records
    (`offsets.topic.compression.codec`). `aside` is called by appends that wait for the device.
    """

    __slots__ = ("_aside", "_codec", "_partition")

    def __init__(self, partition: Partition, codec: int = 0, aside: Aside | None = None) -> None:
        self._partition = partition
        self._codec = codec
        self._aside = aside

    def __str__(self) -> str:
        return f"{self._partition.topic}-{self._partition.index}"

    @property
    def end_offset(self) -> int:
        """The log end offset."""
        return self._partition.log.end_offset

    def append(self, records: Sequence[Pair], timestamp_ms: int) -> tuple[int, int]:
        """Appends records in one batch."""
        return self._append(encode_batch(records, timestamp=timestamp_ms, codec=self._codec))

    def append_transactional(
        self, records: Sequence[Pair], timestamp_ms: int, producer_id: int, producer_epoch: int
    ) -> tuple[int, int]:
        """Appends records of a producer's open transaction in one batch."""
        return self._append(
            encode_batch(
                records,
                timestamp=timestamp_ms,
                codec=self._codec,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                transactional=True,
            )
        )

    def append_marker(
        self, is_commit: bool, coordinator_epoch: int, timestamp_ms: int, producer_id: int, producer_epoch: int
    ) -> tuple[int, int]:
        """Ends a producer's transaction in this partition."""
        return self._append(
            encode_marker(
                is_commit,
                coordinator_epoch,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                timestamp=timestamp_ms,
            )
        )

    def _append(self, batch: bytes) -> tuple[int, int]:
        aside = self._aside
        stood_aside = aside is not None and aside.stand_aside()
        try:
            outcome = self._partition.append_records(batch, ALL_REPLICAS, internal=True)
        finally:
            if aside is not None and stood_aside:
                aside.come_back()
        return APPEND_ERRORS.get(outcome.error, outcome.error), outcome.base_offset

    def read(self, chunk_bytes: int) -> Iterator[RecordBatch]:
        """All present batches in order. Raises KafkaStorageError for an unreadable one.

        The log may end with a gap: a power loss can truncate a segment and keep the empty one after it.
        """
        offset = self._partition.log.start_offset
        end = self._partition.log.end_offset
        limit_bytes = self._partition.log.decompressed_limit_bytes
        while offset < end:
            outcome = self._partition.fetch(offset, chunk_bytes, LOG_END)
            if outcome.error:
                raise KafkaStorageError(f"{self} cannot be read at offset {offset} (error {outcome.error})")
            if not outcome.records:
                return
            for batch in decode_batches(outcome.records, decompressed_limit_bytes=limit_bytes):
                yield batch
                offset = batch.next_offset


def in_parts(records: Iterable[Pair], part_bytes: int = PART_BYTES) -> Iterator[list[Pair]]:
    """Splits independent records into lists of limited size, with at least one record each."""
    part: list[Pair] = []
    size = 0
    for key, value in records:
        part.append((key, value))
        size += len(key) + (0 if value is None else len(value))
        if size >= part_bytes:
            yield part
            part, size = [], 0
    if part:
        yield part
