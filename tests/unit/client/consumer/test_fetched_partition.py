"""Records out of Fetch answers: what Apache Kafka and other codecs wrote, what is skipped, and what no writer makes."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

from kcore import errors
from kcore.client.consumer.consumer_record import CREATE_TIME, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE, ConsumerRecord
from kcore.client.consumer.partition_reader import PartitionReader
from kcore.record.control import encode_marker
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from tests.interchange.contents import NO_TIME
from tests.interchange.observation import ALL_BYTES, READ_COMMITTED
from tests.unit.record.batches import batch, patched, record, write_by_aiokafka
from tests.unit.record.test_decoder import ROWS
from tests.unit.record.test_vectors import RECORDS, vector
from tests.unit.record.test_vectors import ROWS as VECTOR_ROWS
from tests.vectors.kafka.make import HERE, OLD_TOPICS, TOPICS, read_answers

CODECS = range(5)
NOW = 1_700_000_000_000


def contents(records: list[ConsumerRecord]) -> list[tuple[Any, ...]]:
    return [(record.key, record.value, record.headers, record.timestamp) for record in records]


def offsets(records: list[ConsumerRecord]) -> list[int]:
    return [record.offset for record in records]


def take_all(reader: PartitionReader) -> None:
    while reader.take():
        pass


def values(records: list[ConsumerRecord]) -> list[bytes]:
    return [record.value for record in records]


def plain(base_offset: int, *values: bytes, **fields: Any) -> bytes:
    return encode_batch([(None, value) for value in values], timestamp=NOW, base_offset=base_offset, **fields)


@pytest.mark.parametrize("codec", CODECS)
def test_reads_what_other_codecs_write(codec: int) -> None:
    data = patched(write_by_aiokafka(ROWS, codec), base_offset=1 << 40, leader_epoch=7)
    records = PartitionReader(data, "topic", 3, offset=1 << 40).take()
    assert contents(records) == ROWS
    assert offsets(records) == [(1 << 40) + delta for delta in range(5)]
    assert {(record.topic, record.partition, record.leader_epoch) for record in records} == {("topic", 3, 7)}
    assert [(record.serialized_key_size, record.serialized_value_size) for record in records] == [
        (-1 if key is None else len(key), -1 if value is None else len(value)) for key, value, *_ in ROWS
    ]


@pytest.mark.parametrize("name", RECORDS)
def test_reads_what_java_wrote_in_every_format(name: str) -> None:
    magic = int(name[5])
    records = PartitionReader(vector(name), "topic").take()
    assert offsets(records) == [500, 501, 502, 503, 504]
    assert [(record.key, record.value) for record in records] == [row[:2] for row in VECTOR_ROWS]
    assert [record.headers for record in records] == [row[2] if magic == 2 else [] for row in VECTOR_ROWS]
    assert {record.leader_epoch for record in records} == {6 if magic == 2 else None}
    if "log-append-time" in name:
        assert {(record.timestamp, record.timestamp_type) for record in records} == {
            (1_700_000_001_000, LOG_APPEND_TIME)
        }
    else:
        assert [record.timestamp for record in records] == [row[3] if magic else -1 for row in VECTOR_ROWS]
        assert {record.timestamp_type for record in records} == {CREATE_TIME if magic else NO_TIMESTAMP_TYPE}


def segments_of(topic: str) -> list[bytes]:
    directory = HERE / ("2.8" if topic in OLD_TOPICS else "3.9") / f"{topic}-0"
    return [path.read_bytes() for path in sorted(directory.glob("*.log"))]


def answered_bytes(segments: list[bytes], offset: int, size: int) -> bytes:
    """What a Fetch of Apache Kafka answered: from the batch with the offset on, so many bytes."""
    for segment in segments:
        for written in decode_batches(segment):
            if written.last_offset >= offset:
                return segment[written.position : written.position + size]
    return b""


@pytest.mark.parametrize("topic", [*OLD_TOPICS, *TOPICS])
def test_every_answer_of_apache_kafka_holds_what_librdkafka_read(topic: str) -> None:
    answers = {**read_answers("2.8"), **read_answers("3.9")}[topic]
    segments = segments_of(topic)
    rows = {row[0]: tuple(row) for row in answers["rows"]}
    committed = 0
    for fetch in answers["fetches"]:
        data = answered_bytes(segments, fetch["offset"], fetch["bytes"])
        assert zlib.crc32(data) == fetch["crc32"]
        aborted = fetch["aborted"] or ()
        reader = PartitionReader(
            data,
            topic,
            offset=fetch["offset"],
            aborted=aborted,
            read_committed=fetch["isolation"] == READ_COMMITTED,
        )
        following = reader.following_offset
        if not data or next(decode_batches(data), None) is None:
            continue
        records = reader.take()
        assert reader.next_offset == following
        for found in records:
            key = None if found.key is None else found.key.decode()
            value = None if found.value is None else found.value.decode()
            time = NO_TIME if found.timestamp_type == NO_TIMESTAMP_TYPE else found.timestamp
            assert (found.offset, time, key, value) == rows[found.offset]
        read = set(offsets(records))
        missing = {offset for offset in rows if fetch["offset"] <= offset < following} - read
        assert not missing or (aborted and fetch["isolation"] == READ_COMMITTED)
        if fetch["max_bytes"] == max(other["max_bytes"] for other in answers["fetches"]):
            committed += len(read) if fetch["offset"] == answers["start"] else 0
    assert committed > 0


def read_through(topic: str, answers: dict[str, Any]) -> list[int]:
    """The offsets that a reader of committed records gets, one answer after the other."""
    fetches = [fetch for fetch in answers["fetches"] if fetch["isolation"] == READ_COMMITTED]
    asked = {fetch["offset"]: fetch for fetch in fetches if fetch["max_bytes"] == ALL_BYTES}
    position, read = answers["start"], []
    segments = segments_of(topic)
    while position < answers["last_stable"]["offset"]:
        # What compaction has left out is not asked for one by one: the answer is that of the next offset there is.
        fetch = asked[min(offset for offset in asked if offset >= position)]
        data = answered_bytes(segments, position, fetch["bytes"])
        reader = PartitionReader(data, topic, offset=position, aborted=fetch["aborted"] or (), read_committed=True)
        read += offsets(reader.take())
        position = reader.next_offset
    return read


@pytest.mark.parametrize("topic", ["transactions", "open-transaction", "codecs", "compacted"])
def test_committed_records_are_as_many_as_librdkafka_read(topic: str) -> None:
    answers = read_answers("3.9")[topic]
    assert len(read_through(topic, answers)) == answers["committed_rows"]


def test_records_before_the_position_are_dropped() -> None:
    data = plain(10, b"a", b"b", b"c") + plain(13, b"d")
    reader = PartitionReader(data, offset=12)
    assert offsets(reader.take()) == [12, 13]
    assert reader.next_offset == 14


def test_gaps_are_normal_and_empty_batches_move_the_position() -> None:
    compacted = batch(record(offset_delta=3) + record(offset_delta=8), 2, base_offset=100, last_offset_delta=9)
    emptied = batch(b"", 0, base_offset=110, last_offset_delta=89)
    reader = PartitionReader(compacted + emptied, offset=90)
    assert offsets(reader.take()) == [103, 108]
    assert reader.next_offset == 200
    assert PartitionReader(compacted + emptied, offset=90).following_offset == 200


def test_the_last_batch_may_be_cut_short() -> None:
    whole = plain(0, b"a", b"b")
    for size in range(len(whole)):
        reader = PartitionReader(whole + plain(2, b"c" * 30)[:size])
        assert offsets(reader.take()) == [0, 1]
        assert reader.next_offset == reader.following_offset == 2


def test_an_answer_without_a_whole_batch_is_an_error() -> None:
    with pytest.raises(errors.CorruptMessageError, match="partition t-0 at offset 5: the answer ends inside its first"):
        PartitionReader(plain(5, b"abc")[:-1], "t", offset=5).take()


def test_nothing_at_all_is_no_error() -> None:
    reader = PartitionReader(b"", offset=5)
    assert reader.take() == []
    assert reader.next_offset == 5


def test_records_are_taken_in_pieces() -> None:
    data = plain(0, *(b"%d" % i for i in range(7)), leader_epoch=2) + plain(7, b"7", b"8", leader_epoch=3)
    reader = PartitionReader(data)
    taken = [(offsets(reader.take(limit)), reader.next_offset, reader.leader_epoch) for limit in (0, 3, 3, 2, 5, 1)]
    assert taken == [([], 0, -1), ([0, 1, 2], 3, 2), ([3, 4, 5], 6, 2), ([6, 7], 8, 3), ([8], 9, 3), ([], 9, 3)]


def in_transaction(producer: int, base_offset: int, *values: bytes, codec: int = 0) -> bytes:
    sequence = {"producer_id": producer, "producer_epoch": 0, "base_sequence": 0}
    return plain(base_offset, *values, transactional=True, codec=codec, **sequence)


def marker(producer: int, offset: int, is_commit: bool) -> bytes:
    return encode_marker(is_commit, 0, producer_id=producer, producer_epoch=0, timestamp=NOW, base_offset=offset)


INTERLEAVED = b"".join(
    [
        in_transaction(1, 0, b"1 aborted"),
        in_transaction(2, 1, b"2 committed"),
        plain(2, b"plain"),
        in_transaction(1, 3, b"1 aborted", b"1 aborted", codec=4),
        marker(1, 5, False),
        in_transaction(1, 6, b"1 committed"),
        marker(2, 7, True),
        in_transaction(2, 8, b"2 aborted"),
        marker(1, 9, True),
        marker(2, 10, False),
        in_transaction(2, 11, b"2 committed again"),
        marker(2, 12, True),
    ]
)
ABORTED = [(2, 8), (1, 0)]
COMMITTED = [b"2 committed", b"plain", b"1 committed", b"2 committed again"]


def test_records_of_aborted_transactions_are_left_out() -> None:
    reader = PartitionReader(INTERLEAVED, aborted=ABORTED, read_committed=True)
    assert values(reader.take()) == COMMITTED
    assert reader.next_offset == 13


def test_without_read_committed_all_records_are_read_and_no_marker() -> None:
    reader = PartitionReader(INTERLEAVED, aborted=ABORTED)
    assert offsets(reader.take()) == [0, 1, 2, 3, 4, 6, 8, 11]
    assert reader.next_offset == 13


def test_a_fetch_from_within_a_transaction_leaves_out_its_rest() -> None:
    rest = INTERLEAVED[len(in_transaction(1, 0, b"1 aborted")) :]
    assert values(PartitionReader(rest, offset=4, aborted=ABORTED, read_committed=True).take()) == COMMITTED[2:]


def test_many_producers_may_be_aborted_at_once() -> None:
    data, aborted, kept = b"", [], []
    for producer in range(40):
        data += in_transaction(producer * 7919 % 41, len(aborted), b"x")
        aborted.append((producer * 7919 % 41, len(aborted)))
    for place, (producer, _) in enumerate(sorted(aborted, key=lambda row: row[0] * 31 % 41)):
        data += marker(producer, 40 + 2 * place, False) + in_transaction(producer, 41 + 2 * place, b"%d" % producer)
        kept.append(b"%d" % producer)
    assert values(PartitionReader(data, aborted=reversed(aborted), read_committed=True).take()) == kept


def test_a_wrong_checksum_ends_the_reading_there() -> None:
    good, bad = plain(0, b"a", b"b"), bytearray(plain(2, b"c"))
    bad[-2] ^= 1
    reader = PartitionReader(good + bytes(bad) + plain(3, b"d"), "t", 4)
    assert offsets(reader.take()) == [0, 1]
    for _ in range(2):
        with pytest.raises(
            errors.CorruptMessageError, match=r"partition t-4 at offset 2: .* wrong checksum. To skip .* Consumer.seek"
        ):
            reader.take()
    assert reader.next_offset == 2
    assert offsets(PartitionReader(good + bytes(bad) + plain(3, b"d"), check_crcs=False).take()) == [0, 1, 2, 3]


@pytest.mark.parametrize(("name", "before"), [("magic0-none", 4), ("magic1-none", 4), ("magic1-gzip", 0)])
def test_messages_of_old_formats_have_checksums_too(name: str, before: int) -> None:
    data = bytearray(vector(name))
    data[-1] ^= 1
    reader = PartitionReader(bytes(data), "t")
    assert len(reader.take(before)) == before
    with pytest.raises(errors.CorruptMessageError, match="checksum"):
        reader.take()


def test_records_before_a_malformed_one_are_given() -> None:
    payload = record(value=b"a") + record(value=b"b", offset_delta=1)
    reader = PartitionReader(batch(payload + b"\x04\x00", 3))
    assert values(reader.take()) == [b"a", b"b"]
    with pytest.raises(errors.CorruptMessageError, match="at offset 2: the record batch is malformed"):
        reader.take()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(batch(record() + b"\0", 1), id="more than its records"),
        pytest.param(batch(record(), 2**31 - 1), id="fewer than it claims"),
        pytest.param(batch(record(), -1), id="negative count"),
        pytest.param(batch(record(), 1, base_offset=-5), id="negative offset"),
        pytest.param(batch(record(), 1, base_offset=2**63 - 1), id="no offset behind it"),
        pytest.param(batch(record(), 1, base_offset=2**63 - 2, last_offset_delta=5), id="offsets beyond the last"),
        pytest.param(batch(record(), 1, magic=3), id="unknown magic"),
        pytest.param(batch(b"not compressed", 1, attributes=1), id="no gzip"),
        pytest.param(batch(record(), 1, length=5), id="too short a length"),
    ],
)
def test_what_no_writer_makes_is_an_error(data: bytes) -> None:
    reader = PartitionReader(data)
    with pytest.raises(errors.CorruptMessageError):
        take_all(reader)
    assert reader.following_offset >= 0


def test_an_unknown_codec_is_named() -> None:
    with pytest.raises(errors.UnsupportedCompressionTypeError, match="codec 6"):
        PartitionReader(batch(record(), 1, attributes=6)).take()


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_what_comes_out_of_the_compression_is_bounded(codec: int) -> None:
    bomb = plain(0, bytes(1 << 20), codec=codec)
    with pytest.raises(errors.MessageTooLargeError, match="more than 100000 bytes once decompressed"):
        PartitionReader(bomb, decompressed_limit_bytes=100_000).take()
    assert len(PartitionReader(bomb).take()) == 1


WITHOUT_LIBRARIES = """
import sys
from kcore.record import compression
from kcore.client.consumer.partition_reader import PartitionReader
assert not compression.is_available(3) and not compression.is_available(4)
data = bytes.fromhex(sys.stdin.read())
for read_committed in (True, False):
    reader = PartitionReader(data, aborted=[(2, 0)], read_committed=read_committed)
    print([record.value for record in reader.take()], reader.next_offset)
print(len(PartitionReader(data).take_columns()))
"""


@pytest.mark.release_build
def test_codecs_without_a_library_are_read_by_wheels(tmp_path: Path, checkout: Path) -> None:
    for name in ("liblz4.so.1", "libzstd.so.1"):
        (tmp_path / name).write_bytes(b"no library")
    data = in_transaction(1, 0, b"one", codec=3) + in_transaction(2, 1, b"two", codec=4) + plain(2, b"three", codec=3)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARIES],
        cwd=checkout,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        input=data.hex(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[b'one', b'three'] 3", "[b'one', b'two', b'three'] 3", "3"]


def test_a_record_can_be_pickled_and_given_other_contents() -> None:
    (before,) = PartitionReader(write_by_aiokafka(ROWS[3:4]), "t", 1).take()
    after = pickle.loads(pickle.dumps(before))
    assert (contents([after]), after.topic, after.partition, after.leader_epoch) == (ROWS[3:4], "t", 1, None)
    other = before.with_contents("key", {"value": 1})
    assert (other.key, other.value, other.headers, other.offset) == ("key", {"value": 1}, ROWS[3][2], 0)
    assert (other.serialized_key_size, other.serialized_value_size) == (0, 0)
    with pytest.raises(AttributeError):
        before.value = b"changed"
