"""One run: a broker, fifty connections for a time, then the reckoning."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.message import Message
from tests.stress.broker import Build, StressedBroker, broker_overrides
from tests.stress.client import Client, Situation
from tests.stress.connection import Connection, ConnectionLost
from tests.stress.consumers import Consumer, SessionConsumer, take_records
from tests.stress.nuisances import Nuisance, Observer
from tests.stress.operators import Operator, create_topic
from tests.stress.payload import BatchName
from tests.stress.producers import IdempotentProducer, Producer
from tests.stress.topics import Topic

Company = Sequence[tuple[type[Client], int]]
WRITERS: Company = ((Producer, 14), (IdempotentProducer, 6))
OTHERS: Company = ((Consumer, 9), (SessionConsumer, 12), (Operator, 4), (Nuisance, 4), (Observer, 1))
STABLE = {"kept-0": 3, "kept-1": 1, "trimmed-0": 3, "trimmed-1": 1}
TRIMMED = {"retention.bytes": "400000", "segment.bytes": "100000"}
EARLIEST, LATEST = -2, -1
OUT_OF_RANGE = 1
FINAL_FETCH_BYTES = 4 << 20


class Complaints(AssertionError):
    """The broker logged errors, or ThreadSanitizer found something."""


def stress(directory: Path, seed: int, seconds: float, build: Build) -> Counter[str]:
    """Raises what rule was broken; gives the counts of what was done."""
    overrides = broker_overrides(random.Random(seed))
    broker = StressedBroker(directory, build, overrides)
    try:
        situation = Situation(broker.port, broker.metrics_port, seed, build.patience_s)
        try:
            asyncio.run(work(situation, seconds))
            asyncio.run(reckon(situation))
            broker.stop()
            broker.start()
            situation.port = broker.port
            # What was on disk is what clients saw, and nothing is lost by the end of the process.
            asyncio.run(reckon(situation))
            broker.stop()
        finally:
            complain(broker)
        return situation.counts
    except BaseExceptionGroup as group:
        # What ends the whole run, such as a signal, is no finding of a client.
        ends = [error for error in group.exceptions if not isinstance(error, Exception)]
        group.add_note(f"seed {seed}, broker {overrides}")
        raise (ends[0] if ends else group) from None
    except Exception as error:
        error.add_note(f"seed {seed}, broker {overrides}")
        raise
    finally:
        broker.kill()


def complain(broker: StressedBroker) -> None:
    if found := list(broker.complaints()):
        raise Complaints("\n".join(found)[:40_000])


async def work(situation: Situation, seconds: float) -> None:
    """All clients at once; the first violation ends them."""
    await create_stable_topics(situation)
    clients = {kind: [kind(situation, number) for number in range(count)] for kind, count in (*WRITERS, *OTHERS)}
    async with asyncio.TaskGroup() as group:
        writing = [group.create_task(client.run()) for kind, _ in WRITERS for client in clients[kind]]
        for kind, _ in OTHERS:
            for client in clients[kind]:
                group.create_task(client.run())
        await asyncio.sleep(seconds)
        situation.over.set()
        await asyncio.gather(*writing)
        situation.written.set()


class Judge:
    """Asks when everybody else is done; its connection may have been closed as idle while it judged."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.connection: Connection | None = None

    async def request(self, api: Api, version: int, fields: dict[str, Any]) -> Message:
        while True:
            if self.connection is None:
                self.connection = await Connection.open(self.situation.port, "judge", self.situation.patience_s)
            try:
                return await self.connection.request(api, version, fields)
            except ConnectionLost:
                self.close()

    def close(self) -> None:
        if self.connection is not None:
            self.connection.abort()
        self.connection = None


async def create_stable_topics(situation: Situation) -> None:
    topics = situation.topics
    connection = await Connection.open(situation.port, "maker", situation.patience_s)
    for name, partitions in STABLE.items():
        configs = dict(TRIMMED) if name.startswith("trimmed") else {"retention.ms": "-1", "retention.bytes": "-1"}
        topics.stable.append(await create_topic(connection, topics.tag(name), name, partitions, configs))
    connection.abort()


async def reckon(situation: Situation) -> None:
    """Reads everything there is, and compares it with everything that was said."""
    judge = Judge(situation)
    for topic in situation.topics.living():
        for partition in range(len(topic.partitions)):
            await reckon_partition(judge, topic, partition)
            situation.counts["partitions judged"] += 1
    judge.close()


async def reckon_partition(judge: Judge, topic: Topic, partition: int) -> None:
    history = topic.partitions[partition]
    before = history.bounds
    start = offset = await list_offset(judge, topic, partition, EARLIEST)
    end = await list_offset(judge, topic, partition, LATEST)
    read: set[BatchName] = set()
    while offset < end:
        row = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": FINAL_FETCH_BYTES}
        fields = {"max_wait_ms": 0, "min_bytes": 0, "topics": [{"topic_id": topic.id, "partitions": [row]}]}
        answer = await judge.request(apis.FETCH, 13, fields)
        if not answer.responses:
            # A quota that an operator left: the answer comes late, and has nothing.
            assert answer.throttle_time_ms > 0, f"{history.label}: no answer at {offset} of {end}: {answer}"
            continue
        part = answer.responses[0].partitions[0]
        if part.error_code == OUT_OF_RANGE and not topic.keeps_everything:
            # Retention goes on meanwhile: what it leaves is judged.
            offset = await list_offset(judge, topic, partition, EARLIEST)
            continue
        assert part.error_code == 0, f"{history.label}: error {part.error_code} at {offset}"
        following = take_records(topic, history, offset, part.records)
        assert following > offset, f"{history.label}: nothing at {offset} of {end}"
        read.update(history.sightings[base].name for base in history.bases(offset, following))
        offset = following
    history.saw_bounds(before, start, end)
    history.finish(await list_offset(judge, topic, partition, EARLIEST), end, read)


async def list_offset(judge: Judge, topic: Topic, partition: int, timestamp: int) -> int:
    row = {"partition_index": partition, "timestamp": timestamp}
    fields = {"replica_id": -1, "topics": [{"name": topic.name, "partitions": [row]}]}
    answer = await judge.request(apis.LIST_OFFSETS, 7, fields)
    told = answer.topics[0].partitions[0]
    assert told.error_code == 0, f"{topic.name}-{partition}: error {told.error_code}"
    return int(told.offset)
