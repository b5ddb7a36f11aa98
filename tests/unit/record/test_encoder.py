"""Writing batches: other codecs read them, field for field."""

from __future__ import annotations

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch

from kcore import errors
from kcore.record import control
from kcore.record.decoder import decode_batches
from kcore.record.encoder import RecordBatchBuilder, encode_batch
from tests.unit.record.batches import batch, field, record, write_by_aiokafka
from tests.unit.record.test_decoder import CODECS, ROWS, rows_of

RECORDS = [(key, value, headers, timestamp) for key, value, headers, timestamp in ROWS]


READERS = [(AiokafkaBatch, codec) for codec in CODECS] + [(KafkaPythonBatch, codec) for codec in (0, 1, 3, 4)]


@pytest.mark.parametrize(("oracle", "codec"), READERS)
def test_other_codecs_read_what_we_write(oracle: type[KafkaPythonBatch], codec: int) -> None:
    data = encode_batch(RECORDS, codec=codec, producer_id=5, producer_epoch=2, base_sequence=9, base_offset=100)
    read = oracle(bytearray(data))
    assert read.validate_crc()
    assert (read.producer_id, read.producer_epoch, read.base_sequence) == (5, 2, 9)
    assert (read.base_offset, read.compression_type, read.is_transactional) == (100, codec, False)
    rows = [(record.key, record.value, [(k, v) for k, v in record.headers], record.timestamp) for record in read]
    assert rows == ROWS


def test_uncompressed_batches_are_byte_for_byte_those_of_aiokafka() -> None:
    assert encode_batch(RECORDS, leader_epoch=-1) == write_by_aiokafka(ROWS)


def test_the_builder_says_how_large_the_batch_will_be() -> None:
    builder = RecordBatchBuilder()
    assert (builder.size_bytes, builder.record_count) == (61, 0)
    for key, value, headers, timestamp in ROWS:
        before = builder.size_bytes
        taken = builder.append(key, value, timestamp, headers)
        assert builder.size_bytes == before + taken
    assert len(builder.build()) == builder.size_bytes
    assert builder.build() == builder.build()
    assert builder.max_timestamp == max(row[3] for row in ROWS)
    assert builder.base_timestamp == ROWS[0][3]


def test_records_without_a_time_take_the_given_one() -> None:
    (read,) = decode_batches(encode_batch([(b"a", b"b"), (b"c", b"d", [("h", None)])], timestamp=77))
    assert [(record.timestamp, record.headers) for record in read] == [(77, []), (77, [("h", None)])]
    assert decode_batches(encode_batch([(b"a", b"b")])).__next__().max_timestamp == -1


def test_any_bytes_like_is_taken_and_nothing_else() -> None:
    data = encode_batch([(bytearray(b"k"), memoryview(b"value"), [(b"h", bytearray(b"x"))])])
    ((read,),) = decode_batches(data)
    assert (read.key, read.value, read.headers) == (b"k", b"value", [("h", b"x")])
    for unfit in ("text", 5):
        with pytest.raises(TypeError):
            encode_batch([(unfit, b"")])
    with pytest.raises(errors.UnsupportedCompressionTypeError):
        RecordBatchBuilder(codec=5)


def test_names_of_headers_survive_a_round_trip_even_when_not_utf8() -> None:
    ((read,),) = decode_batches(batch(record(headers=[(b"\xff\xfe", b"x")]), 1))
    ((again,),) = decode_batches(encode_batch([(None, None, read.headers)]))
    assert again.headers == read.headers


def test_log_append_time() -> None:
    (read,) = decode_batches(encode_batch([(None, b"x", [], 5), (None, b"y", [], 9)], log_append_time=1000))
    assert [record.timestamp for record in read] == [1000, 1000]
    assert (read.max_timestamp, read.base_timestamp) == (1000, 5)


@pytest.mark.parametrize("is_commit", [True, False])
def test_markers_of_a_transactions_end(is_commit: bool) -> None:
    data = control.encode_marker(is_commit, 7, producer_id=3, producer_epoch=1, timestamp=99, base_offset=12)
    (read,) = decode_batches(data)
    assert (read.is_control, read.is_transactional, read.base_sequence) == (True, True, -1)
    assert (read.producer_id, read.producer_epoch, read.max_timestamp, read.base_offset) == (3, 1, 99, 12)
    (only,) = read
    marker = control.decode_marker(only)
    assert marker is not None
    assert (marker.is_commit, marker.coordinator_epoch) == (is_commit, 7)
    # The bytes of Kafka's EndTransactionMarker: version 0 and type; version 0 and the coordinator's epoch.
    assert only.key == bytes((0, 0, 0, int(is_commit)))
    assert only.value == bytes((0, 0, 0, 0, 0, 7))
    oracle = AiokafkaBatch(bytearray(data))
    assert oracle.is_control_batch
    assert oracle.is_transactional


def test_unknown_control_records_are_told_apart_from_broken_ones() -> None:
    ((leader_change,),) = decode_batches(batch(record(b"\0\0\0\2", b"..."), 1, attributes=0x20))
    assert control.decode_marker(leader_change) is None
    assert control.control_type(leader_change) == 2
    for key, value in [
        (None, b""),
        (b"\0\0\0", b""),
        (b"\xff\xff\0\1", b""),
        (b"\0\0\0\1", None),
        (b"\0\0\0\1", b"\0\0\0"),
    ]:
        ((broken,),) = decode_batches(batch(record(key, value), 1, attributes=0x20))
        with pytest.raises(errors.CorruptMessageError):
            control.decode_marker(broken)


def test_a_marker_of_a_later_version_is_read_by_its_first_fields() -> None:
    ((later,),) = decode_batches(batch(record(b"\0\1\0\1more", b"\0\1\0\0\0\5more"), 1, attributes=0x30))
    marker = control.decode_marker(later)
    assert marker is not None
    assert (marker.is_commit, marker.coordinator_epoch) == (True, 5)


def test_an_empty_builder_makes_an_empty_batch() -> None:
    data = RecordBatchBuilder().build()
    assert (len(data), field(data, "record_count")) == (61, 0)
    (read,) = decode_batches(data)
    assert rows_of(list(read)) == []
