"""Records that wait to be sent, gathered into batches partition by partition.

A batch is closed when the next record would make it larger than `batch.size`; a record larger than that gets a batch
of its own. Within a partition batches are sent in the order in which they were begun, and one that has to be sent
again goes back to its place in that order.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kcore.client.connection import now_ms
from kcore.record.encoder import encode_batch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kcore.client.cluster import TopicPartition

    Header = tuple[str, bytes | None]
    # Key, value, headers, timestamp in milliseconds: what the record package encodes.
    ProducerRecord = tuple[bytes | None, bytes | None, Sequence[Header], int]
    OnDelivery = Callable[["RecordMetadata | None", Exception | None], None]

# Lengths, deltas and attributes of one record, at most (DefaultRecord's bound without the bytes themselves).
RECORD_OVERHEAD_BYTES = 21
HEADER_OVERHEAD_BYTES = 10
BATCH_OVERHEAD_BYTES = 61
NO_SEQUENCE = -1


def record_size_bytes(key: bytes | None, value: bytes | None, headers: Sequence[Header]) -> int:
    """What a record takes in a batch, at most."""
    size = RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
    for name, header_value in headers:
        size += HEADER_OVERHEAD_BYTES + len(name.encode()) + len(header_value or b"")
    return size


class RecordMetadata(NamedTuple):
    """Where an acknowledged record stands; the offset is -1 with acks=0."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class ProducerBatch:
    """The records of one partition that travel together, and who is to be told of them."""

    __slots__ = (
        "base_sequence",
        "callbacks",
        "created_ms",
        "encoded",
        "is_closed",
        "number",
        "partition",
        "producer_epoch",
        "producer_id",
        "records",
        "retry_at_ms",
        "size_bytes",
    )

    def __init__(self, partition: TopicPartition, number: int) -> None:
        self.partition = partition
        self.number = number
        self.created_ms = now_ms()
        self.records: list[ProducerRecord] = []
        self.callbacks: list[tuple[int, OnDelivery]] = []
        self.size_bytes = BATCH_OVERHEAD_BYTES
        self.is_closed = False
        self.retry_at_ms = 0.0
        self.producer_id = -1
        self.producer_epoch = -1
        self.base_sequence = NO_SEQUENCE
        self.encoded: bytes | None = None

    def append(self, record: ProducerRecord, size_bytes: int, on_delivery: OnDelivery | None) -> None:
        if on_delivery is not None:
            self.callbacks.append((len(self.records), on_delivery))
        self.records.append(record)
        self.size_bytes += size_bytes

    def is_ready(self, now: float, linger_ms: float) -> bool:
        """Full or old enough, and not resting after a failure."""
        return self.retry_at_ms <= now and (self.is_closed or now - self.created_ms >= linger_ms)

    def encode(self, codec: int) -> bytes:
        return encode_batch(
            self.records,
            codec=codec,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
        )

    def complete(self, base_offset: int, log_append_time_ms: int, error: Exception | None) -> None:
        """Tells everyone who asked to be told."""
        for index, on_delivery in self.callbacks:
            if error is not None:
                on_delivery(None, error)
                continue
            offset = base_offset + index if base_offset >= 0 else -1
            timestamp = log_append_time_ms if log_append_time_ms >= 0 else self.records[index][3]
            on_delivery(RecordMetadata(self.partition.topic, self.partition.partition, offset, timestamp), None)


class RecordAccumulator:
    """Bounded by the producer: `unacknowledged_bytes` is what it compares with `buffer.memory`."""

    def __init__(self, batch_size: int) -> None:
        self.batch_size = batch_size
        self.queues: dict[TopicPartition, deque[ProducerBatch]] = {}
        self.unacknowledged_bytes = 0
        self.unacknowledged_batches = 0
        self._next_number = 0

    def append(self, partition: TopicPartition, record: ProducerRecord, on_delivery: OnDelivery | None) -> bool:
        """Adds a record; True when this closed a batch, so that there is something to send."""
        size_bytes = record_size_bytes(record[0], record[1], record[2])
        queue = self.queues.get(partition)
        if queue is None:
            queue = self.queues[partition] = deque()
        closed = False
        batch = queue[-1] if queue else None
        if batch is not None and not batch.is_closed and batch.size_bytes + size_bytes > self.batch_size:
            batch.is_closed = closed = True
        if batch is None or batch.is_closed:
            batch = self._begin_batch(partition)
            queue.append(batch)
        batch.append(record, size_bytes, on_delivery)
        self.unacknowledged_bytes += size_bytes
        if batch.size_bytes >= self.batch_size:
            batch.is_closed = closed = True
        return closed

    def append_batch(
        self, partition: TopicPartition, records: list[ProducerRecord], size_bytes: int, on_delivery: OnDelivery | None
    ) -> None:
        """Adds a whole batch, closed; `on_delivery` hears of its last record."""
        queue = self.queues.setdefault(partition, deque())
        if queue:
            queue[-1].is_closed = True
        batch = self._begin_batch(partition)
        batch.records = records
        batch.size_bytes = size_bytes
        batch.is_closed = True
        if on_delivery is not None:
            batch.callbacks.append((len(records) - 1, on_delivery))
        queue.append(batch)
        self.unacknowledged_bytes += size_bytes - BATCH_OVERHEAD_BYTES

    def _begin_batch(self, partition: TopicPartition) -> ProducerBatch:
        self._next_number += 1
        self.unacknowledged_batches += 1
        self.unacknowledged_bytes += BATCH_OVERHEAD_BYTES
        return ProducerBatch(partition, self._next_number)

    def put_back(self, batch: ProducerBatch, retry_at_ms: float) -> None:
        """Returns a batch that has to be sent again to its place."""
        batch.is_closed = True
        batch.retry_at_ms = retry_at_ms
        queue = self.queues[batch.partition]
        position = 0
        while position < len(queue) and queue[position].number < batch.number:
            position += 1
        queue.insert(position, batch)

    def finished(self, batch: ProducerBatch) -> None:
        """A batch was acknowledged or given up."""
        self.unacknowledged_bytes -= batch.size_bytes
        self.unacknowledged_batches -= 1
