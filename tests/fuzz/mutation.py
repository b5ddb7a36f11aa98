"""Spoils bytes: what a flipped bit, a lying length, a cut or a splice of two inputs makes of them.

The mutations know the shapes of Kafka's formats (big endian integers, zigzag and unsigned varints, length prefixes),
not the formats: `grammar.py` and the targets know those.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

WIDTHS = (1, 2, 4, 8)
BOUNDARIES = (
    *(0, 1, 2, -1, -2, 16, 61, 100, 127, 128, 255, 256, 1000, 1_000_000),
    *(2**15 - 1, 2**15, 2**16 - 1, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 100 << 20, (100 << 20) + 1),
    *(2**62, 2**63 - 1, -(2**63), -(2**63) + 1, 2**53),
)
VARINTS = (
    *(b"\x00", b"\x01", b"\x02", b"\x7f", b"\x80\x01", b"\xff\x7f", b"\x80\x80\x40", b"\xc0\x84\x3d"),
    *(b"\xff\xff\xff\xff\x07", b"\xfe\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x0f", b"\x80\x80\x80\x80\x08"),
    *(b"\xff\xff\xff\xff\x1f", b"\xff\xff\xff\xff\xff\x01", b"\x80\x80\x80\x80\x00", b"\x80\x80\x80\x80\x80\x00"),
    *(
        b"\xff" * 9 + b"\x01",
        b"\xff" * 9 + b"\x03",
        b"\xfe" + b"\xff" * 8 + b"\x01",
        b"\x80" * 9 + b"\x01",
        b"\xff" * 12,
    ),
)
LONGEST_BYTES = 1 << 16
ASCII_NUMBERS = (b"-1", b"0", b"2147483647", b"2147483648", b"9223372036854775807", b"9223372036854775808", b"9" * 5000)


def unsigned_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Mutator:
    """Makes one spoilt input after another from one source of chance."""

    def __init__(self, source: random.Random) -> None:
        self.random = source
        self.operations: tuple[Callable[[bytearray], None], ...] = (
            self.flip_bit,
            self.set_byte,
            self.set_integer,
            self.nudge_integer,
            self.lie_about_length,
            self.put_varint,
            self.cut_out,
            self.repeat,
            self.insert,
            self.truncate,
            self.blank,
            self.exchange,
        )

    def mutated(self, data: bytes, others: Sequence[bytes] = ()) -> bytes:
        """A few mutations of `data`; with `others`, now and then a splice with one of them."""
        spoilt = bytearray(data)
        if others and self.random.random() < 0.1:
            self.splice(spoilt, self.random.choice(others))
        for _ in range(self.few()):
            self.random.choice(self.operations)(spoilt)
        return bytes(spoilt[:LONGEST_BYTES])

    def few(self) -> int:
        """Most often one, seldom more than four."""
        return min(12, 1 + int(self.random.expovariate(0.8)))

    def boundary(self, width: int) -> bytes:
        """An integer of the extreme kind, in so many bytes."""
        return (self.random.choice(BOUNDARIES) & ((1 << 8 * width) - 1)).to_bytes(width, "big")

    def position(self, data: bytearray, width: int = 1) -> int:
        return self.random.randrange(max(1, len(data) - width + 1))

    def flip_bit(self, data: bytearray) -> None:
        if data:
            data[self.position(data)] ^= 1 << self.random.randrange(8)

    def set_byte(self, data: bytearray) -> None:
        if data:
            data[self.position(data)] = self.random.choice((0, 1, 0x7F, 0x80, 0xFF, self.random.randrange(256)))

    def set_integer(self, data: bytearray) -> None:
        width = self.random.choice(WIDTHS)
        at = self.position(data, width)
        data[at : at + width] = self.boundary(width)

    def nudge_integer(self, data: bytearray) -> None:
        width = self.random.choice(WIDTHS)
        at = self.position(data, width)
        value = int.from_bytes(data[at : at + width], "big") + self.random.choice((-2, -1, 1, 2, 8, -8))
        data[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "big")

    def lie_about_length(self, data: bytearray) -> None:
        """Puts a length that nearly fits what is left: the bounds that are off by one."""
        width = self.random.choice(WIDTHS[:3])
        at = self.position(data, width)
        left = max(0, len(data) - at - width + self.random.choice((-2, -1, 0, 1, 2)))
        if self.random.random() < 0.5:
            data[at : at + width] = (left & ((1 << 8 * width) - 1)).to_bytes(width, "big")
        else:
            encoded = unsigned_varint(left + self.random.choice((0, 1)) << self.random.choice((0, 1)))
            data[at : at + len(encoded)] = encoded

    def put_varint(self, data: bytearray) -> None:
        at = self.position(data)
        encoded = self.random.choice(VARINTS)
        data[at : at + self.random.choice((1, len(encoded)))] = encoded

    def cut_out(self, data: bytearray) -> None:
        at = self.position(data)
        del data[at : at + self.random.choice((1, 2, 4, 8, self.random.randrange(1, 200)))]

    def repeat(self, data: bytearray) -> None:
        at = self.position(data)
        piece = data[at : at + self.random.randrange(1, 64)]
        data[at:at] = piece * self.random.choice((1, 1, 2, 8))

    def insert(self, data: bytearray) -> None:
        at = self.position(data)
        data[at:at] = self.random.randbytes(self.random.choice((1, 2, 4, 8, 30)))

    def truncate(self, data: bytearray) -> None:
        del data[self.position(data) :]

    def blank(self, data: bytearray) -> None:
        at = self.position(data)
        size = min(len(data) - at, self.random.randrange(1, 64))
        data[at : at + size] = self.random.choice((b"\x00", b"\xff")) * size

    def exchange(self, data: bytearray) -> None:
        """Two runs of bytes change places."""
        size = self.random.choice(WIDTHS)
        if len(data) >= 2 * size:
            a, b = sorted(self.random.randrange(len(data) - size + 1) for _ in range(2))
            data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]

    def splice(self, data: bytearray, other: bytes) -> None:
        """The start of this and the end of the other."""
        at = self.position(data)
        data[at:] = other[self.random.randrange(len(other) + 1) :]


def mutated_text(source: random.Random, text: bytes) -> bytes:
    """A text file spoilt by its own kind of mutations: lines, words and numbers; bytes now and then."""
    if source.random() < 0.3:
        return Mutator(source).mutated(text)
    lines = text.split(b"\n")
    for _ in range(source.choice((1, 1, 2, 3))):
        at = source.randrange(len(lines))
        words = lines[at].split(b" ")
        match source.randrange(7):
            case 0:
                words[source.randrange(len(words))] = source.choice(ASCII_NUMBERS)
            case 1:
                words.append(source.choice((b"", b"x", b"\xff\xfe", *ASCII_NUMBERS)))
            case 2:
                words.pop(source.randrange(len(words)))
            case 3:
                lines.insert(at, lines[at])
            case 4:
                lines.insert(at, source.choice((b"", b" ", b"#", b"\\", b"\\u12", b"a=\\u0000", b"\x00" * 40)))
            case 5:
                words[source.randrange(len(words))] = source.choice(
                    ("٣", "²", "1_0", "+1", " 1", "1e3", "0x1")
                ).encode()
            case _:
                words[source.randrange(len(words))] += source.choice(
                    (b"\r", b"\x00", b"\xe2\x80\xa8", b"\xc2\x85", b"\x0b")
                )
        lines[at] = b" ".join(words)
    return b"\n".join(lines)
