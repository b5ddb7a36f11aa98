"""Buffers that Apache Kafka's Java client wrote (tests/vectors/record), read by us, and written by us to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcore.record import control
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch

VECTORS = dict(
    line.split()
    for line in Path(__file__).parents[2].joinpath("vectors/record/kafka-3.9.2.txt").read_text().splitlines()
)
HEADERS = [("a", b"1"), ("a", None), ("", b"")]
ROWS = [
    (b"key", b"value", [], 1_700_000_000_000),
    (None, b"no key", HEADERS, 1_700_000_000_007),
    (b"no value", None, [], 1_699_999_999_000),
    (b"", b"", [], 1_700_000_000_001),
    (b"long", b"0123456789" * 50, [], 1_700_000_000_002),
]
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
RECORDS = [name for name in VECTORS if name.startswith("magic")]


def vector(name: str) -> bytes:
    return bytes.fromhex(VECTORS[name])


@pytest.mark.parametrize("name", RECORDS)
def test_reads_what_java_wrote(name: str) -> None:
    magic, codec = int(name[5]), CODECS.index(name.split("-")[1])
    batches = list(decode_batches(vector(name)))
    records = [record for batch in batches for record in batch]
    assert {(batch.magic, batch.codec) for batch in batches} == {(magic, codec)}
    assert [record.offset for record in records] == [500, 501, 502, 503, 504]
    assert [(record.key, record.value) for record in records] == [row[:2] for row in ROWS]
    assert [record.headers for record in records] == [row[2] if magic == 2 else [] for row in ROWS]
    if "log-append-time" in name:
        assert {record.timestamp for record in records} == {1_700_000_001_000}
    else:
        assert [record.timestamp for record in records] == [row[3] if magic else -1 for row in ROWS]


@pytest.mark.parametrize("codec", CODECS)
def test_the_header_of_magic_2(codec: str) -> None:
    (batch,) = decode_batches(vector(f"magic2-{codec}"))
    assert (batch.base_offset, batch.last_offset, batch.record_count, batch.partition_leader_epoch) == (500, 504, 5, 6)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.last_sequence) == (4711, 3, 17, 21)
    assert (batch.base_timestamp, batch.max_timestamp) == (1_700_000_000_000, 1_700_000_000_007)


def test_writes_the_bytes_that_java_writes() -> None:
    fields = {"base_offset": 500, "leader_epoch": 6, "producer_id": 4711, "producer_epoch": 3, "base_sequence": 17}
    assert encode_batch(ROWS, **fields) == vector("magic2-none")


@pytest.mark.parametrize(("name", "is_commit"), [("marker-commit", True), ("marker-abort", False)])
def test_transaction_markers(name: str, is_commit: bool) -> None:
    written = control.encode_marker(
        is_commit,
        11,
        producer_id=4711,
        producer_epoch=3,
        timestamp=1_700_000_001_000,
        base_offset=500,
        leader_epoch=6,
    )
    assert written == vector(name)
    ((record,),) = decode_batches(vector(name))
    marker = control.decode_marker(record)
    assert marker is not None
    assert (marker.is_commit, marker.coordinator_epoch) == (is_commit, 11)
