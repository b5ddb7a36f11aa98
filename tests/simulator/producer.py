"""A producer with one request in flight, which remembers what it sent and what it was told.

An idempotent one sends what was not answered again, under the same sequence numbers, until it is answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kcore.protocol import apis
from kcore.record.encoder import RecordBatchBuilder
from tests.invariants import history as records
from tests.invariants.checker import InvariantViolation
from tests.invariants.history import History, Outcome, Send, TopicPartition
from tests.raw_client import RawClient

OUT_OF_ORDER_SEQUENCE_NUMBER = 45
DUPLICATE_SEQUENCE_NUMBER = 46
UNKNOWN_PRODUCER_ID = 59
# Of what these answer nothing was written; every other error may have come after the write.
REFUSALS = {
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    6: "NOT_LEADER_OR_FOLLOWER",
    10: "MESSAGE_TOO_LARGE",
    18: "RECORD_LIST_TOO_LARGE",
    87: "INVALID_RECORD",
    OUT_OF_ORDER_SEQUENCE_NUMBER: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    UNKNOWN_PRODUCER_ID: "UNKNOWN_PRODUCER_ID",
}
TIMEOUT_MS = 15_000


class Request(NamedTuple):
    """A batch on its way: `numbers` and `values` of its records, its first sequence number, and what is sent."""

    partition: TopicPartition
    numbers: range
    values: list[bytes]
    sequence: int
    batch: bytes
    acks: int
    is_retry: bool


class Producer:
    """`keeps_state` says that the broker must know the producer's sequence numbers after any crash."""

    def __init__(
        self, name: str, history: History, clock: Callable[[], int], *, idempotent: bool, keeps_state: bool
    ) -> None:
        self.name = name
        self.idempotent = idempotent
        self._keeps_state = keeps_state
        self._history = history
        self._clock = clock
        self._client: RawClient | None = None
        self._producer_id = -1
        self._next_number = 0
        self._sequences: dict[TopicPartition, int] = {}
        self._unanswered: dict[TopicPartition, Request] = {}
        self._in_flight: Request | None = None
        self.last_error = 0
        self.last_partition: TopicPartition | None = None
        history.add_producer(records.Producer(name, idempotent=idempotent, ordered=True))

    def connect(self, port: int) -> None:
        """A connection to a broker that has just started."""
        self.disconnect()
        self._client = RawClient(port, client_id=self.name)

    def disconnect(self) -> None:
        if self._client is not None:
            self._client.socket.close()
            self._client = None

    def close(self) -> None:
        """Nothing is sent again."""
        self.disconnect()
        self._unanswered.clear()

    def begin(
        self, partition: TopicPartition, sizes: list[int], *, codec: int, timestamp: int, acks: int
    ) -> Request | None:
        """Sends a batch of records of these sizes, or again what was not answered; None where that is impossible."""
        assert self._client is not None
        if self.idempotent and self._producer_id < 0 and not self._initialize():
            return None
        request = self._unanswered.pop(partition, None)
        if request is None:
            request = self._build(partition, sizes, codec, timestamp, acks)
        topic = {"name": partition.topic, "partition_data": [{"index": partition.partition, "records": request.batch}]}
        fields = {"acks": request.acks, "timeout_ms": TIMEOUT_MS, "topic_data": [topic]}
        self._in_flight = request
        self._client.send(apis.PRODUCE, 9, fields)
        return request

    def _initialize(self) -> bool:
        assert self._client is not None
        fields = {"transactional_id": None, "transaction_timeout_ms": 1000}
        answer = self._client.request(apis.INIT_PRODUCER_ID, 4, fields)
        if answer.error_code == 0:
            self._producer_id = answer.producer_id
            self._sequences.clear()
        return self._producer_id >= 0

    def _build(self, partition: TopicPartition, sizes: list[int], codec: int, timestamp: int, acks: int) -> Request:
        numbers = range(self._next_number, self._next_number + len(sizes))
        self._next_number = numbers.stop
        values = [b"%s:%d:" % (self.name.encode(), number) for number in numbers]
        values = [value.ljust(size, b".") for value, size in zip(values, sizes, strict=True)]
        sequence = self._sequences.get(partition, 0)
        if self.idempotent:
            acks = -1
            builder = RecordBatchBuilder(
                codec=codec, producer_id=self._producer_id, producer_epoch=0, base_sequence=sequence
            )
        else:
            builder = RecordBatchBuilder(codec=codec)
        for value in values:
            builder.append(b"k", value, timestamp)
        return Request(partition, numbers, values, sequence, builder.build(), acks, False)

    def finish(self) -> Outcome:
        """Hears the answer to what was begun, and notes it."""
        assert self._client is not None
        assert self._in_flight is not None
        request, self._in_flight = self._in_flight, None
        answer = self._client.receive(apis.PRODUCE, 9)
        part = answer.responses[0].partition_responses[0]
        self.last_error, self.last_partition = part.error_code, request.partition
        return self._take_answer(request, part.error_code, part.base_offset)

    def _take_answer(self, request: Request, code: int, base_offset: int) -> Outcome:
        if code in (0, DUPLICATE_SEQUENCE_NUMBER):
            self._sequences[request.partition] = request.sequence + len(request.values)
            self._note(request, Outcome.ACKED, base_offset if base_offset >= 0 else None)
            return Outcome.ACKED
        if code in (OUT_OF_ORDER_SEQUENCE_NUMBER, UNKNOWN_PRODUCER_ID):
            if self._keeps_state:
                raise InvariantViolation(
                    5, f"{REFUSALS[code]} for sequence {request.sequence} of {self.name} in {request.partition}"
                )
            self._begin_anew()
        if code in REFUSALS and not request.is_retry:
            self._note(request, Outcome.FAILED)
            return Outcome.FAILED
        if code in REFUSALS:
            # Whether the first attempt was written nobody can say any more, nor which sequence number comes next.
            self._begin_anew()
        self._note(request, Outcome.UNKNOWN)
        if self.idempotent and code not in REFUSALS:
            self._unanswered[request.partition] = request._replace(is_retry=True)
        return Outcome.UNKNOWN

    def _begin_anew(self) -> None:
        """Another producer id from now on; nothing is sent again."""
        self._producer_id = -1
        self._unanswered.clear()

    def _note(self, request: Request, outcome: Outcome, base_offset: int | None = None) -> None:
        if request.is_retry:
            values = set(request.values)
            self._history.sends = [send for send in self._history.sends if send.value not in values]
        at = self._clock()
        for index, (number, value) in enumerate(zip(request.numbers, request.values, strict=True)):
            offset = None if base_offset is None else base_offset + index
            self._history.sends.append(Send(self.name, number, request.partition, value, outcome, offset, at))
