"""Consumers: long polls by topic name and by topic id, in fetch sessions and without, that leave at any moment.

Whatever comes is judged by its content (`partition_history.py`). At the end every one reads to where the log ended when
the producers had stopped, in its session if it has one: a partition that a session forgot to look at is noticed then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kcore.protocol import apis
from kcore.protocol.message import Message
from kcore.record.decoder import decode_batches
from tests.stress.client import Client, Situation
from tests.stress.connection import Connection, ConnectionLost
from tests.stress.partition_history import Bounds, PartitionHistory, Violation
from tests.stress.payload import read_batch
from tests.stress.topics import Topic

OK, OUT_OF_RANGE, UNKNOWN_TOPIC, NOT_LEADER, UNKNOWN_ID, INCONSISTENT_ID = 0, 1, 3, 6, 100, 103
GONE = (UNKNOWN_TOPIC, NOT_LEADER, UNKNOWN_ID, INCONSISTENT_ID)
SESSION_LOST = (70, 71)
BY_NAME, BY_ID = (4, 7, 11, 12), (13, 15, 17)
STARTS_SINCE, SESSIONS_SINCE = 5, 7
EARLIEST = -2
# So many long polls in a row that bring nothing, where there is something: the partition is forgotten.
IDLE_POLLS = 20
NO_SESSION, NEW_SESSION = (0, -1), (0, 0)


def take_records(topic: Topic, history: PartitionHistory, wanted: int, records: bytes) -> int:
    """Judges what a fetch at `wanted` brought; gives the offset to go on with."""
    is_first = True
    for batch in decode_batches(records):
        history.must_follow(wanted, batch.base_offset, is_first=is_first)
        fingerprint = hash(bytes(batch.raw))
        if history.has_read(batch.base_offset, fingerprint) is None:
            name = read_batch(topic.tag, batch)
            history.was_read(name, batch.base_offset, batch.next_offset, fingerprint)
        wanted = max(wanted, batch.next_offset)
        is_first = False
    return wanted


@dataclass
class Position:
    """How far a consumer has read a partition."""

    topic: Topic
    partition: int
    offset: int
    told_offset: int = -1  # as the session knows it
    is_lost: bool = False

    @property
    def history(self) -> PartitionHistory:
        return self.topic.partitions[self.partition]

    @property
    def key(self) -> tuple[bytes, int]:
        return self.topic.id, self.partition


class Consumer(Client):
    """Without a session: asks for some partitions, each time all of them."""

    kind = "consumer"
    keeps_session = False

    def __init__(self, situation: Situation, number: int) -> None:
        super().__init__(situation, number)
        self.positions: dict[tuple[bytes, int], Position] = {}
        self.idle_polls = 0
        self.version = 0
        self.session = NO_SESSION

    async def connected(self, connection: Connection) -> None:
        self.version = self.source.choice(BY_NAME + BY_ID)
        if self.keeps_session:
            self.version = max(self.version, SESSIONS_SINCE)
        self.session = NEW_SESSION if self.keeps_session else NO_SESSION
        self.choose_positions()

    def choose_positions(self) -> None:
        """Some partitions anew, from the start, from the end, or from anywhere between."""
        self.positions = {key: value for key, value in self.positions.items() if self.happens(0.5)}
        for _ in range(self.source.choice((1, 2, 6))):
            topic, partition = self.topics.choose(self.source)
            bounds = topic.partitions[partition].bounds
            offset = self.source.choice((bounds.start, bounds.end, self.source.randint(*bounds)))
            self.positions.setdefault((topic.id, partition), Position(topic, partition, offset))

    async def step(self, connection: Connection) -> None:
        await self.pause(0.01)
        if self.happens(0.02):
            raise ConnectionLost("it has had enough")
        if self.happens(0.05):
            self.choose_positions()
        if not self.positions:
            self.choose_positions()
        max_wait_ms = self.source.choice((0, 50, 200, 500))
        min_bytes = self.source.choice((0, 1, 1, 1, 10_000, 1 << 20))
        await self.poll(connection, max_wait_ms, min_bytes)

    async def finish(self) -> None:
        """To the end of everything, as it was when the last producer had stopped."""
        await self.situation.written.wait()
        while behind := self.positions_behind():
            if self.connection is None:
                self.connection = await Connection.open(self.situation.port, self.name, self.situation.patience_s)
                await self.connected(self.connection)
                self.positions = {key: value for key, value in self.positions.items() if not value.topic.is_going}
            before = [position.offset for position in behind]
            await self.poll(self.connection, 500, 1)
            if [position.offset for position in behind] == before:
                self.idle_polls += 1
                if self.idle_polls > IDLE_POLLS:
                    label, offset = behind[0].history.label, behind[0].offset
                    raise Violation(f"{self.name} is told nothing of {label} from {offset} on")
            else:
                self.idle_polls = 0

    def positions_behind(self) -> list[Position]:
        return [
            position
            for position in self.positions.values()
            if not position.topic.is_going and position.offset < position.history.bounds.end
        ]

    # --- one poll ---------------------------------------------------------------------------------------------------

    async def poll(self, connection: Connection, max_wait_ms: int, min_bytes: int) -> None:
        before = {key: position.history.bounds for key, position in self.positions.items()}
        asked, forgotten = self.changes()
        session_id, epoch = self.session
        fields = {
            "replica_id": -1,
            "max_wait_ms": max_wait_ms,
            "min_bytes": min_bytes,
            "max_bytes": self.source.choice((1, 5_000, 100_000, 2 << 20)),
            "session_id": session_id,
            "session_epoch": epoch,
            "topics": self.grouped(asked, self.partition_fields),
            "forgotten_topics_data": self.grouped(forgotten, lambda position: position.partition),
        }
        connection.send(apis.FETCH, self.version, fields)
        if self.happens(0.01):
            await self.pause(0.1)
            raise ConnectionLost("in the middle of a long poll")
        if self.happens(0.01):
            await self.take_a_part(connection)
        answer = await connection.receive(apis.FETCH, self.version)
        if self.version >= SESSIONS_SINCE and answer.error_code != OK:
            self.lost_session(answer.error_code)
            return
        self.keep_session(answer, asked)
        await self.take(connection, answer, before)

    def changes(self) -> tuple[list[Position], list[Position]]:
        """What this fetch says of partitions: all of them, and nothing to forget."""
        return list(self.positions.values()), []

    def keep_session(self, answer: Message, asked: list[Position]) -> None:
        """There is none."""

    def lost_session(self, error: int) -> None:
        raise Violation(f"{self.name}: a fetch without a session was answered with error {error}")

    def partition_fields(self, position: Position) -> dict[str, int]:
        size = self.source.choice((1, 1_000, 50_000, 1 << 20))
        return {"partition": position.partition, "fetch_offset": position.offset, "partition_max_bytes": size}

    def grouped(self, positions: list[Position], row: Callable[[Position], Any]) -> list[dict[str, Any]]:
        topics: dict[bytes, dict[str, Any]] = {}
        for position in positions:
            name = {"topic": position.topic.name} if self.version < BY_ID[0] else {"topic_id": position.topic.id}
            topics.setdefault(position.topic.id, {**name, "partitions": []})["partitions"].append(row(position))
        return list(topics.values())

    async def take_a_part(self, connection: Connection) -> None:
        """Reads slowly, then not at all."""
        with contextlib.suppress(OSError):  # TimeoutError is one: the answer may be shorter than what is asked for
            async with asyncio.timeout(1.0):
                for _ in range(self.source.randrange(5)):
                    await connection.reader.read(1_000)
                    await self.pause(0.05)
        raise ConnectionLost("in the middle of an answer")

    async def take(self, connection: Connection, answer: Message, before: dict[tuple[bytes, int], Bounds]) -> None:
        for row in answer.responses:
            for part in row.partitions:
                position = self.find(row, part.partition_index)
                if position is None or position.topic.is_going:
                    continue
                if part.error_code == OUT_OF_RANGE:
                    await self.start_anew(connection, position)
                elif part.error_code != OK:
                    raise Violation(f"{position.history.label}: {self.name} got error {part.error_code}")
                else:
                    self.take_partition(position, part, before.get(position.key))
        self.positions = {key: value for key, value in self.positions.items() if not value.topic.is_going}

    def find(self, row: Message, partition: int) -> Position | None:
        """Whom an answer is for; by name it is for the life that is asked for, if only one is."""
        if self.version >= BY_ID[0]:
            return self.positions.get((bytes(row.topic_id), partition))
        found = [
            position
            for position in self.positions.values()
            if position.topic.name == row.topic and position.partition == partition
        ]
        return found[0] if len(found) == 1 else None

    def take_partition(self, position: Position, part: Message, before: Bounds | None) -> None:
        history = position.history
        if not part.last_stable_offset <= part.high_watermark:
            raise Violation(f"{history.label}: LSO {part.last_stable_offset}, high watermark {part.high_watermark}")
        if before is not None:
            start = part.log_start_offset if self.version >= STARTS_SINCE else before.start
            history.saw_bounds(before, start, part.high_watermark)
        if part.records:
            self.situation.counts["bytes read"] += len(part.records)
            position.offset = take_records(position.topic, history, position.offset, part.records)
            if position.offset > part.high_watermark:
                raise Violation(f"{history.label}: read to {position.offset}, beyond {part.high_watermark}")

    async def start_anew(self, connection: Connection, position: Position) -> None:
        """What it asked for is deleted: from the start of the log, which must lie behind."""
        history = position.history
        if history.keeps_everything:
            raise Violation(f"{history.label}: offset {position.offset} is out of range, though nothing was deleted")
        row = {"partition_index": position.partition, "timestamp": EARLIEST}
        fields = {"replica_id": -1, "topics": [{"name": position.topic.name, "partitions": [row]}]}
        answer = await connection.request(apis.LIST_OFFSETS, self.source.choice((1, 5, 7)), fields)
        told = answer.topics[0].partitions[0]
        if position.topic.is_going:
            return
        if told.error_code != OK or told.offset <= position.offset:
            raise Violation(f"{history.label}: {position.offset} was out of range, and the log starts at {told}")
        position.offset = told.offset
        self.situation.counts["out of range"] += 1


class SessionConsumer(Consumer):
    """In a fetch session (KIP-227), of which it is sometimes robbed, and which it sometimes gives up."""

    kind = "session"
    keeps_session = True

    def __init__(self, situation: Situation, number: int) -> None:
        super().__init__(situation, number)
        self.members: dict[tuple[bytes, int], Position] = {}

    async def connected(self, connection: Connection) -> None:
        await super().connected(connection)
        self.members = {}

    async def step(self, connection: Connection) -> None:
        if self.session[1] > 0 and self.happens(0.01):
            # A full fetch that ends the session and begins another.
            self.session = (self.session[0], 0)
            self.members = {}
        if self.session[1] > 0 and self.happens(0.005):
            self.session = (self.session[0], self.session[1] + 7)
        await super().step(connection)

    def changes(self) -> tuple[list[Position], list[Position]]:
        asked = [
            position
            for key, position in self.positions.items()
            if key not in self.members or position.told_offset != position.offset
        ]
        # By name, what is asked for and what is forgotten may be two lives of one topic: the broker knows one.
        kept = {(position.topic.name, position.partition) for position in self.positions.values()}
        forgotten = [
            position
            for key, position in self.members.items()
            if key not in self.positions
            and (self.version >= BY_ID[0] or (position.topic.name, position.partition) not in kept)
        ]
        return asked, forgotten

    def keep_session(self, answer: Message, asked: list[Position]) -> None:
        session_id, epoch = self.session
        if answer.session_id == 0:
            # The cache is full: this was a fetch without a session.
            self.session, self.members = NEW_SESSION, {}
            return
        if epoch > 0 and answer.session_id != session_id:
            raise Violation(f"{self.name}: session {session_id} was answered as session {answer.session_id}")
        for position in asked:
            position.told_offset = position.offset
        self.members = dict(self.positions)
        self.session = (answer.session_id, epoch + 1)
        self.situation.counts["in sessions"] += 1

    def lost_session(self, error: int) -> None:
        if error not in SESSION_LOST:
            raise Violation(f"{self.name}: a fetch in a session was answered with error {error}")
        self.session, self.members = NEW_SESSION, {}
        self.situation.counts["sessions lost"] += 1
