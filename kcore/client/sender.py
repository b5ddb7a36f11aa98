"""Takes batches out of the accumulator, sends them to the leaders of their partitions and deals with the answers.

At most `max_in_flight` requests are on the way to one broker. With idempotence (KIP-98) every batch carries a sequence
number, so that one that is sent again is written once and in order; after a batch had to be given up, a new producer
id is fetched as soon as nothing is in flight, and what waits is numbered anew.
"""

from __future__ import annotations

import time

from kcore.client.cluster import TopicPartition
from kcore.client.connection import now_ms
from kcore.client.errors import (
    DUPLICATE_SEQUENCE_NUMBER,
    NONE,
    OUT_OF_ORDER_SEQUENCE_NUMBER,
    ClientError,
    ClientTimeout,
    broker_error,
)
from kcore.errors import KafkaError
from kcore.protocol import apis

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kcore.client.cluster import Node
    from kcore.client.network_client import NetworkClient
    from kcore.client.record_accumulator import ProducerBatch, RecordAccumulator
    from kcore.protocol.message import Message

RETRY_BACKOFF_MS = 100.0
NO_PRODUCER_ID = -1
SEQUENCE_MODULUS = 1 << 31
# From a failed attempt the leader may have moved; these answers say that it has.
METADATA_ERRORS = frozenset({3, 5, 6, 74, 100})


class Sender:
    def __init__(
        self,
        client: NetworkClient,
        accumulator: RecordAccumulator,
        *,
        acks: int,
        compression: int,
        enable_idempotence: bool,
        linger_ms: float,
        max_in_flight: int,
        max_request_size: int,
        request_timeout_ms: float,
        delivery_timeout_ms: float,
    ) -> None:
        self._client = client
        self._accumulator = accumulator
        self._acks = acks
        self._compression = compression
        self._enable_idempotence = enable_idempotence
        self._linger_ms = linger_ms
        self._max_in_flight = max_in_flight
        self._max_request_size = max_request_size
        self._request_timeout_ms = request_timeout_ms
        self._delivery_timeout_ms = delivery_timeout_ms
        self._producer_id = NO_PRODUCER_ID
        self._producer_epoch = -1
        self._must_renew_producer_id = False
        self._next_sequence: dict[TopicPartition, int] = {}
        self._in_flight: dict[TopicPartition, list[ProducerBatch]] = {}

    def run_once(self, timeout_ms: float, *, flushing: bool = False) -> None:
        """Sends what is ready, then waits for answers, at most so long."""
        self.send_ready(flushing=flushing)
        if self._in_flight:
            self._client.poll(timeout_ms)
        elif timeout_ms > 0.0 and self._accumulator.unacknowledged_batches:
            # Everything rests after a failure: nothing can arrive that would end the wait sooner.
            time.sleep(min(timeout_ms, RETRY_BACKOFF_MS / 4.0) / 1000.0)

    def send_ready(self, *, flushing: bool = False) -> bool:
        """Sends what may be sent now; whether anything was."""
        self._give_up_expired()
        if self._enable_idempotence and not self._has_producer_id():
            return False
        sent = False
        while True:
            by_leader = self._collect(flushing)
            if not by_leader:
                return sent
            for leader, batches in by_leader.items():
                self._send(leader, batches)
            sent = True

    def _has_producer_id(self) -> bool:
        if self._producer_id == NO_PRODUCER_ID:
            self._init_producer_id()
        elif self._must_renew_producer_id:
            if self._in_flight:
                return False
            try:
                self._init_producer_id()
            except ClientError as error:
                # The broker may be back before what waits is given up.
                if not error.retriable:
                    raise
                return False
        return True

    def _give_up_expired(self) -> None:
        """Drops what has waited for longer than `delivery.timeout.ms`, whatever it waits for."""
        oldest_ms = now_ms() - self._delivery_timeout_ms
        for partition, queue in list(self._accumulator.queues.items()):
            while queue and queue[0].created_ms < oldest_ms:
                text = f"partition {partition}: not delivered within {self._delivery_timeout_ms:.0f} ms"
                self._give_up(queue.popleft(), ClientTimeout(text))

    def _init_producer_id(self) -> None:
        def attempt() -> Message:
            fields = {"transactional_id": None, "transaction_timeout_ms": int(self._request_timeout_ms)}
            response = self._client.request(apis.INIT_PRODUCER_ID, fields)
            if response.error_code:
                raise broker_error(response.error_code, "producer id")
            return response

        response = self._client.retrying(attempt)
        self._producer_id, self._producer_epoch = response.producer_id, response.producer_epoch
        self._must_renew_producer_id = False
        self._next_sequence.clear()

    def _collect(self, flushing: bool) -> dict[Node, list[ProducerBatch]]:
        """One request for every leader that may take one: the foremost ready batch of each of its partitions."""
        by_leader: dict[Node, list[ProducerBatch]] = {}
        sizes: dict[Node, int] = {}
        now = now_ms()
        for queue in list(self._accumulator.queues.values()):
            if not queue:
                continue
            foremost = queue[0]
            if not foremost.is_ready(now, 0.0 if flushing else self._linger_ms):
                continue
            leader = self._leader(foremost, now)
            if leader is None or self._client.in_flight(leader) >= self._max_in_flight:
                continue
            if sizes.get(leader, 0) and sizes[leader] + foremost.size_bytes > self._max_request_size:
                continue
            foremost.is_closed = True
            by_leader.setdefault(leader, []).append(queue.popleft())
            sizes[leader] = sizes.get(leader, 0) + foremost.size_bytes
        return by_leader

    def _leader(self, batch: ProducerBatch, now: float) -> Node | None:
        try:
            return self._client.leader_of(batch.partition)
        except (ClientError, KafkaError) as error:
            if not error.retriable:
                self._accumulator.queues[batch.partition].popleft()
                self._give_up(batch, error)
            else:
                batch.retry_at_ms = now + RETRY_BACKOFF_MS
            return None

    def _send(self, leader: Node, batches: list[ProducerBatch]) -> None:
        by_topic: dict[str, list[dict[str, Any]]] = {}
        for batch in batches:
            data = {"index": batch.partition.partition, "records": self._encode(batch)}
            by_topic.setdefault(batch.partition.topic, []).append(data)
            self._in_flight.setdefault(batch.partition, []).append(batch)
        fields = {
            "transactional_id": None,
            "acks": self._acks,
            "timeout_ms": int(self._request_timeout_ms),
            "topic_data": [{"name": topic, "partition_data": data} for topic, data in by_topic.items()],
        }

        def on_response(response: Message | None, error: ClientError | None) -> None:
            if response is not None:
                self._on_response(batches, response)
            elif error is not None:
                self._on_connection_error(batches, error)

        try:
            self._client.send(leader, apis.PRODUCE, fields, on_response if self._acks else None)
        except ClientError as error:
            self._on_connection_error(batches, error)
            return
        if not self._acks:
            for batch in batches:
                self._succeed(batch, -1, -1)

    def _encode(self, batch: ProducerBatch) -> bytes:
        if batch.encoded is None or batch.producer_id != self._producer_id:
            batch.producer_id, batch.producer_epoch = self._producer_id, self._producer_epoch
            if self._enable_idempotence:
                batch.base_sequence = self._next_sequence.get(batch.partition, 0)
                following = batch.base_sequence + len(batch.records)
                self._next_sequence[batch.partition] = following % SEQUENCE_MODULUS
            batch.encoded = batch.encode(self._compression)
        return batch.encoded

    def _on_response(self, batches: list[ProducerBatch], response: Message) -> None:
        results = {
            (topic.name, result.index): result for topic in response.responses for result in topic.partition_responses
        }
        for batch in batches:
            result = results.get(batch.partition)
            if result is None:
                self._retry(batch, ClientError(f"partition {batch.partition}: missing in the broker's answer"))
            elif result.error_code in (NONE, DUPLICATE_SEQUENCE_NUMBER):
                self._succeed(batch, result.base_offset, result.log_append_time_ms)
            else:
                self._on_partition_error(batch, result.error_code, result.error_message)

    def _on_partition_error(self, batch: ProducerBatch, code: int, message: str | None) -> None:
        error = broker_error(code, f"partition {batch.partition}", message)
        if code in METADATA_ERRORS:
            self._client.forget_leader(batch.partition.topic)
        if error.retriable or (code == OUT_OF_ORDER_SEQUENCE_NUMBER and self._follows_a_retry(batch)):
            self._retry(batch, error)
        else:
            self._landed(batch)
            self._give_up(batch, error)

    def _follows_a_retry(self, batch: ProducerBatch) -> bool:
        """An earlier batch of the partition is still to be written: this one came too early, and is not lost."""
        earlier = [*self._accumulator.queues[batch.partition], *self._in_flight.get(batch.partition, ())]
        return any(other.number < batch.number for other in earlier)

    def _on_connection_error(self, batches: list[ProducerBatch], error: ClientError) -> None:
        for batch in batches:
            self._client.forget_leader(batch.partition.topic)
            if error.retriable:
                self._retry(batch, error)
            else:
                self._landed(batch)
                self._give_up(batch, error)

    def _retry(self, batch: ProducerBatch, error: Exception) -> None:
        self._landed(batch)
        now = now_ms()
        if now - batch.created_ms > self._delivery_timeout_ms:
            self._give_up(batch, error)
        else:
            self._accumulator.put_back(batch, now + RETRY_BACKOFF_MS)

    def _succeed(self, batch: ProducerBatch, base_offset: int, log_append_time_ms: int) -> None:
        self._landed(batch)
        self._accumulator.finished(batch)
        batch.complete(base_offset, log_append_time_ms, None)

    def _give_up(self, batch: ProducerBatch, error: Exception) -> None:
        """The broker will not see this batch's sequence numbers, or has refused them: they may not be reused."""
        if batch.base_sequence >= 0:
            self._must_renew_producer_id = True
        self._accumulator.finished(batch)
        batch.complete(-1, -1, error)

    def _landed(self, batch: ProducerBatch) -> None:
        in_flight = self._in_flight.get(batch.partition)
        if in_flight is not None and batch in in_flight:
            in_flight.remove(batch)
            if not in_flight:
                del self._in_flight[batch.partition]
