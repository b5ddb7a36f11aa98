"""Records as text: every part of a template, of records and of columns, alike."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcore.client.consumer.consumer_record import CREATE_TIME, LOG_APPEND_TIME, ConsumerRecord
from kcore.client.consumer.partition_reader import PartitionReader
from kcore.client.consumer.record_columns import RecordColumns
from kcore.client.consumer.record_text import FIELDS, RecordText
from kcore.record.encoder import encode_batch


def read(data: bytes) -> tuple[list[ConsumerRecord], RecordColumns]:
    """The same batch as records and as columns."""
    records = PartitionReader(data, "t", 3).take()
    columns = PartitionReader(data, "t", 3).take_columns(include_headers=True)
    return records, columns


def test_each_part() -> None:
    record = ConsumerRecord(
        "t", 3, 42, timestamp=7, timestamp_type=CREATE_TIME, key=b"k", value=None, headers=[("a", b"1"), ("a", None)]
    )
    shown = {
        "topic": b"t",
        "partition": b"3",
        "offset": b"42",
        "timestamp": b"7",
        "stamp": b"CreateTime:7",
        "epoch": b"NOT_PRESENT",
        "key": b"k",
        "value": b"null",
        "key_size": b"1",
        "value_size": b"-1",
        "value_size_int32": b"\xff\xff\xff\xff",
        "headers": b"a:1,a:null",
    }
    assert set(shown) == FIELDS
    for field, expected in shown.items():
        assert RecordText([b"<", field, b">"]).of_records([record]) == b"<" + expected + b">", field


def test_the_words_around() -> None:
    record = ConsumerRecord("t", 0, 0, key=b"", headers=[("a", b"1"), ("b", None)])
    text = RecordText(
        ["stamp", b" ", "key", b"|", "value", b" ", "headers"],
        null=b"NIL",
        header_separator=b";",
        header_key_separator=b"=",
        no_headers=b"-",
    )
    assert text.of_records([record]) == b"NO_TIMESTAMP |NIL a=1;b=NIL"
    plain = ConsumerRecord("t", 0, 0, timestamp=5, timestamp_type=LOG_APPEND_TIME, leader_epoch=9)
    assert text.of_records([plain]) == b"LogAppendTime:5 NIL|NIL -"
    assert RecordText(["epoch"]).of_records([plain]) == b"9"


CONTENTS = st.none() | st.binary(max_size=8)
RECORDS = st.lists(
    st.tuples(CONTENTS, CONTENTS, st.lists(st.tuples(st.text(max_size=4), CONTENTS), max_size=3)),
    min_size=1,
    max_size=8,
)


@given(records=RECORDS, timestamp=st.integers(0, 2**60))
def test_columns_and_records_become_the_same_text(records: list[tuple[Any, ...]], timestamp: int) -> None:
    data = encode_batch(records, timestamp=timestamp)
    taken, columns = read(data)
    parts: list[bytes | str] = [part for field in sorted(FIELDS - {"epoch"}) for part in (field, b"\t")]
    text = RecordText(parts, null=b"\0")
    assert text.of_columns(columns) == text.of_records(taken)
    assert b"".join(text.of_columns(columns, row, row + 1) for row in range(len(columns))) == text.of_columns(columns)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="'keys': must be bytes, or one of topic, partition"):
        RecordText(["keys"])
    with pytest.raises(TypeError, match="a str where bytes are to be written"):
        RecordText(["key"]).of_records([ConsumerRecord("t", 0, 0, key="text")])
    _, columns = read(encode_batch([(None, b"x")], timestamp=0))
    with pytest.raises(IndexError, match="there are 1 rows"):
        RecordText(["key"]).of_columns(columns, 0, 2)
    bare = PartitionReader(encode_batch([(None, b"x")], timestamp=0)).take_columns()
    with pytest.raises(ValueError, match="include_headers=True"):
        RecordText(["headers"]).of_columns(bare)


def test_the_row_of_an_offset() -> None:
    _, columns = read(encode_batch([(None, b"x")] * 5, timestamp=0, base_offset=10))
    assert [columns.offset_at(row) for row in range(5)] == [10, 11, 12, 13, 14]
    assert [columns.first_row_from(offset, 1, 5) for offset in (0, 10, 12, 14, 15)] == [1, 1, 2, 4, 5]
    with pytest.raises(IndexError, match="there are 5 rows"):
        columns.offset_at(5)
