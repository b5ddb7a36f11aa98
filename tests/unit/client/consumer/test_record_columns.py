"""Records in columns: the same as one by one, and what NumPy, pyarrow and polars make of them without a copy."""

from __future__ import annotations

import gc
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from kcore import errors
from kcore.client.consumer.partition_reader import PartitionReader
from kcore.client.consumer.record_columns import RecordColumns, pooled_bytes
from kcore.record.encoder import encode_batch
from tests.unit.client.consumer.test_fetched_partition import (
    ABORTED,
    COMMITTED,
    INTERLEAVED,
    contents,
    plain,
)
from tests.unit.record.batches import batch, patched, record, write_by_aiokafka
from tests.unit.record.test_decoder import ROWS
from tests.unit.record.test_vectors import RECORDS, vector

POOLED_BYTES_MAX = 64 << 20
SPARK = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
HEADERS = pa.field("headers", pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())]))))


def arrow_of(data: bytes, **options: Any) -> pa.RecordBatch:
    found = pa.record_batch(
        PartitionReader(data, "orders", 3, **options).take_columns(for_arrow=True, include_headers=True)
    )
    found.validate(full=True)
    return found


def rows_of(table: pa.RecordBatch) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


def expected_rows(data: bytes, **options: Any) -> list[tuple[Any, ...]]:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return [
        (
            record.key,
            record.value,
            record.topic,
            record.partition,
            record.offset,
            epoch + timedelta(milliseconds=record.timestamp),
            record.timestamp_type,
            [{"key": name, "value": value} for name, value in record.headers] or None,
        )
        for record in PartitionReader(data, "orders", 3, **options).take()
    ]


@pytest.mark.parametrize("include_headers", [False, True])
def test_the_schema_is_that_of_sparks_kafka_source(include_headers: bool) -> None:
    columns = PartitionReader(b"").take_columns(for_arrow=True, include_headers=include_headers)
    wanted = SPARK.append(HEADERS) if include_headers else SPARK
    assert pa.schema(columns) == wanted
    assert pa.table(columns).schema == wanted
    assert pa.table(columns).num_rows == len(columns) == 0
    assert all(field.nullable for field in pa.schema(columns))


@pytest.mark.parametrize("codec", range(5))
def test_arrow_holds_the_records(codec: int) -> None:
    data = patched(write_by_aiokafka(ROWS, codec), base_offset=7) + plain(12, b"last")
    table = arrow_of(data)
    assert rows_of(table) == expected_rows(data)
    assert table.num_rows == 6


@pytest.mark.parametrize("name", RECORDS)
def test_every_format_of_apache_kafka(name: str) -> None:
    assert rows_of(arrow_of(vector(name))) == expected_rows(vector(name))


def test_aborted_transactions_and_positions_count_for_columns_too() -> None:
    table = arrow_of(INTERLEAVED, aborted=ABORTED, read_committed=True)
    assert table["value"].to_pylist() == COMMITTED
    assert arrow_of(INTERLEAVED, offset=4)["offset"].to_pylist() == [4, 6, 8, 11]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 9, 64])
def test_columns_are_taken_in_pieces(limit: int) -> None:
    """Bitmaps of nulls begin and end within a byte."""
    rows = [
        (None if i % 3 else b"k%d" % i, None if i % 5 == 2 else b"v%d" % i, [("h", None)] * (i % 2), i)
        for i in range(50)
    ]
    data = b"".join(encode_batch(rows[i : i + 10], base_offset=i) for i in range(0, 50, 10))
    reader = PartitionReader(data, "orders", 3)
    pieces = []
    while len(columns := reader.take_columns(limit, for_arrow=True, include_headers=True)):
        assert len(columns) <= limit
        pieces.append(pa.record_batch(columns))
        pieces[-1].validate(full=True)
    assert [row for piece in pieces for row in rows_of(piece)] == expected_rows(data)
    assert reader.next_offset == 50


def test_polars_takes_them_as_they_are() -> None:
    data = patched(write_by_aiokafka(ROWS), base_offset=7)
    frame = pl.DataFrame(PartitionReader(data, "orders", 3).take_columns(for_arrow=True, include_headers=True))
    assert frame.rows() == expected_rows(data)
    assert frame.schema["timestamp"] == pl.Datetime("us", "UTC")
    assert frame.schema["headers"] == pl.List(pl.Struct({"key": pl.String, "value": pl.Binary}))


def test_arrays_live_on_without_the_columns() -> None:
    """Children are taken out of their parent, and outlive it; what comes later does not write over them."""
    data = plain(0, *(b"%d" % i for i in range(2000)))
    columns = PartitionReader(data, "orders").take_columns(for_arrow=True)
    value = pa.record_batch(columns)["value"]
    capsules = columns.__arrow_c_array__()
    offset = columns.offset
    del columns
    gc.collect()
    for _ in range(20):
        PartitionReader(plain(0, *(b"x" * 8 for _ in range(2000)))).take_columns(for_arrow=True)
    assert value.to_pylist() == [b"%d" % i for i in range(2000)]
    assert offset.tolist() == list(range(2000))
    del capsules


def test_a_stream_can_be_taken_again_and_left_unread() -> None:
    columns = PartitionReader(plain(0, b"a", b"b"), "orders").take_columns(for_arrow=True)
    for _ in range(2):
        reader = pa.RecordBatchReader.from_stream(columns)
        assert [piece.num_rows for piece in reader] == [2]
    assert columns.__arrow_c_stream__() is not None
    assert columns.__arrow_c_schema__() is not None


def test_columns_for_numpy() -> None:
    data = patched(write_by_aiokafka(ROWS, 4), base_offset=7)
    columns = PartitionReader(data, "orders", 3).take_columns(include_headers=True)
    assert len(columns) == 5
    assert [(columns.key[i], columns.value[i], columns.headers(i)) for i in range(5)] == [row[:3] for row in ROWS]
    assert columns.value[-1] == ROWS[-1][1]
    assert columns.offset.tolist() == [7, 8, 9, 10, 11]
    assert columns.timestamp.astype("int64").tolist() == [row[3] for row in ROWS]
    assert columns.timestamp.dtype == np.dtype("datetime64[ms]")
    assert columns.partition.tolist() == [3] * 5
    assert columns.timestamp_type.tolist() == [0] * 5
    assert columns.topic.tolist() == ["orders"] * 5
    assert columns.sources == [("orders", 3, 0, 5)]
    assert columns.key.valid is not None
    assert columns.key.valid.tolist() == [True, False, True, True, True]
    assert columns.nbytes == sum(len(row[0] or b"") + len(row[1] or b"") for row in ROWS)
    with pytest.raises(IndexError):
        columns.value[5]
    with pytest.raises(ValueError, match="read-only"):
        columns.offset[0] = 1


def test_values_of_one_width_are_rows_of_an_array() -> None:
    columns = PartitionReader(plain(0, *(i.to_bytes(8, "big") for i in range(100)))).take_columns()
    assert columns.value.fixed_width().view(">u8").ravel().tolist() == list(range(100))
    assert columns.value.valid is None
    with pytest.raises(ValueError, match="one length"):
        PartitionReader(plain(0, b"a", b"bb")).take_columns().value.fixed_width()
    with pytest.raises(ValueError, match="one length"):
        columns.key.fixed_width()


def test_columns_for_numpy_are_none_for_arrow() -> None:
    columns = PartitionReader(plain(0, b"a")).take_columns()
    with pytest.raises(ValueError, match="made for NumPy"):
        columns.__arrow_c_array__()
    with pytest.raises(ValueError, match="without headers"):
        columns.headers(0)


def test_names_of_headers_are_utf8_whatever_was_written() -> None:
    names = [b"plain", b"\xff", "\N{SNOWMAN}".encode(), b"\xed\xa0\x80", b"\xc3", b"a\xf0\x90\x8d", b""]
    data = batch(record(headers=[(name, b"") for name in names]), 1)
    (headers,) = arrow_of(data)["headers"].to_pylist()
    assert [header["key"] for header in headers] == [
        "plain",
        "\N{REPLACEMENT CHARACTER}",
        "\N{SNOWMAN}",
        "\N{REPLACEMENT CHARACTER}" * 3,
        "\N{REPLACEMENT CHARACTER}",
        "a" + "\N{REPLACEMENT CHARACTER}" * 3,
        "",
    ]


def test_times_beyond_microseconds_stop_at_the_last() -> None:
    data = batch(record() + record(offset_delta=1, timestamp_delta=-(2**62)), 2, base_timestamp=2**62)
    columns = PartitionReader(data).take_columns(for_arrow=True)
    assert pa.record_batch(columns)["timestamp"].cast(pa.int64()).to_pylist() == [2**63 - 1, 0]


def test_records_before_a_bad_batch_are_given() -> None:
    bad = bytearray(plain(2, b"c"))
    bad[-2] ^= 1
    reader = PartitionReader(plain(0, b"a", b"b") + bytes(bad), "t", 4)
    assert len(reader.take_columns()) == 2
    with pytest.raises(errors.CorruptMessageError, match=r"partition t-4 at offset 2: .*checksum"):
        reader.take_columns()
    half = PartitionReader(batch(record(value=b"a") + b"\x04\x00", 3))
    assert half.take_columns().value[0] == b"a"
    with pytest.raises(errors.CorruptMessageError, match="malformed"):
        half.take_columns()


def test_memory_of_columns_is_bounded_and_any_thread_may_let_go() -> None:
    data = plain(0, *(b"x" * 1000 for _ in range(500)))

    def take_and_let_go() -> None:
        for _ in range(30):
            kept = [PartitionReader(data, "t").take_columns(for_arrow=True) for _ in range(12)]
            batches = [pa.record_batch(columns) for columns in kept]
            del kept
            assert all(batch.num_rows == 500 for batch in batches)

    threads = [threading.Thread(target=take_and_let_go) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 <= pooled_bytes() <= POOLED_BYTES_MAX
    large = [PartitionReader(plain(0, bytes(40 << 20))).take_columns() for _ in range(3)]
    assert [columns.nbytes for columns in large] == [40 << 20] * 3
    del large
    assert 0 <= pooled_bytes() <= POOLED_BYTES_MAX


def test_an_empty_face_has_columns() -> None:
    columns = RecordColumns()
    assert len(columns) == len(columns.offset) == len(columns.value) == 0
    assert columns.sources == []
    assert contents(PartitionReader(b"").take()) == []
