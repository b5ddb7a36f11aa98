"""Records that say whose they are: from a record's first bytes the whole of it can be made again, and compared.

A batch is named by its writer (one connection of one producer, never used again) and by a number that rises. Each of
its records holds topic, writer, number, its place in the batch and its size; the rest is filler chosen by these.
"""

from __future__ import annotations

import random
import struct
from typing import NamedTuple

from kcore.record.decoder import RecordBatch
from kcore.record.encoder import encode_batch

HEAD = struct.Struct(">IIIHHI")
FILLER = random.Random(20261121).randbytes(1 << 15) + bytes(1 << 15)


class BatchName(NamedTuple):
    """Which batch of which writer."""

    writer: int
    number: int


class WrongContent(AssertionError):
    """A batch that is none of ours, or not what its writer made it."""


def filler(topic: int, name: BatchName, index: int, size: int) -> bytes:
    start = (topic * 7919 + name.writer * 31 + name.number * 104729 + index * 1299709) % (len(FILLER) - size)
    return FILLER[start : start + size]


def record_value(topic: int, name: BatchName, index: int, count: int, size: int) -> bytes:
    """`topic` is the tag of a topic's name; `size` counts the filler only."""
    head = HEAD.pack(topic, name.writer, name.number, index, count, size)
    return head + filler(topic, name, index, size)


def make_batch(
    topic: int, name: BatchName, sizes: list[int], *, codec: int, timestamp_ms: int, **producer: int
) -> bytes:
    """A batch with a record for each of `sizes`; `producer` is what encode_batch wants of an idempotent one."""
    count = len(sizes)
    records = [(None, record_value(topic, name, index, count, size)) for index, size in enumerate(sizes)]
    return encode_batch(records, timestamp=timestamp_ms, codec=codec, **producer)


def read_batch(topic: int, batch: RecordBatch) -> BatchName:
    """Whose batch it is, every record of it compared with what its writer made."""
    name: BatchName | None = None
    index = 0
    for index, record in enumerate(batch, 1):
        value = record.value
        if value is None or len(value) < HEAD.size:
            raise WrongContent(f"a record at offset {record.offset} is none of ours: {value!r}")
        tag, writer, number, place, count, size = HEAD.unpack_from(value)
        name = name or BatchName(writer, number)
        expected = record_value(topic, name, index - 1, batch.record_count, size)
        if value != expected or record.offset != batch.base_offset + index - 1:
            raise WrongContent(
                f"the record at offset {record.offset} of topic {tag} says that it is {place} of {count} of batch "
                f"{number} of writer {writer}; it was read as {index - 1} of {batch.record_count} of {name} of {topic}"
            )
    if name is None or index != batch.record_count:
        raise WrongContent(
            f"the batch at {batch.base_offset} has {index} records, its header says {batch.record_count}"
        )
    return name
