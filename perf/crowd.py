"""Crowds of clients for measurements of overload, in one process each and at little cost: asyncio protocols on sockets.

    .venv/bin/python -m perf.crowd slow PORT CONNECTIONS SECONDS FRAME_FILE
    .venv/bin/python -m perf.crowd churn PORT CONNECTIONS SECONDS

`slow` keeps CONNECTIONS open that ask for much (the frame is a Fetch) and read a little each second. `churn` opens
and closes: each of CONNECTIONS connects, asks for ApiVersions, takes the answer, stays for a moment and goes.
One line of JSON on stdout says what happened.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import socket
import sys
import time
from collections import Counter
from pathlib import Path

from perf import frames

LOOPBACK = "127.0.0.1"
READ_BYTES = 2_000
SLOW_RECEIVE_BUFFER = 4_096
REQUESTS_AT_ONCE = 3
LONGEST_STAY_S = 2.0
LONGEST_WAIT_S = 60.0
AT_ONCE = 40  # first requests: as many as wait in a backlog


class SlowReader:
    """A socket that is read when its time comes, not when it is readable."""

    def __init__(self, port: int, frame: bytes) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SLOW_RECEIVE_BUFFER)
        self.socket.setblocking(False)
        self.port = port
        self.frame = frame

    async def run(self, over: asyncio.Event, counts: Counter[str]) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_connect(self.socket, (LOOPBACK, self.port))
            await loop.sock_sendall(self.socket, self.frame * REQUESTS_AT_ONCE)
            while not over.is_set():
                await asyncio.sleep(1.0)
                self.read(counts)
        except (ConnectionError, OSError):
            counts["lost"] += 1
        finally:
            self.socket.close()

    def read(self, counts: Counter[str]) -> None:
        try:
            size = len(self.socket.recv(READ_BYTES))
        except BlockingIOError:
            return
        if size == 0:
            raise ConnectionError("closed")
        counts["bytes"] += size


async def come_and_go(port: int, over: asyncio.Event, counts: Counter[str], turn: asyncio.Semaphore) -> None:
    request = frames.api_versions()
    while not over.is_set():
        writer = None
        try:
            async with turn, asyncio.timeout(LONGEST_WAIT_S):
                began = time.monotonic()
                reader, writer = await asyncio.open_connection(LOOPBACK, port)
                writer.write(request)
                size = int.from_bytes(await reader.readexactly(4), "big")
                await reader.readexactly(size)
            counts["answered"] += 1
            counts["answer_ms"] += int(1000 * (time.monotonic() - began))
        except (OSError, asyncio.IncompleteReadError) as error:
            counts[type(error).__name__] += 1
        await asyncio.sleep(random.random() * LONGEST_STAY_S)
        if writer is not None:
            writer.transport.abort()


async def gather_crowd(kind: str, port: int, connections: int, seconds: float, frame: bytes) -> Counter[str]:
    over = asyncio.Event()
    counts: Counter[str] = Counter()
    if kind == "slow":
        tasks = [asyncio.create_task(SlowReader(port, frame).run(over, counts)) for _ in range(connections)]
    else:
        turn = asyncio.Semaphore(AT_ONCE)
        tasks = [asyncio.create_task(come_and_go(port, over, counts, turn)) for _ in range(connections)]
    await asyncio.sleep(seconds)
    over.set()
    await asyncio.wait(tasks, timeout=LONGEST_WAIT_S)
    return counts


def main() -> None:
    kind, port, connections, seconds, *frame = sys.argv[1:]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    bytes_of_frame = Path(frame[0]).read_bytes() if frame else b""
    counts = asyncio.run(gather_crowd(kind, int(port), int(connections), float(seconds), bytes_of_frame))
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
