"""What topics hold when a case begins: records by partition, and transactions, the same wherever they are written."""

from __future__ import annotations

from typing import NamedTuple

FIRST_TIME_MS = 1_700_000_000_000
STEP_MS = 10


class Record(NamedTuple):
    """`headers` may repeat keys; None is a null."""

    partition: int
    value: bytes | None
    key: bytes | None = None
    timestamp_ms: int = FIRST_TIME_MS
    headers: tuple[tuple[str, bytes | None], ...] = ()


class Transaction(NamedTuple):
    """Its end: committed, aborted, or None for one that stays open."""

    records: tuple[Record, ...]
    commits: bool | None


class Topic(NamedTuple):
    """`name` is what the case calls it; `records` are written in order."""

    name: str
    partitions: int = 1
    records: tuple[Record | Transaction, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    codec: str = "none"


def numbered(count: int, partitions: int = 1, *, first: int = 0) -> tuple[Record, ...]:
    """Record n, at partition n modulo `partitions` and STEP_MS after the one before it; some have no key, some no
    value, some headers. So each partition has records of every kind when there are enough."""
    return tuple(_numbered(number, number % partitions) for number in range(first, first + count))


def skewed(*counts: int) -> tuple[Record, ...]:
    """As many in each partition as it says."""
    return tuple(_numbered(number, partition) for partition, count in enumerate(counts) for number in range(count))


def _numbered(number: int, partition: int) -> Record:
    rank = number // 3
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if rank % 4 == 1:
        headers = (("n", b"%d" % number), ("null", None), ("empty", b""), ("n", b"again"))
    return Record(
        partition,
        None if rank % 7 == 3 else b"value %d" % number,
        None if rank % 5 == 2 else b"key %d" % (number % 10),
        FIRST_TIME_MS + STEP_MS * number,
        headers,
    )
