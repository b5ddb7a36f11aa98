"""The consumer's reader against `kcore.record.decoder` on generated batches, good ones and bad ones: the same records
from every position, and an error where the decoder has one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from kcore import errors
from kcore.client.consumer.partition_reader import PartitionReader
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from tests.property.record.strategies import batches, mangled

Row = tuple[Any, ...]
LIMIT_BYTES = 1 << 20


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Some batches, the last one cut short or not, seldom damaged."""
    data = b"".join(draw(st.lists(batches(), min_size=1, max_size=4)))
    if draw(st.integers(0, 5)) == 0:
        data = mangled(data, draw)
    return data[: len(data) - draw(st.sampled_from([0, 0, 0, 1, 30, 70]))]


def decoded(data: bytes, offset: int, check_crcs: bool) -> tuple[list[Row], bool]:
    """What the decoder reads at and behind an offset, control batches aside, and whether it met something bad."""
    rows: list[Row] = []
    position = offset
    try:
        for batch in decode_batches(data, check_crcs, LIMIT_BYTES):
            if batch.base_offset < 0 or not batch.base_offset <= batch.last_offset < 2**63 - 1:
                return rows, True
            if not batch.is_control and batch.last_offset >= position:
                for record in batch:
                    if record.offset >= position:
                        rows.append((record.offset, record.timestamp, record.key, record.value, record.headers))
                        position = record.offset + 1
            position = max(position, batch.next_offset)
    except errors.KafkaError:
        return rows, True
    return rows, False


def taken(data: bytes, offset: int, check_crcs: bool, limit: int) -> tuple[list[Row], bool]:
    reader = PartitionReader(data, "t", offset=offset, check_crcs=check_crcs, decompressed_limit_bytes=LIMIT_BYTES)
    rows: list[Row] = []
    try:
        while records := reader.take(limit):
            assert len(records) <= limit
            rows += [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records]
    except errors.KafkaError as error:
        return rows, "ends inside its first" not in str(error)
    return rows, False


def taken_in_columns(data: bytes, offset: int, check_crcs: bool, limit: int) -> tuple[list[Row], bool]:
    reader = PartitionReader(data, "t", offset=offset, check_crcs=check_crcs, decompressed_limit_bytes=LIMIT_BYTES)
    rows: list[Row] = []
    try:
        while len(columns := reader.take_columns(limit, for_arrow=True, include_headers=True)):
            batch = pa.record_batch(columns)
            batch.validate(full=True)
            assert batch.num_rows <= limit
            times = batch["timestamp"].cast(pa.int64()).to_pylist()
            names = ("offset", "key", "value")
            offsets, keys, values = (batch[name].to_pylist() for name in names)
            headers = [columns.headers(row) for row in range(batch.num_rows)]
            rows += list(zip(offsets, times, keys, values, headers, strict=True))
    except errors.KafkaError as error:
        return rows, "ends inside its first" not in str(error)
    return rows, False


def in_microseconds(row: Row) -> Row:
    offset, timestamp, key, value, headers = row
    bounded = min(max(timestamp * 1000, -(2**63)), 2**63 - 1) if abs(timestamp) < 2**63 // 1000 else None
    return offset, bounded, key, value, headers


@settings(deadline=None)
@given(answers(), st.integers(0, 8), st.booleans(), st.integers(1, 7))
def test_records_are_those_of_the_decoder(data: bytes, offset: int, check_crcs: bool, limit: int) -> None:
    assert taken(data, offset, check_crcs, limit) == decoded(data, offset, check_crcs)


@settings(deadline=None)
@given(answers(), st.integers(0, 8), st.booleans(), st.integers(1, 7))
def test_columns_are_those_of_the_decoder(data: bytes, offset: int, check_crcs: bool, limit: int) -> None:
    rows, failed = taken_in_columns(data, offset, check_crcs, limit)
    expected, must_fail = decoded(data, offset, check_crcs)
    assert failed == must_fail
    assert len(rows) == len(expected)
    for row, wanted in zip(rows, map(in_microseconds, expected), strict=True):
        assert row[0] == wanted[0]
        assert wanted[1] is None or row[1] == wanted[1]
        assert row[2:4] == wanted[2:4]
        assert [value for _, value in row[4]] == [value for _, value in wanted[4]]


CONTENT = st.none() | st.binary(max_size=40)
RECORDS = st.lists(
    st.tuples(CONTENT, CONTENT, st.lists(st.tuples(st.text(max_size=3), CONTENT), max_size=3), st.integers(0, 2**41)),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(st.lists(st.tuples(RECORDS, st.integers(0, 4)), max_size=5), st.integers(0, 150), st.integers(1, 40))
def test_what_was_written_is_read(written: list[tuple[list[Row], int]], offset: int, limit: int) -> None:
    data, rows = b"", []
    for records, codec in written:
        data += encode_batch(records, codec=codec, base_offset=len(rows))
        rows += [(len(rows) + i, time, key, value, headers) for i, (key, value, headers, time) in enumerate(records)]
    assert taken(data, offset, True, limit) == (rows[offset:], False)
    columns, failed = taken_in_columns(data, offset, True, limit)
    assert (columns, failed) == ([in_microseconds(row) for row in rows[offset:]], False)
