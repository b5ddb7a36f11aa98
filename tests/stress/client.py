"""What every client has in common: a random source of its own, and a connection that is made again when it ends."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field

from tests.stress.connection import Connection, ConnectionLost
from tests.stress.topics import TopicTable


@dataclass
class Situation:
    """What all clients of a run share."""

    port: int
    metrics_port: int
    seed: int
    patience_s: float
    topics: TopicTable = field(default_factory=TopicTable)
    over: asyncio.Event = field(default_factory=asyncio.Event)  # nothing new is begun
    written: asyncio.Event = field(default_factory=asyncio.Event)  # and the last producer has stopped
    counts: Counter[str] = field(default_factory=Counter)
    writers: int = 0

    def new_writer(self) -> int:
        self.writers += 1
        return self.writers


class Client:
    """One of the connections of a run; `step` is its work, repeated until the run is over."""

    kind = "client"

    def __init__(self, situation: Situation, number: int) -> None:
        self.situation = situation
        self.topics = situation.topics
        self.name = f"{self.kind}-{number}"
        self.source = random.Random(f"{situation.seed}/{self.name}")
        self.connection: Connection | None = None

    async def run(self) -> None:
        while not self.situation.over.is_set():
            try:
                if self.connection is None:
                    self.connection = await Connection.open(self.situation.port, self.name, self.situation.patience_s)
                    self.situation.counts["connections"] += 1
                    await self.connected(self.connection)
                await self.step(self.connection)
                self.situation.counts[self.kind] += 1
            except ConnectionLost:
                self.situation.counts["connections lost"] += 1
                await self.disconnect()
                await asyncio.sleep(self.source.random() * 0.05)
        try:
            await self.finish()
        except ConnectionLost:
            self.situation.counts["connections lost"] += 1
        await self.disconnect()

    async def connected(self, connection: Connection) -> None:
        """A connection is new."""

    async def step(self, connection: Connection) -> None:
        raise NotImplementedError

    async def finish(self) -> None:
        """The run is over: what was begun is ended."""

    async def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.abort(reset=self.source.random() < 0.3)
        self.connection = None

    async def pause(self, longest_s: float) -> None:
        await asyncio.sleep(self.source.random() * longest_s)

    def happens(self, probability: float) -> bool:
        return self.source.random() < probability
