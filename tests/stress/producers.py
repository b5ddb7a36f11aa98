"""Producers: every codec and acks, several requests in flight, connections that end in the middle of a request."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from kcore.protocol import apis
from kcore.protocol.headers import encode_request
from kcore.record import compression
from tests.stress.client import Client, Situation
from tests.stress.connection import Connection, ConnectionLost
from tests.stress.partition_history import Violation
from tests.stress.payload import BatchName, make_batch
from tests.stress.topics import Topic

CODECS = [codec for codec in range(5) if compression.is_available(codec)]
ZSTD = 4
ZSTD_SINCE = 7
VERSIONS = (3, 7, 8, 9, 11)
OK, DUPLICATE = 0, 46
# MESSAGE_TOO_LARGE and RECORD_LIST_TOO_LARGE: operators change the sizes of segments.
TOO_LARGE = (10, 18)
MANY_DAYS_MS = 90 * 86_400_000
# A produce of one record is the usual case; now and then one is larger than a receive buffer.
SIZES = (0, 10, 100, 100, 1_000, 1_000, 8_000)


@dataclass
class Sent:
    """One batch that is on its way."""

    topic: Topic
    partition: int
    name: BatchName
    count: int
    codec: int
    records: bytes
    made_s: float = field(default_factory=time.monotonic)


class Producer(Client):
    """Not idempotent: what was not answered is not sent again. Each connection is a writer of its own."""

    kind = "producer"
    depth = 3

    def __init__(self, situation: Situation, number: int) -> None:
        super().__init__(situation, number)
        self.writer = 0
        self.number = 0
        self.in_flight: list[tuple[int, list[Sent]]] = []

    async def connected(self, connection: Connection) -> None:
        self.writer = self.situation.new_writer()
        self.in_flight.clear()

    async def step(self, connection: Connection) -> None:
        await self.pause(0.02)
        if self.happens(0.01):
            self.tear(connection)
        if self.happens(0.01):
            raise ConnectionLost("it has had enough")
        batches = self.choose_batches()
        version = self.choose_version(batches)
        acks = self.source.choice((1, 1, -1, 0))
        # Without an answer nothing is known of a batch, but that it is written once at most.
        connection.send(apis.PRODUCE, version, self.fields(batches, acks), is_answered=acks != 0)
        if acks != 0:
            self.in_flight.append((version, batches))
        await self.settle(connection, self.source.randrange(self.depth))

    async def finish(self) -> None:
        if self.connection is not None:
            await self.settle(self.connection, 0)

    def choose_batches(self) -> list[Sent]:
        """For up to three partitions, each once."""
        chosen = {self.choose_partition() for _ in range(self.source.choice((1, 1, 1, 3)))}
        return [self.batch(topic, partition) for topic, partition in sorted(chosen, key=lambda place: place[1])]

    def choose_partition(self) -> tuple[Topic, int]:
        return self.topics.choose(self.source)

    def batch(self, topic: Topic, partition: int, **producer: int) -> Sent:
        self.number += 1
        name = BatchName(self.writer, self.number)
        sizes = self.choose_sizes()
        now_ms = int(time.time() * 1000)
        # Old enough for retention, where the topic has any.
        timestamp_ms = now_ms if self.happens(0.3) else now_ms - self.source.randrange(MANY_DAYS_MS)
        codec = self.source.choice(CODECS)
        records = make_batch(topic.tag, name, sizes, codec=codec, timestamp_ms=timestamp_ms, **producer)
        return Sent(topic, partition, name, len(sizes), codec, records)

    def choose_version(self, batches: list[Sent]) -> int:
        version = self.source.choice(VERSIONS)
        return max(version, ZSTD_SINCE) if any(sent.codec == ZSTD for sent in batches) else version

    def choose_sizes(self) -> list[int]:
        if self.happens(0.005):
            return [30_000] * 12
        return [self.source.choice(SIZES) for _ in range(self.source.choice((1, 1, 1, 5, 20)))]

    def fields(self, batches: list[Sent], acks: int) -> dict[str, object]:
        topics: dict[str, list[dict[str, object]]] = {}
        for sent in batches:
            topics.setdefault(sent.topic.name, []).append({"index": sent.partition, "records": sent.records})
        data = [{"name": name, "partition_data": partitions} for name, partitions in topics.items()]
        return {"acks": acks, "timeout_ms": 30_000, "topic_data": data}

    def tear(self, connection: Connection) -> None:
        """A part of a request, and the end: nothing of it may be written."""
        sent = self.batch(*self.choose_partition())
        payload = encode_request(apis.PRODUCE, 9, 0, self.name, self.fields([sent], 1))
        frame = len(payload).to_bytes(4, "big") + payload
        connection.write(frame[: self.source.randrange(1, len(frame))])
        sent.topic.partitions[sent.partition].cannot_be(sent.name)
        raise ConnectionLost("in the middle of a request")

    async def settle(self, connection: Connection, allowed: int) -> None:
        """Takes answers until at most `allowed` requests have none."""
        while len(self.in_flight) > allowed:
            version, batches = self.in_flight[0]
            answer = await connection.receive(apis.PRODUCE, version)
            self.in_flight.pop(0)
            told = {(topic.name, row.index): row for topic in answer.responses for row in topic.partition_responses}
            for sent in batches:
                row = told[sent.topic.name, sent.partition]
                self.was_told(sent, row.error_code, row.base_offset)

    def was_told(self, sent: Sent, error: int, base_offset: int) -> None:
        if sent.topic.is_going:
            return  # it may have been written to the topic's next life
        history = sent.topic.partitions[sent.partition]
        if error == OK:
            history.was_acknowledged(sent.name, base_offset, sent.count)
            self.situation.counts["batches acknowledged"] += 1
        elif error in TOO_LARGE:
            history.cannot_be(sent.name)
        else:
            raise Violation(
                f"{history.label}: {sent.name} of {self.name} was refused with error {error}, "
                f"{time.monotonic() - sent.made_s:.1f} s after it was made"
            )


class IdempotentProducer(Producer):
    """Sends again, in order, what was not answered, and is one writer for ever. Writes to stable partitions."""

    kind = "idempotent"

    def __init__(self, situation: Situation, number: int) -> None:
        super().__init__(situation, number)
        self.writer = situation.new_writer()
        self.producer_id = -1
        self.sequences: dict[tuple[str, int], int] = {}
        self.unsettled: list[Sent] = []

    async def connected(self, connection: Connection) -> None:
        if self.producer_id < 0:
            answer = await connection.request(
                apis.INIT_PRODUCER_ID, 4, {"transactional_id": None, "transaction_timeout_ms": 60_000}
            )
            self.producer_id = answer.producer_id
        self.in_flight.clear()
        # As librdkafka and Java do: in order, in the same batches, before anything new.
        for sent in list(self.unsettled):
            await self.deliver(connection, sent)

    async def step(self, connection: Connection) -> None:
        await self.pause(0.02)
        topic = self.source.choice(self.topics.stable)
        partition = self.source.randrange(len(topic.partitions))
        sequence = self.sequences.get((topic.name, partition), 0)
        sent = self.batch(topic, partition, producer_id=self.producer_id, producer_epoch=0, base_sequence=sequence)
        self.sequences[topic.name, partition] = sequence + sent.count
        self.unsettled.append(sent)
        if self.happens(0.01):
            self.tear_whole(connection, sent)
        await self.deliver(connection, sent)
        if self.happens(0.02) and not self.in_flight:
            # The same once more: it is known already.
            self.unsettled.append(sent)
            await self.deliver(connection, sent)

    def choose_sizes(self) -> list[int]:
        """Never too large: a refused batch would be missing in the sequence."""
        return [self.source.choice(SIZES[:-1]) for _ in range(self.source.choice((1, 1, 1, 5, 20)))]

    def tear_whole(self, connection: Connection, sent: Sent) -> None:
        """Ends the connection behind a request that may or may not be carried out, or in the middle of it."""
        payload = encode_request(apis.PRODUCE, 9, 0, self.name, self.fields([sent], -1))
        frame = len(payload).to_bytes(4, "big") + payload
        connection.write(frame if self.happens(0.5) else frame[: self.source.randrange(1, len(frame))])
        raise ConnectionLost("behind a request")

    async def deliver(self, connection: Connection, sent: Sent) -> None:
        version = self.choose_version([sent])
        connection.send(apis.PRODUCE, version, self.fields([sent], self.source.choice((1, -1))))
        self.in_flight.append((version, [sent]))
        await self.settle(connection, self.source.randrange(self.depth))

    async def finish(self) -> None:
        while self.unsettled:
            if self.connection is None:
                self.connection = await Connection.open(self.situation.port, self.name, self.situation.patience_s)
                await self.connected(self.connection)
            await self.settle(self.connection, 0)

    def was_told(self, sent: Sent, error: int, base_offset: int) -> None:
        # An old batch that is sent again may be one that the broker has forgotten, beyond the last five.
        history = sent.topic.partitions[sent.partition]
        if error not in (OK, DUPLICATE):
            raise Violation(f"{history.label}: batch {sent.name} of {self.name} was refused with error {error}")
        if error == OK:
            history.was_acknowledged(sent.name, base_offset, sent.count)
            self.situation.counts["batches acknowledged"] += 1
        self.unsettled.remove(sent)
