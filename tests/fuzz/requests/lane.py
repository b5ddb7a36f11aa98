"""A connection that sends many requests before it reads answers.

Answers have the order of requests. So the first request without an answer is the one at which a connection ended, and
those behind it, which the broker never executed, are sent again on a new connection. A request that may be silent, and
the last one, have a sentinel behind them: an ApiVersions request, whose answer shows that everything before it is done.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections import deque
from collections.abc import Iterable

from tests.fuzz.requests.findings import Finding
from tests.fuzz.requests.judgement import judge_answer, judge_close, may_be_silent, may_wait
from tests.fuzz.requests.source import Request

SENTINEL_ID = -1
SENTINEL = struct.pack(">ihhih", 10, 18, 0, SENTINEL_ID, -1)
RECEIVED_BYTES = 1 << 18
CONNECT_TIMEOUT_S = 30.0
Item = Request | None


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Lane:
    """One connection at a time. `answers` collects (request, frame or None) where `keeps_answers` is set."""

    def __init__(self, port: int, patience_s: float, *, keeps_answers: bool = False) -> None:
        self.port = port
        self.patience_s = patience_s
        self.keeps_answers = keeps_answers
        self.answers: list[tuple[Request, bytes | None]] = []
        self.parked: deque[Parked] = deque()
        self.unanswered: deque[Item] = deque()
        self.socket: socket.socket | None = None
        self.buffer = bytearray()

    def connect(self) -> socket.socket:
        try:
            made = socket.create_connection(("127.0.0.1", self.port), timeout=CONNECT_TIMEOUT_S)
        except OSError as error:
            raise Finding(f"the broker accepts no connection: {error}", self.suspects()) from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(self.patience_s)
        self.buffer.clear()
        self.socket = made
        return made

    def suspects(self) -> list[Request]:
        return [item for item in self.unanswered if item is not None]

    def send(self, requests: Iterable[Request]) -> None:
        """Those that may wait come last, one for each call; the caller sees to that."""
        items: list[Item] = []
        for request in requests:
            items.append(request)
            if may_be_silent(request):
                items.append(None)
        if items and items[-1] is not None and not may_wait(items[-1]):
            items.append(None)
        self.write(items)

    def write(self, items: Iterable[Item]) -> None:
        self.unanswered.extend(items)
        stream = b"".join(SENTINEL if item is None else framed(item.payload) for item in self.unanswered)
        connection = self.socket or self.connect()
        # After the end of the connection the answers before it are still read.
        with contextlib.suppress(OSError):
            connection.sendall(stream)

    def collect(self) -> None:
        """Reads the answers of what was sent, and judges them."""
        while self.unanswered:
            head = self.unanswered[0]
            if len(self.unanswered) == 1 and head is not None and may_wait(head):
                self.park(head)
                return
            frame = self.receive_frame()
            if frame is None:
                self.ended()
            else:
                self.take(frame)

    def take(self, frame: bytes) -> None:
        """Matches an answer with its request."""
        correlation_id = int.from_bytes(frame[:4], "big", signed=True)
        head = self.unanswered.popleft()
        while head is not None and head.index != correlation_id:
            if not may_be_silent(head):
                raise Finding(f"answer {correlation_id} came instead of that of the request", [head])
            self.keep(head, b"")
            head = self.unanswered.popleft()
        if head is None:
            if correlation_id != SENTINEL_ID:
                raise Finding(f"answer {correlation_id} belongs to no request", self.suspects())
            return
        judge_answer(head, frame)
        self.keep(head, frame)

    def keep(self, request: Request, frame: bytes | None) -> None:
        if self.keeps_answers:
            self.answers.append((request, frame))

    def ended(self) -> None:
        """The broker closed the connection: the first request without an answer is the cause."""
        self.close()
        culprit = self.unanswered.popleft()
        if culprit is None:
            raise Finding("the connection ended between requests", self.suspects())
        try:
            judge_close(culprit)
        except Finding as finding:
            finding.suspects += self.suspects()
            if self.is_closed_again(culprit):
                raise
        self.keep(culprit, None)
        if self.unanswered and self.unanswered[0] is None and may_be_silent(culprit):
            self.unanswered.popleft()
        if self.unanswered:
            self.write(())

    def is_closed_again(self, request: Request) -> bool:
        """Whether a request alone ends a connection. Answers to it are lost if a later one ended the connection."""
        connection = self.connect()
        connection.sendall(framed(request.payload))
        try:
            return self.receive_frame() is None
        finally:
            self.close()

    def park(self, request: Request) -> None:
        """The answer may come much later: its connection waits aside for it."""
        assert self.socket is not None
        self.parked.append(Parked(self.socket, bytes(self.buffer), request))
        self.unanswered.popleft()
        self.socket = None

    def receive_frame(self) -> bytes | None:
        """The next answer; None for the end of the connection."""
        assert self.socket is not None
        buffer = self.buffer
        while True:
            if len(buffer) >= 4:
                end = 4 + int.from_bytes(buffer[:4], "big")
                if len(buffer) >= end:
                    frame = bytes(buffer[4:end])
                    del buffer[:end]
                    return frame
            try:
                piece = self.socket.recv(RECEIVED_BYTES)
            except TimeoutError as error:
                raise Finding(f"no answer within {self.patience_s:.0f} s", self.suspects()) from error
            except OSError:
                return None
            if not piece:
                return None
            buffer += piece

    def close(self) -> None:
        if self.socket is not None:
            self.socket.close()
        self.socket = None
        self.buffer.clear()

    def close_all(self) -> None:
        self.close()
        while self.parked:
            self.parked.popleft().finish(0.0)


class Parked:
    """A connection whose only request may wait."""

    def __init__(self, connection: socket.socket, received: bytes, request: Request) -> None:
        self.socket = connection
        self.received = bytearray(received)
        self.request = request

    def finish(self, wait_s: float) -> bytes | None:
        """Judges the answer if it comes in time, and ends the connection; None without an answer."""
        deadline = time.monotonic() + wait_s
        try:
            while not self.is_whole():
                ready, _, _ = select.select([self.socket], [], [], max(0.0, deadline - time.monotonic()))
                if not ready:
                    return None
                piece = self.socket.recv(RECEIVED_BYTES)
                if not piece:
                    judge_close(self.request)
                    return None
                self.received += piece
            frame = bytes(self.received[4 : 4 + int.from_bytes(self.received[:4], "big")])
            judge_answer(self.request, frame)
            return frame
        except OSError:
            return None
        finally:
            self.socket.close()

    def is_whole(self) -> bool:
        return len(self.received) >= 4 and len(self.received) >= 4 + int.from_bytes(self.received[:4], "big")
