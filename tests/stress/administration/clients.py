"""The connections of a race: those that send what they like, and a well-behaved one whose answers are checked."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from kcore.record.encoder import encode_batch
from tests.stress.administration.requests import Asked, Chooser, Learnt, churn
from tests.stress.connection import Connection, ConnectionLost, Unanswered
from tests.stress.partition_history import Violation

UNKNOWN_SERVER_ERROR = -1
UNKNOWN_TOPIC_OR_PARTITION = 3
COORDINATOR_LOAD_IN_PROGRESS = 14
TOPIC = 2
WITNESS, PASSING = "witness", "witness-passing"


@dataclass
class Race:
    """What the connections of a run share; `pair` is what the racers send now."""

    port: int
    seed: int
    latency_s: float
    pair: tuple[Callable[[Chooser], Asked], Callable[[Chooser], Asked]] = (churn, churn)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    counts: Counter[str] = field(default_factory=Counter)
    learnt: Learnt = field(default_factory=Learnt)
    slowest_s: float = 0.0


def error_codes(message: Message) -> Iterator[int]:
    """Every error code of an answer."""
    for each in message._struct.fields:
        value = getattr(message, each.name)
        if each.name.endswith("error_code"):
            yield value
        elif isinstance(value, Message):
            yield from error_codes(value)
        elif isinstance(value, list) and value and isinstance(value[0], Message):
            for row in value:
                yield from error_codes(row)


class Racer:
    """Sends one of the pair's requests after the other (`part` 0 or 1), or changes the topics meanwhile (2)."""

    def __init__(self, race: Race, number: int) -> None:
        self.race = race
        self.name = f"racer-{number}"
        self.part = number % 3
        self.choose = Chooser(random.Random(f"{race.seed}/{self.name}"), race.learnt)

    async def run(self) -> None:
        connection = await Connection.open(self.race.port, self.name, self.race.latency_s)
        while not self.race.over.is_set():
            make = churn if self.part == 2 else self.race.pair[self.part]
            api, version, fields = make(self.choose)
            try:
                answer = await connection.request(api, version, fields)
            except ConnectionLost as lost:
                raise Violation(f"{self.name}: {api.name} {version} {fields} cost the connection: {lost}") from lost
            except Unanswered as unanswered:
                unanswered.add_note(f"{api.name} {version} {fields}")
                raise
            self.judge(api, version, fields, answer)
        connection.abort()

    def judge(self, api: Api, version: int, fields: dict[str, Any], answer: Message) -> None:
        counts = self.race.counts
        counts["requests"] += 1
        for code in error_codes(answer):
            counts["refusals" if code else "grants"] += 1
            if code == UNKNOWN_SERVER_ERROR:
                raise Violation(f"{self.name}: {api.name} {version} {fields} was answered with {answer}")
        if api is apis.CREATE_TOPICS and version >= 7:
            self.race.learnt.topic_ids.extend(bytes(row.topic_id) for row in answer.topics if not row.error_code)
        elif api is apis.JOIN_GROUP:
            self.race.learnt.members.append(answer.member_id)


class Witness:
    """Works as any client would: what it was told must be so, within a time."""

    def __init__(self, race: Race) -> None:
        self.race = race
        self.source = random.Random(f"{race.seed}/{WITNESS}")
        self.end = 0
        self.committed = -1
        self.connection: Connection | None = None

    async def run(self) -> None:
        await self.begin()
        works = (self.write_and_read, self.write_and_read, self.commit, self.configure, self.come_and_go)
        while not self.race.over.is_set():
            await self.source.choice(works)()
            self.race.counts["witness"] += 1
            await asyncio.sleep(self.source.random() * 0.02)
        self.close()

    async def begin(self) -> None:
        row = {"name": WITNESS, "num_partitions": 1, "replication_factor": 1}
        answer = await self.ask(apis.CREATE_TOPICS, 7, {"topics": [row]})
        self.check(answer.topics[0].error_code == 0, answer)
        # The first question creates the topic of committed offsets.
        fields = {"key_type": 0, "coordinator_keys": [WITNESS]}
        while (await self.ask(apis.FIND_COORDINATOR, 4, fields)).coordinators[0].error_code:
            await asyncio.sleep(0.05)

    def close(self) -> None:
        if self.connection is not None:
            self.connection.abort()
        self.connection = None

    async def ask(self, api: Api, version: int, fields: dict[str, Any]) -> Message:
        if self.connection is None:
            self.connection = await Connection.open(self.race.port, WITNESS, self.race.latency_s)
        started = time.monotonic()
        answer = await self.connection.request(api, version, fields)
        taken_s = time.monotonic() - started
        self.race.slowest_s = max(self.race.slowest_s, taken_s)
        return answer

    def check(self, holds: bool, answer: Message) -> None:
        if not holds:
            raise Violation(f"the well-behaved client got {answer}")

    async def write_and_read(self) -> None:
        batch = encode_batch([(b"key", b"%d" % self.end)], timestamp=int(time.time() * 1000))
        rows = [{"name": WITNESS, "partition_data": [{"index": 0, "records": batch}]}]
        answer = await self.ask(apis.PRODUCE, 9, {"acks": -1, "timeout_ms": 30_000, "topic_data": rows})
        told = answer.responses[0].partition_responses[0]
        self.check((told.error_code, told.base_offset) == (0, self.end), answer)
        row = {"partition": 0, "fetch_offset": self.end, "partition_max_bytes": 1 << 20}
        fields = {"max_wait_ms": 0, "min_bytes": 0, "topics": [{"topic": WITNESS, "partitions": [row]}]}
        answer = await self.ask(apis.FETCH, 12, fields)
        part = answer.responses[0].partitions[0]
        self.check(part.error_code == 0 and b"%d" % self.end in bytes(part.records), answer)
        self.end += 1

    async def commit(self) -> None:
        offset = self.source.randrange(1_000_000)
        row = {"partition_index": 0, "committed_offset": offset, "committed_metadata": None}
        fields = {"group_id": WITNESS, "topics": [{"name": WITNESS, "partitions": [row]}]}
        answer = await self.ask(apis.OFFSET_COMMIT, 8, fields)
        self.check(answer.topics[0].partitions[0].error_code == 0, answer)
        self.committed = offset
        await self.check_commit()

    async def check_commit(self) -> None:
        if self.committed < 0:
            return
        fields = {"group_id": WITNESS, "topics": [{"name": WITNESS, "partition_indexes": [0]}]}
        # After a restart the coordinator loads its partitions first.
        while (answer := await self.ask(apis.OFFSET_FETCH, 7, fields)).error_code == COORDINATOR_LOAD_IN_PROGRESS:
            await asyncio.sleep(0.05)
        self.check(answer.error_code == 0, answer)
        self.check(answer.topics[0].partitions[0].committed_offset == self.committed, answer)

    async def configure(self) -> None:
        value = str(self.source.randrange(86_400_000, 10**12))
        change = {"name": "retention.ms", "config_operation": 0, "value": value}
        resource = {"resource_type": TOPIC, "resource_name": WITNESS, "configs": [change]}
        answer = await self.ask(apis.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [resource]})
        self.check(answer.responses[0].error_code == 0, answer)
        asked = {"resource_type": TOPIC, "resource_name": WITNESS, "configuration_keys": ["retention.ms"]}
        answer = await self.ask(apis.DESCRIBE_CONFIGS, 4, {"resources": [asked]})
        self.check(answer.results[0].configs[0].value == value, answer)

    async def come_and_go(self) -> None:
        """A topic of its own that it creates, extends, and deletes: only it does."""
        row = {"name": PASSING, "num_partitions": 2, "replication_factor": 1}
        answer = await self.ask(apis.CREATE_TOPICS, 7, {"topics": [row]})
        self.check(answer.topics[0].error_code == 0, answer)
        row = {"name": PASSING, "count": 3, "assignments": None}
        answer = await self.ask(apis.CREATE_PARTITIONS, 3, {"topics": [row]})
        self.check(answer.results[0].error_code == 0, answer)
        answer = await self.ask(apis.METADATA, 9, {"topics": [{"name": PASSING}], "allow_auto_topic_creation": False})
        self.check(len(answer.topics[0].partitions) == 3, answer)
        answer = await self.ask(apis.DELETE_TOPICS, 5, {"topic_names": [PASSING]})
        self.check(answer.responses[0].error_code == 0, answer)
        answer = await self.ask(apis.METADATA, 9, {"topics": [{"name": PASSING}], "allow_auto_topic_creation": False})
        self.check(answer.topics[0].error_code == UNKNOWN_TOPIC_OR_PARTITION, answer)
