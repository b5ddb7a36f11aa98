"""Records that are known from their number, and the book that is kept of reading them back.

A `Series` is what one producer writes to one topic: number 0, 1, 2, ... up to its count. Each record's value, key,
headers and timestamp follow from its number, so that whoever reads it, in whatever process, can tell whether it is
whole. A `ReadBack` takes what a consumer received and knows at the end whether every record came exactly once, and in
each partition in its producer's order.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

Headers = list[tuple[str, bytes]]

# Text without a pattern for codecs to shorten a little: three quarters of it are left by a good one.
FILLER = base64.b64encode(b"".join(hashlib.sha256(b"%d" % number).digest() for number in range(2048)))
FILLER_BYTES = 64
KEYS = 97
PORTION = 10_000
NO_KEY_EVERY = 5
HEADERS_EVERY = 50


class Received(NamedTuple):
    """A record as a consumer gave it out."""

    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class Series(NamedTuple):
    """Record `number` was made `number` ms after the first; `first_timestamp` None: whenever a clock said."""

    producer: str
    count: int
    first_timestamp: int | None

    def value(self, number: int) -> bytes:
        start = number * 31 % (len(FILLER) - FILLER_BYTES)
        return b"%s:%d:%s" % (self.producer.encode(), number, FILLER[start : start + FILLER_BYTES])

    def key(self, number: int) -> bytes | None:
        return b"k%d" % (number % KEYS) if number % NO_KEY_EVERY else None

    def headers(self, number: int) -> Headers:
        return [] if number % HEADERS_EVERY else [("number", b"%d" % number), ("of", self.producer.encode())]

    def timestamp(self, number: int) -> int | None:
        return None if self.first_timestamp is None else self.first_timestamp + number


def portions(series: Series, milestones: Iterable[int]) -> Iterator[range]:
    """Its numbers in order, cut so that a client need not keep many futures, and at every milestone."""
    cuts = sorted({*range(0, series.count, PORTION), *milestones, series.count})
    for first, last in pairwise(cuts):
        yield range(first, last)


class Numbers(NamedTuple):
    """What ProducerPerformance writes with --payload-monotonic: values are their numbers alone."""

    count: int
    producer: str = ""
    first_timestamp: int | None = None

    def value(self, number: int) -> bytes:
        return b"%d" % number

    def key(self, number: int) -> bytes | None:
        return None

    def headers(self, number: int) -> Headers:
        return []

    def timestamp(self, number: int) -> int | None:
        return None


class ReadBack:
    """Takes every record of some series, in any interleaving of the series and of the partitions."""

    def __init__(self, series: Iterable[Series | Numbers]) -> None:
        self.series = {one.producer.encode(): one for one in series}
        self.seen = {producer: bytearray(one.count) for producer, one in self.series.items()}
        self.expected = sum(one.count for one in self.series.values())
        self.taken = 0
        self._next_offset: dict[int, int] = {}
        self._last_number: dict[tuple[int, bytes], int] = {}

    def take(self, records: Sequence[Received]) -> None:
        for record in records:
            self._take(record)

    def _take(self, record: Received) -> None:
        assert record.value is not None, record
        head, separator, rest = record.value.partition(b":")
        producer, digits = (head, rest.partition(b":")[0]) if separator else (b"", head)
        series, number = self.series[producer], int(digits)
        assert record.offset >= self._next_offset.get(record.partition, 0), f"an offset went back: {record}"
        self._next_offset[record.partition] = record.offset + 1
        assert number > self._last_number.get((record.partition, producer), -1), f"out of order: {record}"
        self._last_number[record.partition, producer] = number
        seen = self.seen[producer]
        assert not seen[number], f"came twice: {record}"
        seen[number] = 1
        assert record.value == series.value(number), record
        assert record.key == series.key(number), record
        assert record.headers == series.headers(number), record
        if series.first_timestamp is not None:
            assert record.timestamp == series.timestamp(number), record
        self.taken += 1

    def assert_complete(self) -> None:
        for producer, seen in self.seen.items():
            missing = seen.count(0)
            assert not missing, f"{missing} records of {producer.decode()} are missing, the first is {seen.index(0)}"

    def assert_holds_from(self, first: int) -> None:
        """Of each series the records from a number on, and none before it."""
        for producer, seen in self.seen.items():
            assert seen.count(1, 0, first) == 0, f"{producer.decode()}: records from before number {first}"
            assert seen.count(0, first) == 0, f"{producer.decode()}: records from number {first} on are missing"
