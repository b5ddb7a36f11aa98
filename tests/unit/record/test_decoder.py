"""Reading batches: what other codecs wrote, what a fetch response cuts, and what no writer makes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder

from kcore import errors
from kcore.record.decoder import Record, decode_batches
from tests.unit.record.batches import Row, batch, patched, record, varint, write_by_aiokafka, write_by_kafka_python

ROWS: list[Row] = [
    (b"key", b"value", [], 1_700_000_000_000),
    (None, b"no key", [("h", b"x")], 1_700_000_000_005),
    (b"no value", None, [("empty", b""), ("null", None)], 1_699_999_999_000),
    (b"", b"", [("same", b"1"), ("same", b"2"), ("\N{SNOWMAN}", b"\xff")], 1_700_000_000_001),
    (b"k" * 300, b"v" * 70_000, [], 1_700_000_000_002),
]
CODECS = [0, 1, 2, 3, 4]


def rows_of(records: Sequence[Record]) -> list[Row]:
    return [(record.key, record.value, record.headers, record.timestamp) for record in records]


# kafka-python's snappy needs a package that Debian's compilers do not always build; aiokafka covers it.
WRITERS = [(write_by_aiokafka, codec) for codec in CODECS] + [(write_by_kafka_python, codec) for codec in (0, 1, 3, 4)]


@pytest.mark.parametrize(("write", "codec"), WRITERS)
def test_reads_what_other_codecs_write(write: Callable[..., bytes], codec: int) -> None:
    data = write(ROWS, codec, (4711, 3, 17))
    (read,) = decode_batches(data)
    assert rows_of(list(read)) == ROWS
    assert [record.offset for record in read] == [0, 1, 2, 3, 4]
    assert (read.producer_id, read.producer_epoch, read.base_sequence, read.last_sequence) == (4711, 3, 17, 21)
    assert (read.magic, read.codec, read.record_count, read.size_bytes) == (2, codec, 5, len(data))
    assert read.max_timestamp == max(timestamp for *_, timestamp in ROWS)
    assert read.raw == data
    assert not read.is_control
    assert not read.is_transactional
    assert read.delete_horizon_ms is None


def test_offsets_follow_the_base_offset_that_the_broker_assigned() -> None:
    (read,) = decode_batches(patched(write_by_aiokafka(ROWS), base_offset=1 << 40, leader_epoch=9))
    assert [record.offset for record in read] == [(1 << 40) + delta for delta in range(5)]
    assert (read.base_offset, read.last_offset, read.next_offset) == (1 << 40, (1 << 40) + 4, (1 << 40) + 5)
    assert read.partition_leader_epoch == 9


def test_log_append_time_counts_for_every_record() -> None:
    (read,) = decode_batches(patched(write_by_aiokafka(ROWS), attributes=0x08, max_timestamp=12345))
    assert read.is_log_append_time
    assert {record.timestamp for record in read} == {12345}


def test_batches_of_a_segment_come_in_order() -> None:
    parts = [patched(write_by_kafka_python(ROWS[: n + 1]), base_offset=10 * n) for n in range(5)]
    batches = list(decode_batches(b"".join(parts)))
    assert [read.base_offset for read in batches] == [0, 10, 20, 30, 40]
    assert [read.position for read in batches] == [sum(map(len, parts[:n])) for n in range(5)]
    # A batch stays readable after the iterator is gone.
    assert rows_of(list(batches[2])) == ROWS[:3]


@pytest.mark.parametrize("codec", CODECS)
def test_a_buffer_may_end_inside_a_batch(codec: int) -> None:
    whole = write_by_aiokafka(ROWS[:4], codec)
    for size in range(len(whole)):
        batches = decode_batches(whole + whole[:size])
        assert len(list(batches)) == 1
        assert batches.position == len(whole)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_reads_any_buffer(kind: Callable[[bytes], bytes]) -> None:
    assert rows_of(list(next(decode_batches(kind(write_by_aiokafka(ROWS)))))) == ROWS


def test_a_wrong_checksum_is_refused_unless_asked_not_to_look() -> None:
    data = bytearray(write_by_aiokafka(ROWS))
    data[-1] ^= 1
    with pytest.raises(errors.CorruptMessageError):
        next(decode_batches(data))
    assert not next(decode_batches(data, check_crc=False)).has_valid_checksum()


@pytest.mark.parametrize(
    "fields",
    [
        {"length": 48},
        {"length": 0},
        {"length": -1},
        {"length": -(1 << 31)},
        {"length": (1 << 31) - 1},
        {"magic": 3},
        {"magic": -1},
        {"record_count": -1},
        {"last_offset_delta": -1},
    ],
)
def test_a_header_that_no_writer_makes(fields: dict[str, int]) -> None:
    data = patched(write_by_aiokafka(ROWS), **fields)
    with pytest.raises(errors.CorruptMessageError):
        next(decode_batches(data, check_crc=False))


@pytest.mark.parametrize(
    ("payload", "count"),
    [
        (record(), 2),  # fewer records than counted
        (record() + record(offset_delta=1), 1),  # more
        (record()[:-1], 1),
        (varint(-1) + record()[1:], 1),
        (varint(1 << 30) + record()[1:], 1),
        (b"\xff" * 10, 1),  # an endless varint
        (b"", 1),
        (varint(6) + bytes((0,)) + varint(0) + varint(0) + varint(100) + b"kk", 1),  # key beyond the record
        (varint(7) + bytes((0, 0, 0)) + varint(-1) + varint(-1) + varint(0) + b"x", 1),  # a byte too many
        (varint(6) + bytes((0, 0, 0)) + varint(-1) + varint(-1) + varint(3), 1),  # headers that are not there
        (varint(6) + bytes((0, 0, 0)) + varint(-1) + varint(-1) + varint(-1), 1),  # fewer than no headers
        (varint(8) + bytes((0, 0, 0)) + varint(-1) + varint(-1) + varint(1) + varint(-1) + varint(-1), 1),  # null name
    ],
)
def test_records_that_do_not_fit_their_lengths(payload: bytes, count: int) -> None:
    (read,) = decode_batches(batch(payload, count))
    with pytest.raises(errors.CorruptMessageError):
        list(read)


def test_a_hostile_count_costs_no_memory() -> None:
    (read,) = decode_batches(batch(record(), (1 << 31) - 1, last_offset_delta=0))
    with pytest.raises(errors.CorruptMessageError):
        list(read)


def test_a_batch_emptied_by_compaction_has_no_records() -> None:
    (read,) = decode_batches(batch(b"", 0, base_offset=7, last_offset_delta=3))
    assert list(read) == []
    assert read.next_offset == 11


def test_null_by_any_negative_length_as_in_java() -> None:
    payload = varint(6) + bytes((0, 0, 0)) + varint(-2) + varint(-3) + varint(0)
    ((read,),) = decode_batches(batch(payload, 1))
    assert (read.key, read.value) == (None, None)


def test_names_of_headers_that_are_not_utf8_survive() -> None:
    ((read,),) = decode_batches(batch(record(headers=[(b"\xff\xfe", b"x")]), 1))
    ((name, _),) = read.headers
    assert name.encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_the_limit_of_decompressed_bytes_holds() -> None:
    data = write_by_aiokafka([(None, bytes(1_000_000), [], 0)], 1)
    with pytest.raises(errors.MessageTooLargeError):
        iter(next(decode_batches(data, decompressed_limit_bytes=100_000)))


def test_delete_horizon() -> None:
    (read,) = decode_batches(batch(record(timestamp_delta=-5), 1, attributes=0x40, base_timestamp=900))
    assert read.delete_horizon_ms == 900
    assert next(iter(read)).timestamp == 895


def test_sequences_wrap_around() -> None:
    (read,) = decode_batches(batch(record() + record(offset_delta=1), 2, producer_id=1, base_sequence=(1 << 31) - 1))
    assert read.last_sequence == 0


# --- magic 0 and 1 ---------------------------------------------------------------------------------------------------


def old_messages(magic: int, codec: int, last_offset: int | None) -> bytes:
    builder = LegacyRecordBatchBuilder(magic, codec, 1 << 20)
    for offset in range(6):
        key = None if offset == 2 else b"k%d" % offset
        builder.append(offset, 1000 + offset, key, None if offset == 3 else b"v" * offset)
    data = bytearray(builder.build())
    if last_offset is not None:
        data[:8] = last_offset.to_bytes(8, "big")
    return bytes(data)


# lz4 inside magic 0, with its wrong header checksum, only Java writes: tests/vectors/record has it.
@pytest.mark.parametrize(("magic", "codec"), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (1, 3)])
def test_old_message_sets(magic: int, codec: int) -> None:
    # As stored by a broker: the outer message of magic 1 has the offset of the last one inside.
    data = old_messages(magic, codec, 105 if magic == 1 and codec else None)
    batches = list(decode_batches(data))
    records = [record for read in batches for record in read]
    assert {read.magic for read in batches} == {magic}
    assert {read.codec for read in batches} == {codec}
    first = 100 if magic == 1 and codec else 0
    assert [record.offset for record in records] == list(range(first, first + 6))
    assert [record.key for record in records] == [b"k0", b"k1", None, b"k3", b"k4", b"k5"]
    assert [record.value for record in records] == [b"", b"v", b"vv", None, b"vvvv", b"vvvvv"]
    assert [record.timestamp for record in records] == [1000 + n if magic else -1 for n in range(6)]
    assert all(record.headers == [] for record in records)


def test_old_messages_are_checksummed() -> None:
    data = bytearray(old_messages(1, 0, None))
    data[-1] ^= 1
    with pytest.raises(errors.CorruptMessageError):
        list(decode_batches(data))


@pytest.mark.parametrize("codec", [0, 1, 2, 3])
def test_old_messages_with_any_changed_byte_are_clean(codec: int) -> None:
    whole = bytearray(old_messages(1, codec, 5 if codec else None))
    generator = random.Random(codec)
    for _ in range(2000):
        position = generator.randrange(len(whole))
        kept = whole[position]
        whole[position] = generator.randrange(256)
        try:
            for read in decode_batches(whole, check_crc=False, decompressed_limit_bytes=100_000):
                list(read)
        except errors.KafkaError:
            pass
        whole[position] = kept
