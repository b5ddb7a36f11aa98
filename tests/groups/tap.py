"""Stands between the members of groups and a broker, passes everything on, and tells what was said of groups.

It is the one observer that is the same for all clients and both brokers: generations, assignments, commits and errors
are what was on the wire, not what a library makes of them. Addresses in answers are rewritten, as a FaultProxy's are,
so that no client finds a way past it. Frames pass whole: scenarios have small ones.

Concurrency: one thread with an event loop. `on_exchange` is called there, before the answer goes on to the client, so
that whoever hears of something that a client did next has heard of its cause before.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Self

from kcore.protocol import apis
from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_request_header, decode_response
from kcore.protocol.message import Message
from kcore.testing.fault_proxy import address_rewriting

LOOPBACK = "127.0.0.1"
MAX_FRAME_BYTES = 64 << 20
# Connections that wait to be accepted: fifty members begin at once, with several each.
BACKLOG = 512
WATCHED = (
    apis.FIND_COORDINATOR,
    apis.JOIN_GROUP,
    apis.SYNC_GROUP,
    apis.HEARTBEAT,
    apis.LEAVE_GROUP,
    apis.OFFSET_COMMIT,
    apis.OFFSET_FETCH,
)
WATCHED_BY_KEY = {api.key: api for api in WATCHED}


class Exchange(NamedTuple):
    """A request and its answer; None when the connection ended before there was one. Times are `monotonic_ns`."""

    client_id: str
    api: Api
    version: int
    request: Message
    response: Message | None
    asked_at: int
    answered_at: int


class Asked(NamedTuple):
    api_key: int
    version: int
    client_id: str
    request: Message | None
    at: int


class GroupTap:
    """A port of its own that leads to the broker at `port`."""

    def __init__(self, port: int, on_exchange: Callable[[Exchange], None]) -> None:
        self._broker_port = port
        self._on_exchange = on_exchange
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="group-tap", daemon=True)
        self._started = threading.Event()
        self.port = 0

    @property
    def bootstrap_server(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._over = asyncio.Event()
        server = await asyncio.start_server(self._connected, LOOPBACK, 0, backlog=BACKLOG, limit=MAX_FRAME_BYTES)
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        await self._over.wait()
        server.close()
        # Leaving the runner cancels the connections' tasks.

    async def _connected(self, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        asked: dict[int, Asked] = {}
        to_broker: asyncio.StreamWriter | None = None
        try:
            broker, to_broker = await asyncio.open_connection(LOOPBACK, self._broker_port, limit=MAX_FRAME_BYTES)
            ways = [self._pass_requests(client, to_broker, asked), self._pass_answers(broker, to_client, asked)]
            tasks = [asyncio.ensure_future(way) for way in ways]
            try:
                # The end of one side is the end of both: a client that closes waits for no answer any more.
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for writer in (to_broker, to_client):
                if writer is not None:
                    writer.close()
            for left in asked.values():
                self._tell(left, None)

    async def _pass_requests(
        self, client: asyncio.StreamReader, to_broker: asyncio.StreamWriter, asked: dict[int, Asked]
    ) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await read_frame(client)
                correlation_id = int.from_bytes(frame[4:8], "big", signed=True)
                asked[correlation_id] = question_of(frame)
                await send_frame(to_broker, frame)

    async def _pass_answers(
        self, broker: asyncio.StreamReader, to_client: asyncio.StreamWriter, asked: dict[int, Asked]
    ) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            while True:
                frame = await read_frame(broker)
                question = asked.pop(int.from_bytes(frame[:4], "big", signed=True))
                self._tell(question, frame)
                if address_rewriting.is_addressed(question.api_key, question.version):
                    frame = address_rewriting.rewritten(question.api_key, question.version, frame, self._translate)
                await send_frame(to_client, frame)

    def _tell(self, asked: Asked, frame: bytes | None) -> None:
        if asked.request is None:
            return
        api = WATCHED_BY_KEY[asked.api_key]
        response = None if frame is None else decode_response(api, asked.version, frame)[1]
        self._on_exchange(
            Exchange(asked.client_id, api, asked.version, asked.request, response, asked.at, time.monotonic_ns())
        )

    def _translate(self, node: int, host: str, port: int) -> tuple[str, int]:
        return LOOPBACK, self.port


def question_of(frame: bytes) -> Asked:
    """Of what is not watched nothing but the key and the version is read, which every request begins with."""
    api_key, version = (int.from_bytes(frame[at : at + 2], "big", signed=True) for at in (0, 2))
    api = WATCHED_BY_KEY.get(api_key)
    if api is None:
        return Asked(api_key, version, "", None, time.monotonic_ns())
    header, body = decode_request_header(frame)
    request, _ = api.request.decode_prefix(version, frame, body)
    return Asked(api_key, version, header.client_id or "", request, time.monotonic_ns())


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """A frame without its length."""
    size = int.from_bytes(await reader.readexactly(4), "big", signed=True)
    assert 0 <= size <= MAX_FRAME_BYTES, f"a frame of {size} bytes"
    return await reader.readexactly(size)


async def send_frame(writer: asyncio.StreamWriter, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(4, "big") + frame)
    await writer.drain()
