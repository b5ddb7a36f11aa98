"""What a consumer is answered: batches as records and as columns, and Fetch answers of every version.

    what uint8 (0 batches, 1 an answer) | option uint8 | the bytes

Batches are those of `batches.py`. Records and columns have to be the same, in whatever pieces they are taken, and to
end in the same way. An answer that the codec reads is read as the codec reads it, and no other bytes do harm.
"""

from __future__ import annotations

import random

from kcore import errors
from kcore.client.consumer.fetch_request import parse_fetch_answer
from kcore.client.consumer.partition_reader import PartitionReader
from kcore.client.consumer.record_columns import RecordColumns
from kcore.protocol import apis
from kcore.protocol.protocol_errors import ProtocolError
from tests.fuzz.grammar import MessageWriter
from tests.fuzz.mutation import Mutator
from tests.fuzz.targets import Target
from tests.fuzz.targets.batches import HEAD, LIMIT_BYTES, Batches, assert_named, exact

BATCHES, ANSWER = range(2)
VERSIONS = range(4, 18)
ENDED = "ended"
Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


class Fetched(Target):
    name = "fetched"
    cases_per_seed = 1000

    def __init__(self) -> None:
        self.batches = Batches()

    def generate(self, source: random.Random, seed: int) -> bytes:
        option = source.randrange(256)
        if source.random() < 0.3:
            return bytes((ANSWER, option)) + self.answer(source, option)
        data = b"".join(self.batches.batch(source) for _ in range(source.choice((1, 1, 2, 3))))
        if source.random() < 0.25:
            data = Mutator(source).mutated(data, (self.batches.batch(source),))
        return bytes((BATCHES, option)) + data

    def answer(self, source: random.Random, option: int) -> bytes:
        version = VERSIONS[option % len(VERSIONS)]
        response = apis.FETCH.response
        lies = source.choice((0.0, 0.0, 0.05))
        body = MessageWriter(source, version, version >= response.first_flexible, lies).struct(response.struct)
        return Mutator(source).mutated(body) if source.random() < 0.3 else body

    def check(self, data: bytes) -> None:
        if len(data) < HEAD:
            return
        if data[0] % 2 == ANSWER:
            check_answer(VERSIONS[data[1] % len(VERSIONS)], data[HEAD:])
        else:
            check_batches(data[1], data[HEAD:])


def check_answer(version: int, body: bytes) -> None:
    parsed = parse_fetch_answer(body, version)
    try:
        message = apis.FETCH.response.decode(version, body)
    except ProtocolError:
        return
    # The codec is lenient about nothing; what it reads is an answer.
    assert parsed is not None
    assert [len(partitions) for _, partitions in parsed["topics"]] == [len(row.partitions) for row in message.responses]
    for (_, partitions), topic in zip(parsed["topics"], message.responses, strict=True):
        for partition, row in zip(partitions, topic.partitions, strict=True):
            assert partition["partition_index"] == row.partition_index
            assert partition["high_watermark"] == row.high_watermark
            assert partition["records"] == (None if row.records is None else bytes(row.records))


def check_batches(option: int, data: bytes) -> None:
    offset, limit = (0, 0, 1, 5)[option & 3], (1, 3, 7, 1000)[(option >> 2) & 3]
    committed, check_crcs = bool(option & 16), bool(option & 32)
    aborted = [(producer, first) for producer in (-1, 0, 5) for first in (0, 2**40)] if committed else []

    def reader() -> PartitionReader:
        return PartitionReader(
            exact(data),
            "fuzz",
            offset=offset,
            aborted=aborted,
            read_committed=committed,
            check_crcs=check_crcs,
            decompressed_limit_bytes=LIMIT_BYTES,
        )

    one_by_one = rows_of_records(reader(), limit)
    assert rows_of_columns(reader(), limit) == one_by_one
    assert reader().following_offset >= offset


def rows_of_records(reader: PartitionReader, limit: int) -> tuple[list[Row], int, str]:
    rows: list[Row] = []
    try:
        while records := reader.take(limit):
            assert len(records) <= limit
            rows += [(record.offset, record.key, record.value, in_utf8(record.headers)) for record in records]
    except errors.KafkaError as error:
        assert_named(error)
        return rows, reader.next_offset, type(error).__name__
    return rows, reader.next_offset, ENDED


def rows_of_columns(reader: PartitionReader, limit: int) -> tuple[list[Row], int, str]:
    rows: list[Row] = []
    try:
        while len(columns := reader.take_columns(limit, for_arrow=True, include_headers=True)):
            assert len(columns) <= limit
            rows += [row_of(columns, number) for number in range(len(columns))]
    except errors.KafkaError as error:
        assert_named(error)
        return rows, reader.next_offset, type(error).__name__
    return rows, reader.next_offset, ENDED


def row_of(columns: RecordColumns, number: int) -> Row:
    offset = int(columns.offset[number])
    return offset, columns.key[number], columns.value[number], in_utf8(columns.headers(number))


def in_utf8(headers: list[tuple[str, bytes | None]]) -> list[tuple[str, bytes | None]]:
    """Without the names that are not UTF-8, which columns have to replace."""
    return [("" if is_replaced(name) else name, value) for name, value in headers]


def is_replaced(name: str) -> bool:
    return not name.isprintable() or "\N{REPLACEMENT CHARACTER}" in name


def make() -> Fetched:
    return Fetched()
