"""Record batches for Produce: valid ones of every codec, and ones with a change under a correct checksum.

A changed batch passes every check that comes before the changed field, which flipped bits seldom do.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from kcore.record.encoder import encode_batch
from tests.unit.record.batches import FIELDS, batch, patched, record, varint

CODECS = range(5)
# Records of a seed have times of one fixed day: the Python path and the native path get the same bytes.
BASE_TIMESTAMP = 1_700_000_000_000
TRANSACTIONAL, CONTROL, LOG_APPEND_TIME, DELETE_HORIZON = 0x10, 0x20, 0x08, 0x40
ATTRIBUTES = (
    *(TRANSACTIONAL, TRANSACTIONAL, CONTROL, TRANSACTIONAL | CONTROL, LOG_APPEND_TIME, DELETE_HORIZON),
    *(1, 2, 3, 4, 5, 7, 0x80, 0x7FFF, -1, -(2**15)),
)
BORDERS = (0, 1, -1, 2, -2, 127, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))
WIDTHS = {"b": 8, "h": 16, "i": 32, "I": 32, "q": 64}
CHANGED_FIELDS = (
    *("length", "magic", "last_offset_delta", "base_timestamp", "max_timestamp", "producer_id", "producer_epoch"),
    *("base_sequence", "record_count", "base_offset", "leader_epoch", "crc"),
)
VARINT_BORDERS = (0, 1, -1, -2, 63, 64, 127, 8191, 8192, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63))


class Batches:
    """Makes batches of one seed. `producer` is a learnt producer id and epoch."""

    def __init__(self, source: random.Random, producer: tuple[int, int]) -> None:
        self.random = source
        self.producer = producer
        self.sequence = 0

    def valid(self, codec: int = 0, count: int = 3, timestamp: int = BASE_TIMESTAMP, **fields: Any) -> bytes:
        rows = [(b"key %d" % number, b"value %d" % number * 3, [("h", b"x")], timestamp) for number in range(count)]
        return encode_batch(rows, codec=codec, **fields)

    def idempotent(self) -> bytes:
        """The next batch of the learnt producer id."""
        producer_id, epoch = self.producer
        made = self.valid(count=2, producer_id=producer_id, producer_epoch=epoch, base_sequence=self.sequence)
        self.sequence += 2
        return made

    def plain(self) -> bytes:
        """A valid batch of any kind."""
        if self.random.random() < 0.2:
            return self.idempotent()
        return self.valid(self.random.choice(CODECS), self.random.choice((1, 1, 3, 20)))

    def hostile(self) -> bytes:
        makers: tuple[Callable[[], bytes], ...] = (
            self.with_attributes,
            self.with_attributes,
            self.with_field,
            self.with_field,
            self.with_field,
            self.with_records,
            self.with_records,
            self.with_payload,
            self.of_producer,
            self.in_a_row,
            self.cut,
        )
        return self.random.choice(makers)()

    def with_attributes(self) -> bytes:
        """The transactional bit in a request without a transactional id, the control bit, a wrong or unknown codec."""
        base = self.idempotent() if self.random.random() < 0.5 else self.plain()
        return patched(base, attributes=self.random.choice(ATTRIBUTES))

    def with_field(self) -> bytes:
        made = self.plain()
        for _ in range(self.random.choice((1, 1, 2))):
            name = self.random.choice(CHANGED_FIELDS)
            made = patched(made, **{name: self.border(FIELDS[name][1])})
        return made

    def border(self, kind: str) -> int:
        bits = WIDTHS[kind]
        value = self.random.choice(BORDERS) & ((1 << bits) - 1)
        return value if kind.isupper() or value < 1 << (bits - 1) else value - (1 << bits)

    def with_records(self) -> bytes:
        """Lengths, counts and deltas within a record at their borders."""
        parts = [varint(0), varint(0), varint(1), b"k", varint(1), b"v", varint(1), varint(1), b"h", varint(1), b"x"]
        places = (0, 1, 2, 4, 6, 7, 9)
        for _ in range(self.random.choice((1, 1, 2))):
            parts[self.random.choice(places)] = varint(self.random.choice(VARINT_BORDERS))
        body = b"\x00" + b"".join(parts)
        size = len(body) if self.random.random() < 0.7 else self.random.choice(VARINT_BORDERS)
        payload = varint(size) + body
        if self.random.random() < 0.5:
            payload = record(value=b"first") + payload
            return batch(payload, 2)
        return batch(payload, 1)

    def with_payload(self) -> bytes:
        """Bytes that are not what the codec of the attributes writes."""
        size = self.random.choice((0, 1, 7, 40, 300))
        fields = {"attributes": self.random.choice(CODECS)}
        return batch(self.random.randbytes(size), self.random.choice((0, 1, 2, -1)), **fields)

    def of_producer(self) -> bytes:
        """Producer id, epoch and sequence that do not fit each other or the log."""
        producer_id, epoch = self.producer
        return patched(
            self.valid(),
            producer_id=self.random.choice((producer_id, producer_id, -1, 0, 2**63 - 1, -2)),
            producer_epoch=self.random.choice((epoch, epoch, epoch + 1, -1, 2**15 - 1)),
            base_sequence=self.random.choice((0, self.sequence, self.sequence + 5, -1, 2**31 - 1)),
        )

    def in_a_row(self) -> bytes:
        """Several batches in one field, of which a client sends one."""
        return b"".join(self.plain() for _ in range(self.random.choice((2, 2, 5))))

    def cut(self) -> bytes:
        made = self.plain()
        kept = self.random.choice((1, 8, 12, 16, 17, 60, 61, len(made) - 1, len(made) // 2))
        return made[:kept]
