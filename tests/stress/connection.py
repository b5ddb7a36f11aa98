"""One connection of a stressed broker's client: frames in order, and ends of every kind."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from typing import Any

from kcore.protocol.apis import Api
from kcore.protocol.headers import decode_response, encode_request
from kcore.protocol.message import Message

# RST instead of FIN: what is unread or unsent is thrown away.
LINGER_NOT = struct.pack("ii", 1, 0)
STREAM_LIMIT = 1 << 22


class ConnectionLost(Exception):
    """The broker, or this side, ended the connection."""


class Unanswered(AssertionError):
    """The broker kept a connection open and did not answer in a time that leaves no doubt."""


class Connection:
    """`patience_s` is how long an answer may take, whatever holds it up."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str, patience_s: float
    ) -> None:
        self.reader = reader
        self.writer = writer
        self.client_id = client_id
        self.patience_s = patience_s
        self.sent = 0
        self.unanswered: deque[int] = deque()
        self.throttled_ms = 0

    @classmethod
    async def open(cls, port: int, client_id: str, patience_s: float) -> Connection:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=STREAM_LIMIT)
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        return cls(reader, writer, client_id, patience_s)

    def send(self, api: Api, version: int, fields: Any, *, is_answered: bool = True) -> None:
        self.sent += 1
        if is_answered:
            self.unanswered.append(self.sent)
        payload = encode_request(api, version, self.sent, self.client_id, fields)
        self.write(len(payload).to_bytes(4, "big") + payload)

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        if self.writer.is_closing():
            raise ConnectionLost("closed")
        self.writer.write(data)

    async def receive_frame(self) -> bytes:
        """The next answer without its length."""
        try:
            async with asyncio.timeout(self.patience_s):
                size = int.from_bytes(await self.reader.readexactly(4), "big")
                return await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError) as error:
            # TimeoutError is an OSError, and asyncio's.
            if isinstance(error, TimeoutError):
                raise Unanswered(
                    f"{self.client_id} waited {self.patience_s} s for the answer to {list(self.unanswered)} on port "
                    f"{self.writer.get_extra_info('sockname')[1]}, last throttled for {self.throttled_ms} ms"
                ) from error
            raise ConnectionLost(str(error)) from error

    async def receive(self, api: Api, version: int) -> Message:
        """The answer to the oldest request that has none."""
        frame = await self.receive_frame()
        try:
            correlation_id, message = decode_response(api, version, frame)
        except Exception as error:
            error.add_note(f"{self.client_id} {list(self.unanswered)} {frame[:400]!r}")
            raise
        self.throttled_ms = getattr(message, "throttle_time_ms", 0)
        expected = self.unanswered.popleft()
        if correlation_id != expected:
            raise Unanswered(f"{self.client_id} got the answer to {correlation_id} for that to {expected}")
        return message

    async def request(self, api: Api, version: int, fields: Any) -> Message:
        self.send(api, version, fields)
        return await self.receive(api, version)

    async def closed_by_broker(self) -> None:
        """Comes back when the broker has ended the connection, whatever it sent before."""
        try:
            while True:
                await self.receive_frame()
        except ConnectionLost:
            return

    def abort(self, *, reset: bool = False) -> None:
        """Ends it at once; what was not sent yet is not sent."""
        if reset and not self.writer.is_closing():
            plain = self.writer.get_extra_info("socket")
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self.writer.transport.abort()
