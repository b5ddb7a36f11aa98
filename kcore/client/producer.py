"""Publishes records. `send` returns at once as long as there is room; `flush` waits until everything is acknowledged.

Latency by default: a record is sent at once while nothing is in flight, and gathered into batches while something is.
There is no thread behind a producer: what is not full is sent by the next `send`, `poll` or `flush`.
"""

from __future__ import annotations

import time

from kcore.client.cluster import TopicPartition
from kcore.client.connection import now_ms
from kcore.client.errors import ClientTimeout, InvalidSetting, RecordTooLarge
from kcore.client.network_client import NetworkClient
from kcore.client.partitioner import StickyPartitioner, partition_for_key
from kcore.client.record_accumulator import (
    BATCH_OVERHEAD_BYTES,
    RECORD_OVERHEAD_BYTES,
    RecordAccumulator,
)
from kcore.client.sender import Sender

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcore.client.record_accumulator import Header, OnDelivery, ProducerRecord

ALL_REPLICAS = -1
COMPRESSION_TYPES = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
# How often a sending loop looks for answers while nothing forces it to.
POLL_INTERVAL_MS = 1.0
WAIT_MS = 100.0


class Producer:
    """Options carry the names of Kafka's producer configurations, with underscores."""

    def __init__(
        self,
        bootstrap_servers: str | Sequence[str],
        *,
        client_id: str = "kcli-producer",
        acks: int = ALL_REPLICAS,
        enable_idempotence: bool = True,
        compression_type: str = "none",
        batch_size: int = 16_384,
        linger_ms: float = 0.0,
        buffer_memory: int = 32 * 1024 * 1024,
        max_request_size: int = 1_048_576,
        max_in_flight_requests_per_connection: int = 5,
        max_block_ms: float = 60_000.0,
        request_timeout_ms: float = 30_000.0,
        delivery_timeout_ms: float = 120_000.0,
        allow_auto_topic_creation: bool = True,
    ) -> None:
        if compression_type not in COMPRESSION_TYPES:
            raise InvalidSetting(
                f"compression.type {compression_type!r}: must be one of {', '.join(COMPRESSION_TYPES)}"
            )
        if acks not in (-1, 0, 1):
            raise InvalidSetting(f"acks {acks}: must be all (-1), 0 or 1")
        self.client = NetworkClient(bootstrap_servers, client_id=client_id, request_timeout_ms=request_timeout_ms)
        self._accumulator = RecordAccumulator(batch_size)
        self._sender = Sender(
            self.client,
            self._accumulator,
            acks=acks,
            compression=COMPRESSION_TYPES[compression_type],
            # Without every replica's acknowledgement the broker cannot keep the promise (Kafka's rule).
            enable_idempotence=enable_idempotence and acks == ALL_REPLICAS,
            linger_ms=linger_ms,
            max_in_flight=max_in_flight_requests_per_connection,
            max_request_size=max_request_size,
            request_timeout_ms=request_timeout_ms,
            delivery_timeout_ms=delivery_timeout_ms,
        )
        self._buffer_memory = buffer_memory
        self._max_request_size = max_request_size
        self._max_block_ms = max_block_ms
        self._linger_ms = linger_ms
        self._allow_auto_topic_creation = allow_auto_topic_creation
        self._partitioner = StickyPartitioner()
        self._partition_counts: dict[str, int] = {}
        self._next_poll_ms = 0.0

    def send(
        self,
        topic: str,
        value: bytes | None,
        *,
        key: bytes | None = None,
        headers: Sequence[Header] = (),
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Takes one record; `on_delivery(metadata, error)` is called once, from a later call of the producer."""
        is_sticky = partition is None and key is None
        if partition is None:
            partition = self._choose_partition(topic, key)
        record = (key, value, headers, int(time.time() * 1000) if timestamp_ms is None else timestamp_ms)
        self._reserve(len(key or b"") + len(value or b""))
        if self._accumulator.append(TopicPartition(topic, partition), record, on_delivery):
            if is_sticky:
                self._partitioner.next_batch(topic, self._partition_counts[topic])
            self._sender.run_once(0.0)
        elif self._next_poll_ms <= (now := now_ms()):
            self._next_poll_ms = now + POLL_INTERVAL_MS
            self._sender.run_once(0.0)

    def send_batch(
        self,
        topic: str,
        values: Sequence[bytes],
        *,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        on_delivery: OnDelivery | None = None,
    ) -> None:
        """Takes records without keys as one batch; `on_delivery` hears of the last of them."""
        if partition is None:
            partition = self._choose_partition(topic, None)
            self._partitioner.next_batch(topic, self._partition_counts[topic])
        timestamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        size_bytes = BATCH_OVERHEAD_BYTES + sum(map(len, values)) + RECORD_OVERHEAD_BYTES * len(values)
        self._reserve(size_bytes)
        records: list[ProducerRecord] = [(None, value, (), timestamp) for value in values]
        self._accumulator.append_batch(TopicPartition(topic, partition), records, size_bytes, on_delivery)
        self._sender.run_once(0.0)

    def partitions_for(self, topic: str) -> list[int]:
        """The topic's partitions; creates the topic where the cluster does that and the producer may ask for it."""
        partitions = self.client.partitions_of(topic, allow_auto_topic_creation=self._allow_auto_topic_creation)
        self._partition_counts[topic] = len(partitions)
        return partitions

    def _choose_partition(self, topic: str, key: bytes | None) -> int:
        count = self._partition_counts.get(topic) or len(self.partitions_for(topic))
        return self._partitioner.partition(topic, count) if key is None else partition_for_key(key, count)

    def _reserve(self, size_bytes: int) -> None:
        """Waits until the buffer has room: a slow broker slows the caller down, not the machine."""
        if size_bytes > min(self._max_request_size, self._buffer_memory):
            limit = min(self._max_request_size, self._buffer_memory)
            raise RecordTooLarge(f"{size_bytes} bytes: a request carries at most {limit} (max.request.size)")
        if self._accumulator.unacknowledged_bytes + size_bytes <= self._buffer_memory:
            return
        deadline_ms = now_ms() + self._max_block_ms
        while self._accumulator.unacknowledged_bytes + size_bytes > self._buffer_memory:
            if now_ms() > deadline_ms:
                raise ClientTimeout(f"no room in the send buffer within {self._max_block_ms:.0f} ms (buffer.memory)")
            self._sender.run_once(WAIT_MS, flushing=True)

    @property
    def pending(self) -> int:
        """Batches that are not acknowledged yet."""
        return self._accumulator.unacknowledged_batches

    def poll(self, timeout_ms: float = 0.0) -> None:
        """Sends what is due and hands out the deliveries that are known, waiting for one at most so long."""
        self._sender.run_once(timeout_ms)

    def flush(self, timeout_ms: float | None = None) -> None:
        """Returns when every record so far is acknowledged or given up."""
        deadline_ms = None if timeout_ms is None else now_ms() + timeout_ms
        while self._accumulator.unacknowledged_batches:
            if deadline_ms is not None and now_ms() > deadline_ms:
                raise ClientTimeout(f"{self.pending} batches are not acknowledged after {timeout_ms:.0f} ms")
            self._sender.run_once(WAIT_MS, flushing=True)

    def close(self) -> None:
        """Flushes, then lets the connections go."""
        try:
            self.flush()
        finally:
            self.client.close()

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self.close()
        else:
            self.client.close()
