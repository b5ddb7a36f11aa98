"""LogValidator's rules one by one, on batches of other writers and on batches that no writer makes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kcore.record import control
from kcore.record.compression import compress_bytes
from kcore.record.decoder import decode_batches
from kcore.record.validator import validate
from tests.unit.record import reference_validator
from tests.unit.record.batches import (
    Row,
    batch,
    field,
    patched,
    record,
    varint,
    write_by_aiokafka,
    write_by_kafka_python,
)
from tests.unit.record.reference_validator import (
    CLIENT,
    COORDINATOR,
    CORRUPT_MESSAGE,
    INVALID_RECORD,
    INVALID_TIMESTAMP,
    MESSAGE_TOO_LARGE,
    UNSUPPORTED_COMPRESSION_TYPE,
    Rules,
    agree,
)

NOW = 1_700_000_000_000
REPLICATION = 2
LOG_APPEND_TIME = 1
CODECS = [0, 1, 2, 3, 4]
ROWS: list[Row] = [(b"k%d" % n, b"v" * n, [("h", None)] * (n % 3), NOW - 5 + n % 4) for n in range(20)]
KEYLESS: list[Row] = [(b"k", b"v", [], NOW), (None, b"v", [], NOW), (None, b"v", [], NOW)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("write", [write_by_aiokafka, write_by_kafka_python])
def test_a_good_batch_gets_its_offsets_in_place(write: Callable[..., bytes], codec: int) -> None:
    if write is write_by_kafka_python and codec == 2:
        codec = 0
    data = write(ROWS, codec, (7, 0, 3))
    done = validate(data, base_offset=1000, leader_epoch=5, now_ms=NOW)
    assert done.error == 0
    assert not done.rebuilt
    assert done.records == patched(data, base_offset=1000, leader_epoch=5)
    assert (done.first_offset, done.last_offset, done.record_count, done.batch_count) == (1000, 1019, 20, 1)
    assert (done.max_timestamp, done.offset_of_max_timestamp, done.log_append_time_ms) == (NOW - 2, 1019, -1)


@pytest.mark.parametrize("codec", CODECS)
def test_log_append_time_replaces_the_producers(codec: int) -> None:
    data = write_by_aiokafka(ROWS, codec)
    done = validate(data, base_offset=3, now_ms=NOW, timestamp_type=LOG_APPEND_TIME, timestamp_before_max_ms=0)
    assert (done.error, done.max_timestamp, done.log_append_time_ms) == (0, NOW, NOW)
    assert done.records is not None
    (stored,) = decode_batches(done.records)
    assert stored.is_log_append_time
    assert {read.timestamp for read in stored} == {NOW}
    assert [read.key for read in stored] == [row[0] for row in ROWS]


@pytest.mark.parametrize("target", CODECS)
@pytest.mark.parametrize("codec", CODECS)
def test_the_topics_codec_wins(codec: int, target: int) -> None:
    data = write_by_aiokafka(ROWS, codec, (7, 2, 3))
    done = validate(data, base_offset=50, leader_epoch=4, now_ms=NOW, target_codec=target)
    assert (done.error, done.rebuilt) == (0, codec != target)
    assert done.records is not None
    (stored,) = decode_batches(done.records)
    assert stored.codec == target
    assert (stored.producer_id, stored.producer_epoch, stored.base_sequence) == (7, 2, 3)
    assert (stored.partition_leader_epoch, stored.base_offset, stored.last_offset) == (4, 50, 69)
    assert [(read.key, read.value, read.headers, read.timestamp) for read in stored] == ROWS


@pytest.mark.parametrize("level", [1, 9])
def test_the_topics_level_counts(level: int) -> None:
    rows: list[Row] = [(None, b"%d bottles of beer on the wall" % n, [], NOW) for n in range(500)]
    done = validate(write_by_aiokafka(rows), now_ms=NOW, target_codec=1, compression_level=level)
    default = validate(write_by_aiokafka(rows), now_ms=NOW, target_codec=1)
    assert done.records is not None
    assert default.records is not None
    assert (len(done.records) > len(default.records)) == (level == 1)


@pytest.mark.parametrize("codec", CODECS)
def test_compacted_topics_want_keys(codec: int) -> None:
    done = validate(write_by_aiokafka(KEYLESS, codec), now_ms=NOW, compacted=True)
    assert (done.error, done.failed_record_index, done.records) == (INVALID_RECORD, 1, None)
    assert done.failed_records == [index for index, row in enumerate(KEYLESS) if row[0] is None]
    assert validate(write_by_aiokafka(KEYLESS[:1], codec), now_ms=NOW, compacted=True).error == 0


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(("shift", "before", "after", "error"), [
    (-1000, 1000, 0, 0), (-1001, 1000, 0, INVALID_TIMESTAMP), (500, 0, 500, 0), (501, 0, 500, INVALID_TIMESTAMP),
])  # fmt: skip
def test_timestamps_lie_within_the_topics_range(codec: int, shift: int, before: int, after: int, error: int) -> None:
    rows: list[Row] = [(b"k", b"v", [], NOW), (b"k", b"v", [], NOW + shift)]
    data = write_by_aiokafka(rows, codec)
    done = validate(data, now_ms=NOW, timestamp_before_max_ms=before, timestamp_after_max_ms=after)
    assert (done.error, done.failed_record_index) == (error, 1 if error else -1)


def test_a_record_without_a_time_has_none_to_check() -> None:
    data = batch(record(timestamp_delta=0), 1, base_timestamp=-1, max_timestamp=-1)
    done = validate(data, now_ms=NOW, timestamp_before_max_ms=0, timestamp_after_max_ms=0)
    assert (done.error, done.max_timestamp) == (0, -1)


def test_any_record_out_of_time_decides_the_error_and_the_first_at_fault_is_named() -> None:
    rows: list[Row] = [(b"k", b"", [], NOW), (None, b"", [], NOW), (b"k", b"", [], NOW - 9999)]
    done = validate(write_by_aiokafka(rows), now_ms=NOW, compacted=True, timestamp_before_max_ms=1000)
    assert (done.error, done.failed_record_index) == (INVALID_TIMESTAMP, 1)
    assert done.failed_records == [1, 2]


def test_records_before_one_that_cannot_be_read_are_not_listed() -> None:
    data = batch(record(offset_delta=1) + varint(9) + b"short", 2)
    done = validate(data, now_ms=NOW)
    assert (done.error, done.failed_records) == (INVALID_RECORD, [])


def test_one_error_a_record() -> None:
    data = batch(record(offset_delta=4) + record(offset_delta=4), 2)
    done = validate(data, now_ms=NOW, compacted=True)
    assert done.failed_records == [0, 1]


@pytest.mark.parametrize("timestamp_type", [0, LOG_APPEND_TIME])
def test_producers_cannot_claim_log_append_time(timestamp_type: int) -> None:
    data = batch(record(), 1, attributes=0x08, max_timestamp=-1)
    assert validate(data, now_ms=NOW, timestamp_type=timestamp_type).error == INVALID_TIMESTAMP


def test_a_wrong_maximum_in_the_header_is_put_right() -> None:
    data = patched(write_by_aiokafka(ROWS), max_timestamp=NOW + 10**9)
    done = validate(data, now_ms=NOW)
    assert done.error == 0
    assert done.records == patched(data, max_timestamp=NOW - 2, leader_epoch=0)


GOOD = batch(record() + record(offset_delta=1), 2)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", INVALID_RECORD),
        (GOOD[:11], INVALID_RECORD),
        (GOOD[:60], INVALID_RECORD),
        (GOOD[:-1], INVALID_RECORD),
        (GOOD + GOOD, INVALID_RECORD),
        (GOOD + b"x", INVALID_RECORD),
        (patched(GOOD, length=13), CORRUPT_MESSAGE),
        (patched(GOOD, length=48)[:60], CORRUPT_MESSAGE),
        (patched(GOOD, length=-1), CORRUPT_MESSAGE),
        (patched(GOOD, magic=3), CORRUPT_MESSAGE),
        (patched(GOOD, magic=-1), CORRUPT_MESSAGE),
        (patched(GOOD, magic=1), INVALID_RECORD),
        (patched(GOOD, magic=0), INVALID_RECORD),
        (patched(GOOD, crc=1), CORRUPT_MESSAGE),
        (patched(GOOD, base_offset=1), INVALID_RECORD),
        (patched(GOOD, base_offset=-1), INVALID_RECORD),
        (patched(GOOD, record_count=0, last_offset_delta=0), INVALID_RECORD),
        (patched(GOOD, record_count=-1), INVALID_RECORD),
        (patched(GOOD, last_offset_delta=-1), INVALID_RECORD),
        (patched(GOOD, last_offset_delta=2), INVALID_RECORD),
        (patched(GOOD, record_count=1, last_offset_delta=0), INVALID_RECORD),
        (patched(GOOD, record_count=3, last_offset_delta=2), INVALID_RECORD),
        (patched(GOOD, attributes=0x20), INVALID_RECORD),
        (patched(GOOD, attributes=0x30), INVALID_RECORD),
        (patched(GOOD, producer_id=1), INVALID_RECORD),
        (patched(GOOD, producer_id=1, producer_epoch=0, base_sequence=0), 0),
        (patched(GOOD, attributes=5), UNSUPPORTED_COMPRESSION_TYPE),
        (patched(GOOD, attributes=7), UNSUPPORTED_COMPRESSION_TYPE),
        (patched(GOOD, attributes=1), INVALID_RECORD),  # not gzip
        (patched(GOOD, attributes=0x10), 0),
        (GOOD, 0),
    ],
)
def test_the_batch_as_a_whole(data: bytes, error: int) -> None:
    done = validate(data, base_offset=9, now_ms=NOW)
    assert (done.error, done.records is None) == (error, error != 0)
    assert (done.message is None) == (error == 0)
    agree(done, reference_validator.validate(data, Rules(base_offset=9, now_ms=NOW)), Rules(base_offset=9))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize(
    "payload",
    [
        record() + record(offset_delta=1)[:-1],
        record() + varint(1000),
        record() + varint(-1),
        record() + varint(0),
        record() + record(offset_delta=1) + b"\0",
        record() + b"\xff" * 12,
        record() + varint(7) + bytes((0, 0, 2)) + varint(5) + b"abc",
    ],
)
def test_records_that_do_not_fit_the_batch(codec: int, payload: bytes) -> None:
    wrapped = compress_bytes(codec, payload) if codec else payload
    assert validate(batch(wrapped, 2, attributes=codec), now_ms=NOW).error == INVALID_RECORD


def test_offsets_inside_an_uncompressed_batch_count_up() -> None:
    data = batch(record() + record(offset_delta=2), 2)
    done = validate(data, now_ms=NOW)
    assert (done.error, done.failed_record_index) == (INVALID_RECORD, 1)


@pytest.mark.parametrize("codec", CODECS[1:])
def test_offsets_inside_a_compressed_batch_are_put_right(codec: int) -> None:
    payload = record(b"a", offset_delta=5, timestamp_delta=3) + record(b"b", offset_delta=5, attributes=1)
    data = batch(compress_bytes(codec, payload), 2, attributes=codec, base_timestamp=NOW, max_timestamp=NOW + 3)
    done = validate(data, now_ms=NOW, base_offset=70)
    assert (done.error, done.rebuilt) == (0, True)
    assert done.records is not None
    (stored,) = decode_batches(done.records)
    assert [(read.offset, read.key, read.timestamp) for read in stored] == [(70, b"a", NOW + 3), (71, b"b", NOW)]
    assert (stored.codec, stored.base_timestamp, stored.max_timestamp) == (codec, NOW + 3, NOW + 3)


def test_zstd_needs_produce_7() -> None:
    data = write_by_aiokafka(ROWS, 4)
    assert validate(data, now_ms=NOW, reject_zstd=True).error == UNSUPPORTED_COMPRESSION_TYPE
    assert validate(write_by_aiokafka(ROWS, 3), now_ms=NOW, reject_zstd=True).error == 0


def test_the_size_of_a_batch_is_bounded_before_and_after_compression() -> None:
    data = write_by_aiokafka([(None, bytes(100_000), [], NOW)], 1)
    assert validate(data, now_ms=NOW, max_message_bytes=len(data)).error == 0
    assert validate(data, now_ms=NOW, max_message_bytes=len(data) - 1).error == MESSAGE_TOO_LARGE
    assert validate(data, now_ms=NOW, max_message_bytes=100_000, target_codec=0).error == MESSAGE_TOO_LARGE
    assert validate(data, now_ms=NOW, decompressed_limit_bytes=99_999).error == MESSAGE_TOO_LARGE


def test_the_coordinator_may_write_markers_and_they_stay_uncompressed() -> None:
    marker = control.encode_marker(True, 1, producer_id=5, producer_epoch=0, timestamp=NOW)
    assert validate(marker, now_ms=NOW, origin=CLIENT).error == INVALID_RECORD
    done = validate(marker, now_ms=NOW, origin=COORDINATOR, target_codec=4, base_offset=8)
    assert (done.error, done.rebuilt) == (0, False)
    assert done.records == patched(marker, base_offset=8, leader_epoch=0)


def test_header_only_trusts_the_records_but_not_the_header() -> None:
    keyless = write_by_aiokafka(KEYLESS)
    done = validate(keyless, now_ms=NOW, compacted=True, header_only=True, base_offset=4)
    assert (done.error, done.last_offset, done.max_timestamp) == (0, 6, NOW)
    for data, error in [
        (patched(keyless, crc=0), CORRUPT_MESSAGE),
        (patched(keyless, record_count=2), INVALID_RECORD),
        (patched(keyless, attributes=0x20), INVALID_RECORD),
        (patched(keyless, attributes=0x08), INVALID_TIMESTAMP),
        (patched(keyless, max_timestamp=NOW + 2), INVALID_TIMESTAMP),
    ]:
        refused = validate(data, now_ms=NOW, header_only=True, timestamp_after_max_ms=1)
        assert refused.error == error
    recompressed = validate(keyless, now_ms=NOW, compacted=True, header_only=True, target_codec=1)
    assert recompressed.error == INVALID_RECORD  # the records had to be looked at after all


@pytest.mark.parametrize("codec", CODECS)
def test_every_truncation_and_many_changed_bytes_are_refused(codec: int) -> None:
    data = write_by_aiokafka(ROWS, codec)
    for size in range(len(data)):
        assert validate(data[:size], now_ms=NOW).error in (INVALID_RECORD, CORRUPT_MESSAGE)
    covered = [8, 9, 10, 11, 16, *range(17, len(data))]  # neither offset nor leader epoch stand under the checksum
    for position in covered:
        changed = bytearray(data)
        changed[position] ^= 0x11
        assert validate(changed, now_ms=NOW).error != 0, position


# --- what a leader sends its followers -------------------------------------------------------------------------------

STORED = [patched(write_by_aiokafka(ROWS[: n + 1]), base_offset=100 + 10 * n, leader_epoch=2) for n in range(4)]


def test_replicated_batches_are_taken_as_they_are() -> None:
    data = b"".join(STORED)
    done = validate(data, origin=REPLICATION, base_offset=100, leader_epoch=9, max_message_bytes=1)
    assert (done.error, done.records, done.valid_bytes) == (0, data, len(data))
    assert (done.batch_count, done.record_count, done.first_offset, done.last_offset) == (4, 10, 100, 133)
    # Batches 3 and 4 share the newest time; the time index names the end of the first of them.
    assert (done.max_timestamp, done.offset_of_max_timestamp) == (NOW - 2, 133)


def test_a_replicated_tail_that_was_cut_is_left_out() -> None:
    whole, cut = b"".join(STORED[:2]), STORED[2]
    for size in range(len(cut)):
        done = validate(whole + cut[:size], origin=REPLICATION, base_offset=100)
        assert (done.error, done.records, done.batch_count) == (0, whole, 2)
    assert validate(b"", origin=REPLICATION, base_offset=100).batch_count == 0


@pytest.mark.parametrize(
    ("parts", "error", "position"),
    [
        ([STORED[1], STORED[0]], INVALID_RECORD, 1),
        ([STORED[0], STORED[0]], INVALID_RECORD, 1),
        ([STORED[0], patched(STORED[1], crc=5)], CORRUPT_MESSAGE, 1),
        ([patched(STORED[0], length=20)], CORRUPT_MESSAGE, 0),
        ([patched(STORED[0], base_offset=99)], INVALID_RECORD, 0),
        ([patched(STORED[3], base_offset=(1 << 63) - 2)], INVALID_RECORD, 0),
    ],
)
def test_replicated_batches_that_cannot_be(parts: list[bytes], error: int, position: int) -> None:
    done = validate(b"".join(parts), origin=REPLICATION, base_offset=100)
    assert (done.error, done.failed_batch_position) == (error, len(parts[0]) * position)


def test_replicated_batches_may_have_gaps_and_be_empty_after_compaction() -> None:
    hollow = batch(b"", 0, base_offset=500, last_offset_delta=9)
    done = validate(STORED[0] + hollow, origin=REPLICATION, base_offset=0)
    assert (done.error, done.last_offset, done.record_count) == (0, 509, 1)


def test_fields_of_the_given_bytes_are_not_touched_when_refused() -> None:
    data = bytearray(write_by_aiokafka(KEYLESS))
    kept = bytes(data)
    assert validate(data, now_ms=NOW, compacted=True, base_offset=77).error == INVALID_RECORD
    assert data == kept
    assert field(kept, "base_offset") == 0
