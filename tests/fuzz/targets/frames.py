"""The frame reader: streams of frames, true and spoilt, in pieces of any size, over sockets of a running server.

    how it is cut uint8 | the stream's bytes

What comes back is compared with what the stream's bytes ask for: each whole frame is answered in order, the first that
breaks a rule ends the connection after the answers to those before it, and nothing else is ever answered.
"""

from __future__ import annotations

import itertools
import random
import socket
import struct
import threading
from collections.abc import Iterator

from kcore.logger import FATAL, LOGGERS
from kcore.network.dispatch import DispatchTable
from kcore.network.request_channel import RequestChannel
from kcore.network.socket_server import SocketServer
from kcore.platform.real_disk import RealDisk
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import Target
from tests.native import build

MAX_REQUEST_BYTES = 40_000
MEMORY_BYTES = 1 << 20
TIMEOUT_S = 60
FLEXIBLE_KEY, FIRST_FLEXIBLE = 3, 9
KNOWN_BY_TABLE, NEVER_FLEXIBLE = 128, 32767
# Sizes about which the receive buffer changes its ways.
SIZES = (0, 1, 100, 4086, 4096, 16_370, 16_384, 16_400, MAX_REQUEST_BYTES - 14)


class Frames(Target):
    name = "frames"
    cases_per_seed = 50

    def __init__(self) -> None:
        LOGGERS.get("kcore.network")
        LOGGERS.set_level("kcore.network", FATAL)
        self.probes = build.load("network_probe")
        self.dispatch = DispatchTable()
        self.dispatch.set_first_flexible(FLEXIBLE_KEY, FIRST_FLEXIBLE)
        self.probe = self.probes.NetworkProbe(self.dispatch)
        # Their bodies mean something to these two: a handler has them.
        self.dispatch.hand_over([self.probes.PARTS, self.probes.DELAY])
        self.channel = RequestChannel(max_bytes=MEMORY_BYTES)
        listeners = [("PLAINTEXT", "127.0.0.1", 0)]
        self.server = SocketServer(
            listeners,
            RealDisk(),
            self.channel,
            self.dispatch,
            num_network_threads=2,
            max_request_bytes=MAX_REQUEST_BYTES,
        )
        self.server.start()
        self.port = self.server.bound_addresses()[0][2]
        self.handler = threading.Thread(target=self.answer, daemon=True)
        self.handler.start()
        self.bystander = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S)
        self.echoes = 0

    def answer(self) -> None:
        """A handler's life: the frame is the answer."""
        finished_turn = -1
        while not self.channel.closed:
            requests = self.channel.receive(16, 1000, finished_turn)
            for request in requests:
                request.respond(request.frame)
            finished_turn = requests[0].turn if requests else -1

    def close(self) -> None:
        self.bystander.close()
        self.server.shutdown(timeout_ms=1000)
        self.channel.close()
        self.handler.join()
        LOGGERS.set_level("kcore.network", None)
        assert self.server.connection_count() == 0
        assert self.channel.memory.used == 0

    # Making

    def generate(self, source: random.Random, seed: int) -> bytes:
        stream = b"".join(self.frame(source) for _ in range(source.choice((1, 1, 2, 3, 8, 60))))
        if source.random() < 0.7:
            stream = Mutator(source).mutated(stream)
        elif source.random() < 0.1:
            stream = source.randbytes(source.randrange(200))
        return bytes((source.randrange(256),)) + stream

    def frame(self, source: random.Random) -> bytes:
        probes = self.probes
        key = source.choice(
            (probes.ECHO, probes.ECHO, FLEXIBLE_KEY, probes.LAST_WORDS, probes.SILENT, probes.HANG_UP, 77, -5)
        )
        version = source.choice((0, 0, 1, 2, FIRST_FLEXIBLE, -1))
        client = source.choice((b"\xff\xff", b"\x00\x00", b"\x00\x04test", b"\x00\x02\xff\xfe"))
        tags = source.choice((b"\x00", b"\x01\x07\x02ab")) if (key, version) == (FLEXIBLE_KEY, FIRST_FLEXIBLE) else b""
        body = source.randbytes(min(source.choice(SIZES), source.choice(SIZES)))
        payload = struct.pack(">hhi", key, version, source.getrandbits(31)) + client + tags + body
        return struct.pack(">i", len(payload)) + payload

    # Judging

    def check(self, data: bytes) -> None:
        if not data:
            return
        stream = data[1:]
        expected = b"".join(struct.pack(">i", len(answer)) + answer for answer in self.answers(stream))
        with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT_S) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            received, whole = exchange(client, pieces(stream, data[0]))
        # A connection that is closed with bytes unread is reset, and may take answers on their way along.
        as_asked = expected == received if whole else expected.startswith(received)
        end = "the end" if whole else "a reset"
        assert as_asked, f"{len(received)} bytes before {end}, {len(expected)} expected: {received[:200].hex()}"
        self.assert_serves_others()

    def assert_serves_others(self) -> None:
        self.echoes += 1
        payload = struct.pack(">hhih", self.probes.ECHO, 0, self.echoes, -1) + b"still here %d" % self.echoes
        self.bystander.sendall(struct.pack(">i", len(payload)) + payload)
        answer = self.bystander.recv(100)
        assert answer[4:] == b"still here %d" % self.echoes, f"another connection was answered {answer.hex()}"
        count = self.server.connection_count()
        assert count < 100, f"{count} connections are open"

    def answers(self, stream: bytes) -> Iterator[bytes]:
        """What the server has to say to these bytes."""
        at = 0
        while at + 4 <= len(stream):
            (size,) = struct.unpack_from(">i", stream, at)
            if not 0 < size <= MAX_REQUEST_BYTES or at + 4 + size > len(stream):
                return
            frame = stream[at + 4 : at + 4 + size]
            at += 4 + size
            body = body_position(frame)
            if body is None:
                return
            key, version = struct.unpack_from(">hh", frame)
            is_native = version in (0, 1)
            if is_native and key == self.probes.HANG_UP:
                return
            if is_native and key == self.probes.SILENT:
                continue
            yield frame[body:] if is_native and key in (self.probes.ECHO, self.probes.LAST_WORDS) else frame
            if is_native and key == self.probes.LAST_WORDS:
                return


def pieces(stream: bytes, how: int) -> Iterator[bytes]:
    """All at once, halves, single bytes at first, or cuts at odd places."""
    cuts = {0: [], 1: [len(stream) // 2], 2: [1, 2, 3, 4, 5], 3: [4, 8, 14], 4: [4095, 4096, 16_384, 16_385]}[how % 5]
    bounds = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    for start, end in itertools.pairwise(bounds):
        yield stream[start:end]


def exchange(client: socket.socket, parts: Iterator[bytes]) -> tuple[bytes, bool]:
    """Sends and reads to the end: what came back, and whether the end was a clean one."""
    received = bytearray()
    sending = Sending(client, list(parts))
    sending.start()
    try:
        while piece := client.recv(1 << 16):
            received += piece
        is_reset = False
    except ConnectionError:
        is_reset = True
    sending.join()
    # The kernel tells of a reset once: when the sender was told, the reader sees what looks like a clean end.
    return bytes(received), not (is_reset or sending.is_broken)


class Sending(threading.Thread):
    """Sends the parts and then an end; `is_broken` when the connection was closed meanwhile."""

    def __init__(self, client: socket.socket, parts: list[bytes]) -> None:
        super().__init__()
        self.client = client
        self.parts = parts
        self.is_broken = False

    def run(self) -> None:
        try:
            for part in self.parts:
                self.client.sendall(part)
            self.client.shutdown(socket.SHUT_WR)
        except OSError:
            self.is_broken = True


def body_position(frame: bytes) -> int | None:
    """Where the body begins, by the header's description; None when there is no whole header."""
    if len(frame) < 10:
        return None
    key, version, _, client_size = struct.unpack_from(">hhih", frame)
    if client_size < -1 or 10 + max(0, client_size) > len(frame):
        return None
    at = 10 + max(0, client_size)
    known = 0 <= key < KNOWN_BY_TABLE
    if not known or version < (FIRST_FLEXIBLE if key == FLEXIBLE_KEY else NEVER_FLEXIBLE):
        return at
    return behind_tags(frame, at)


def behind_tags(frame: bytes, at: int) -> int | None:
    count, at = varint(frame, at)
    for _ in range(count):
        _, at = varint(frame, at)
        size, at = varint(frame, at)
        if at < 0 or size > len(frame) - at:
            return None
        at += size
    return at if at >= 0 else None


def varint(frame: bytes, at: int) -> tuple[int, int]:
    """An unsigned varint and where it ends; (0, -1) when it is over-long or cut."""
    value = 0
    for index in range(5):
        if not 0 <= at + index < len(frame) or at < 0:
            return 0, -1
        byte = frame[at + index]
        value |= (byte & 0x7F) << 7 * index
        if byte < 0x80:
            return (value, at + index + 1) if value < 1 << 32 else (0, -1)
    return 0, -1


def make() -> Frames:
    return Frames()
