"""Producer snapshots: refused as damaged, or taken over, and then written again with the same producers.

which clock uint8 | the file's bytes
"""

from __future__ import annotations

import random
import struct

import crc32c

from tests.fuzz.mutation import BOUNDARIES, Mutator
from tests.fuzz.targets import Target
from tests.native import build

HEAD = struct.Struct(">hIi")
ENTRY = struct.Struct(">qhiqiqiq")
CHECKED_FROM = 6
CLOCKS = (0, 1_700_000_000_000, 2**63 - 1, -1, -(2**63))
EXPIRATION_MS = (86_400_000, 1, 2**63 - 1)


class Snapshots(Target):
    name = "snapshots"
    cases_per_seed = 10_000

    def __init__(self) -> None:
        self.probe = build.load("decoder_probe")

    def generate(self, source: random.Random, seed: int) -> bytes:
        rows = [self.row(source) for _ in range(source.choice((0, 1, 1, 2, 5, 40)))]
        body = struct.pack(">i", len(rows)) + b"".join(ENTRY.pack(*row) for row in rows)
        if source.random() < 0.5:
            body = Mutator(source).mutated(body)
        content = struct.pack(">hI", 1, crc32c.crc32c(body)) + body
        if source.random() < 0.2:
            content = Mutator(source).mutated(content)
        return bytes((source.randrange(256),)) + content

    def row(self, source: random.Random) -> tuple[int, ...]:
        def field(bits: int) -> int:
            value = source.choice((0, 1, -1, source.getrandbits(bits), *BOUNDARIES)) & ((1 << bits) - 1)
            return value - (1 << bits) if value >= 1 << bits - 1 else value

        return tuple(field(bits) for bits in (64, 16, 32, 64, 32, 64, 32, 64))

    def check(self, data: bytes) -> None:
        if not data:
            return
        now_ms = CLOCKS[data[0] % len(CLOCKS)]
        expiration_ms = EXPIRATION_MS[data[0] // len(CLOCKS) % len(EXPIRATION_MS)]
        content = data[1:]
        found = self.probe.producer_snapshot(content, 100, now_ms, expiration_ms)
        assert (found is not None) == is_whole(content)
        if found is None:
            return
        producers, again = found
        assert [row["producer_id"] for row in producers] == sorted({row["producer_id"] for row in producers})
        for row in producers:
            assert len(row["sequences"]) <= 1
        assert is_whole(again)
        _, written = self.probe.producer_snapshot(again, 100, now_ms, expiration_ms)
        assert written == again


def is_whole(content: bytes) -> bool:
    """By the format's description, independently of the reader."""
    if len(content) < HEAD.size:
        return False
    version, checksum, count = HEAD.unpack_from(content)
    if version != 1 or checksum != crc32c.crc32c(content[CHECKED_FROM:]):
        return False
    return bool(count >= 0 and len(content) == HEAD.size + count * ENTRY.size)


def make() -> Snapshots:
    return Snapshots()
