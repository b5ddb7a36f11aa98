"""Clients that misbehave: they cost the broker their own connection and nothing else."""

from __future__ import annotations

import asyncio
import struct

from kcore.protocol import apis
from tests.stress.client import Client
from tests.stress.connection import Connection, ConnectionLost

FETCH, UNKNOWN_API = 1, 4_711
MANY_REQUESTS = 400


class Nuisance(Client):
    """Connects, sends what it should not, and is gone."""

    kind = "nuisance"

    async def step(self, connection: Connection) -> None:
        await self.pause(0.1)
        works = (self.nothing, self.garbage, self.two_gibibytes, self.unknown, self.half, self.reads_nothing)
        await self.source.choice(works)(connection)
        raise ConnectionLost("it has done its worst")

    async def nothing(self, connection: Connection) -> None:
        """Connects and leaves."""

    async def garbage(self, connection: Connection) -> None:
        """A frame of any bytes. One in very many would be a request; none of these ends the broker."""
        size = self.source.randrange(1, 200)
        connection.write(
            struct.pack(">i", size) + struct.pack(">hh", 30_000, 0)[:size] + self.source.randbytes(size)[4:]
        )
        await connection.closed_by_broker()

    async def two_gibibytes(self, connection: Connection) -> None:
        connection.write(struct.pack(">i", 0x7FFFFFFF) + bytes(100))
        await connection.closed_by_broker()

    async def unknown(self, connection: Connection) -> None:
        connection.write(struct.pack(">ihhih", 10, UNKNOWN_API, 0, 1, -1))
        await connection.closed_by_broker()

    async def half(self, connection: Connection) -> None:
        """The length of a large frame and a little of it: the broker reserves memory for what never comes."""
        connection.write(struct.pack(">ihhi", 300_000, FETCH, 12, 1) + bytes(self.source.randrange(70_000)))
        await self.pause(1.0)

    async def reads_nothing(self, connection: Connection) -> None:
        """Asks for much and takes none of it."""
        for _ in range(MANY_REQUESTS):
            connection.send(apis.METADATA, 9, {"topics": None})
        await self.pause(1.0)


class Observer(Client):
    """Reads the broker's metrics again and again, each time by a connection of its own."""

    kind = "observer"

    async def step(self, connection: Connection) -> None:
        await self.pause(0.5)
        await scrape(self.situation.metrics_port)
        # Its own connection asks for what handlers do.
        await connection.request(apis.DESCRIBE_LOG_DIRS, 4, {"topics": None})


async def scrape(port: int) -> str:
    """The broker's metrics as text."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    text = (await reader.read()).decode()
    writer.close()
    return text
