"""Writes messages from their schemas byte by byte, honestly or with lies, independently of the codec's encoder.

The wire's grammar (KIP-482 for the flexible versions) is in kcore/protocol/decoder.pyx. A lie is a length, a count, a
null, a tag or a size that does not fit what follows.
"""

from __future__ import annotations

import random
import struct

from kcore.protocol.codec import MessageType
from kcore.protocol.notation import Field, Struct, includes
from tests.fuzz.mutation import BOUNDARIES, VARINTS, unsigned_varint

FORMATS = {
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "float64": "d",
}
BITS = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
TEXT = "abc.-_09ß€𝄞"
UNKNOWN_TAGS = (40, 1000, 2**31 - 1, 2**31, 2**32 - 1)
DEEPEST_ARRAY = 4


class MessageWriter:
    """Writes messages of one version; `lies` is the share of lengths and the like that are wrong."""

    def __init__(self, source: random.Random, version: int, flexible: bool, lies: float = 0.0) -> None:
        self.random = source
        self.version = version
        self.flexible = flexible
        self.lies = lies
        self.depth = 0

    def is_lie(self) -> bool:
        return self.lies > 0 and self.random.random() < self.lies

    def struct(self, struct: Struct) -> bytes:
        there = [field for field in struct.fields if includes(field.versions, self.version)]
        out = [self.field(field) for field in there if not includes(field.tagged, self.version)]
        if self.flexible:
            out.append(self.tagged_fields([field for field in there if includes(field.tagged, self.version)]))
        return b"".join(out)

    def tagged_fields(self, fields: list[Field]) -> bytes:
        chosen = [(field.tag, self.field(field)) for field in fields if self.random.random() < 0.5]
        if self.random.random() < 0.1:
            chosen.append((self.random.choice(UNKNOWN_TAGS), self.random.randbytes(self.random.randrange(9))))
        chosen.sort()
        if self.is_lie() and chosen:
            chosen.append(self.random.choice(chosen))
        count = len(chosen)
        if self.is_lie():
            count = self.random.choice((0, count + 1, 100, 2**32 - 1))
        out = [unsigned_varint(count)]
        for tag, value in chosen:
            size = len(value) + (self.random.choice((-1, 1, 100, 2**31)) if self.is_lie() else 0)
            out += [unsigned_varint(tag), unsigned_varint(max(0, size)), value]
        return b"".join(out)

    def field(self, field: Field) -> bytes:
        compact = self.flexible and not field.inflexible
        nullable = includes(field.nullable, self.version)
        if (nullable and self.random.random() < 0.25) or self.is_lie():
            return self.null(field, compact)
        if field.is_array:
            return self.array(field, compact)
        if field.struct is not None and nullable:
            return b"\x01" + self.struct(field.struct)
        return self.value(field, compact)

    def null(self, field: Field, compact: bool) -> bytes:
        if field.struct is not None and not field.is_array:
            return b"\xff"
        return self.length("array" if field.is_array else field.element, -1, compact)

    def length(self, kind: str, size: int, compact: bool) -> bytes:
        if self.is_lie():
            if compact and self.random.random() < 0.5:
                return self.random.choice(VARINTS)
            size = self.random.choice((size - 1, size + 1, size * 2, *BOUNDARIES))
        if compact:
            return unsigned_varint((size + 1) & 0xFFFFFFFF)
        if kind == "string":
            return (size & 0xFFFF).to_bytes(2, "big")
        return (size & 0xFFFFFFFF).to_bytes(4, "big")

    def array(self, field: Field, compact: bool) -> bytes:
        count = self.random.choice((0, 1, 1, 2, 3)) if self.depth < DEEPEST_ARRAY else 0
        self.depth += 1
        items = [self.value(field, compact) for _ in range(count)]
        self.depth -= 1
        return self.length("array", count, compact) + b"".join(items)

    def value(self, field: Field, compact: bool) -> bytes:
        kind = field.element
        if field.struct is not None:
            return self.struct(field.struct)
        if kind == "bool":
            return self.random.choice((b"\x00", b"\x01"))
        if kind == "uuid":
            return self.random.choice((bytes(16), self.random.randbytes(16)))
        if kind == "float64":
            return struct.pack(">d", self.random.choice((0.0, -1.5, 1e300, 5e-324)))
        if kind in BITS:
            return self.integer(kind)
        data = self.text() if kind == "string" else self.random.randbytes(self.random.choice((0, 1, 3, 126, 127, 300)))
        return self.length(kind, len(data), compact) + data

    def integer(self, kind: str) -> bytes:
        bits = BITS[kind]
        value = self.random.choice((0, 1, -1, self.random.getrandbits(bits), self.random.choice(BOUNDARIES)))
        return (value & ((1 << bits) - 1)).to_bytes(bits // 8, "big")

    def text(self) -> bytes:
        data = "".join(self.random.choices(TEXT, k=self.random.choice((0, 1, 4, 9, 130)))).encode()
        return data + b"\xff" if self.is_lie() else data


def write_message(source: random.Random, message_type: MessageType, version: int, lies: float = 0.0) -> bytes:
    """The bytes of one message of any content."""
    flexible = version >= message_type.first_flexible
    return MessageWriter(source, version, flexible, lies).struct(message_type.struct)
