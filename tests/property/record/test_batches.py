"""Whatever is written is read back; whatever the bytes, they decode or give a clean error."""

from __future__ import annotations

import contextlib

from hypothesis import given, settings
from hypothesis import strategies as st

from kcore import errors
from kcore.record.compression import compress_bytes, decompress_bytes
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from tests.unit.record.batches import FIELDS, patched

CONTENT = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=10), CONTENT), max_size=4)
TIMESTAMPS = st.integers(-1, 1 << 50) | st.integers(-(1 << 63), (1 << 63) - 1)
RECORDS = st.lists(st.tuples(CONTENT, CONTENT, HEADERS, TIMESTAMPS), max_size=30)
CODECS = st.integers(0, 4)


def read_all(data: bytes) -> int:
    """Reads all that can be read; anything but a row of the error table is a failure."""
    count = 0
    try:
        for batch in decode_batches(data, check_crc=False, decompressed_limit_bytes=1 << 20):
            for record in batch:
                count += 1 + len(record.headers)
    except errors.KafkaError:
        pass
    return count


@given(RECORDS, CODECS, st.integers(0, 1 << 60), st.booleans())
@settings(max_examples=300, deadline=None)
def test_round_trip(records: list[tuple[bytes | None, ...]], codec: int, base_offset: int, transactional: bool) -> None:
    data = encode_batch(records, codec=codec, base_offset=base_offset, transactional=transactional)
    (batch,) = decode_batches(data)
    assert [(read.key, read.value, read.headers, read.timestamp) for read in batch] == records
    assert [read.offset for read in batch] == list(range(base_offset, base_offset + len(records)))
    assert (batch.is_transactional, batch.record_count) == (transactional, len(records))
    assert batch.codec == (codec if records else 0)
    assert batch.max_timestamp == max([-1, *(record[3] for record in records)])


@given(st.binary(max_size=400))
@settings(max_examples=500, deadline=None)
def test_any_bytes(data: bytes) -> None:
    read_all(data)


@given(RECORDS, CODECS, st.sampled_from(sorted(FIELDS)), st.data())
@settings(max_examples=300, deadline=None)
def test_a_header_with_any_field_changed(
    records: list[tuple[bytes | None, ...]], codec: int, name: str, draw: st.DataObject
) -> None:
    bits = {"b": 8, "h": 16, "i": 32, "I": 32, "q": 64}[FIELDS[name][1]]
    low, high = (0, (1 << bits) - 1) if FIELDS[name][1] == "I" else (-(1 << bits - 1), (1 << bits - 1) - 1)
    data = encode_batch(records, codec=codec)
    read_all(patched(data, **{name: draw.draw(st.integers(low, high))}))


@given(RECORDS, CODECS, st.data())
@settings(max_examples=300, deadline=None)
def test_changed_bytes_and_truncations(
    records: list[tuple[bytes | None, ...]], codec: int, draw: st.DataObject
) -> None:
    data = bytearray(encode_batch(records, codec=codec))
    for position, value in draw.draw(
        st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=5)
    ):
        data[position] = value
    read_all(bytes(data[: draw.draw(st.integers(0, len(data)))]))


@given(st.integers(1, 4), st.lists(st.binary(max_size=60), max_size=20), st.integers(1, 60))
@settings(max_examples=300, deadline=None)
def test_codecs_give_back_what_they_took(codec: int, parts: list[bytes], repeat: int) -> None:
    data = b"".join(part * repeat for part in parts)
    compressed = compress_bytes(codec, data)
    if data:
        assert decompress_bytes(codec, compressed, len(data)) == data


@given(st.integers(1, 4), st.binary(max_size=200))
@settings(max_examples=500, deadline=None)
def test_codecs_take_any_bytes(codec: int, data: bytes) -> None:
    with contextlib.suppress(errors.KafkaError):
        assert len(decompress_bytes(codec, data, 100_000)) <= 100_000


@given(st.binary(max_size=100))
@settings(max_examples=300, deadline=None)
def test_xerial_framing_takes_any_bytes(data: bytes) -> None:
    with contextlib.suppress(errors.KafkaError):
        decompress_bytes(2, b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + data, 100_000)
