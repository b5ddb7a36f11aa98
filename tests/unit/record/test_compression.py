"""Codecs against the packages that others use: both directions, limits, hostile bytes, a system without libraries."""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cramjam
import lz4.frame
import pytest
import zstandard

from kcore import errors
from kcore.record import compression
from kcore.record.compression import compress_bytes, decompress_bytes
from tests.unit.record.batches import xerial_blocks

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
CODECS = [GZIP, SNAPPY, LZ4, ZSTD]
CLEAN = (errors.CorruptMessageError, errors.MessageTooLargeError)

RANDOM = random.Random(3)
TEXT = b"".join(b'{"carrier":"UA","flight":%d,"delay":%d},' % (i * 7919 % 5000, i % 97) for i in range(6000))
SAMPLES = {
    "one byte": b"a",
    "short": b"hello hello hello",
    "random": RANDOM.randbytes(3000),
    "zeros": bytes(150_000),
    "text": TEXT,
    "mixed": RANDOM.randbytes(33_000) + TEXT[:40_000] + RANDOM.randbytes(70_000),
    "far copies": RANDOM.randbytes(40_000) * 3,
    "overlapping": b"ab" * 50 + b"abc" * 500 + b"x" * 70,
}


READERS: dict[int, Callable[[bytes], bytes]] = {
    GZIP: gzip.decompress,
    SNAPPY: xerial_blocks,
    LZ4: lz4.frame.decompress,
    ZSTD: lambda data: zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 20),
}
WRITERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (GZIP, gzip.compress),
    "two gzip members": (GZIP, lambda data: gzip.compress(data[:7]) + gzip.compress(data[7:])),
    "raw snappy": (SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "lz4": (LZ4, lambda data: lz4.frame.compress(data, block_linked=False)),
    "lz4 with every checksum": (
        LZ4,
        lambda data: lz4.frame.compress(data, block_linked=False, content_checksum=True, block_checksum=True),
    ),
    "lz4 in blocks of 4 MiB": (
        LZ4,
        lambda data: lz4.frame.compress(data, block_linked=False, block_size=lz4.frame.BLOCKSIZE_MAX4MB),
    ),
    "lz4 without content size": (LZ4, lambda data: lz4.frame.compress(data, block_linked=False, store_size=False)),
    "zstd": (ZSTD, zstandard.ZstdCompressor().compress),
    "zstd without content size": (ZSTD, zstandard.ZstdCompressor(write_content_size=False).compress),
    "zstd with checksum": (ZSTD, zstandard.ZstdCompressor(write_checksum=True, level=19).compress),
    "two zstd frames": (
        ZSTD,
        lambda data: zstandard.ZstdCompressor().compress(data[:9]) + zstandard.ZstdCompressor().compress(data[9:]),
    ),
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("codec", CODECS)
def test_others_read_what_we_write(codec: int, sample: str) -> None:
    compressed = compress_bytes(codec, SAMPLES[sample])
    assert READERS[codec](compressed) == SAMPLES[sample]
    assert decompress_bytes(codec, compressed) == SAMPLES[sample]


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("writer", WRITERS)
def test_we_read_what_others_write(writer: str, sample: str) -> None:
    codec, write = WRITERS[writer]
    assert decompress_bytes(codec, write(SAMPLES[sample])) == SAMPLES[sample]


@pytest.mark.parametrize("codec", CODECS)
def test_nothing_compressed_is_still_a_stream(codec: int) -> None:
    assert READERS[codec](compress_bytes(codec, b"")) == b""


@pytest.mark.parametrize("codec", CODECS)
def test_text_is_made_smaller(codec: int) -> None:
    assert len(compress_bytes(codec, TEXT)) < len(TEXT) / 2


@pytest.mark.parametrize(("codec", "levels"), [(GZIP, (1, 9)), (LZ4, (1, 17)), (ZSTD, (-5, 19))])
def test_levels_trade_size(codec: int, levels: tuple[int, int]) -> None:
    low, high = (compress_bytes(codec, TEXT, level) for level in levels)
    assert len(high) <= len(low)
    assert READERS[codec](low) == READERS[codec](high) == TEXT


def test_lz4_blocks_are_independent_for_java_readers() -> None:
    assert compress_bytes(LZ4, TEXT)[4] & 0x20
    with pytest.raises(errors.CorruptMessageError):
        decompress_bytes(LZ4, lz4.frame.compress(TEXT, block_linked=True, block_size=lz4.frame.BLOCKSIZE_MAX64KB))


def test_joined_xerial_streams_are_read_through() -> None:
    framed = compress_bytes(SNAPPY, TEXT)
    assert decompress_bytes(SNAPPY, framed + framed) == TEXT * 2


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"\x05\x10hello", b"hello"),
        (b"\x07\x00a\x15\x01", b"a" + b"a" * 9),  # declares 7, makes more
        (b"\x05\x00a\x01\x01", b"aaaaa"),  # copy with a one byte offset
        (b"\x05\x00a\x0e\x01\x00", b"aaaaa"),  # two bytes
        (b"\x05\x00a\x0f\x01\x00\x00\x00", b"aaaaa"),  # four bytes
        (b"\x3d\xf0\x3c" + b"x" * 61, b"x" * 61),  # length of a literal in one extra byte
        (b"\x03\x00a\x05\x00", None),  # offset 0
        (b"\x05\x00a\x01\x02", None),  # offset before the start
        (b"\x05\x10hell", None),  # literal beyond the end
        (b"\x05\xfc\x04\x00", None),  # literal's length beyond the end
        (b"\x05\x00a\x0e\x01", None),  # cut inside a copy
        (b"\xff\xff\xff\xff\xff\x01", None),  # a length of more than 32 bits
        (b"\xff\xff\xff\xff\x0f\x00a", None),  # 4 GiB claimed
        (b"", None),
        (b"\x80", None),
    ],
)
def test_snappy_elements(block: bytes, expected: bytes | None) -> None:
    if expected is None or len(expected) != block[0]:
        with pytest.raises(CLEAN):
            decompress_bytes(SNAPPY, block)
    else:
        assert decompress_bytes(SNAPPY, block) == expected


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [1, 1000, 100_000, 3_000_000])
def test_the_limit_is_exact(codec: int, size: int) -> None:
    compressed = compress_bytes(codec, bytes(size))
    assert decompress_bytes(codec, compressed, size) == bytes(size)
    with pytest.raises(errors.MessageTooLargeError):
        decompress_bytes(codec, compressed, size - 1)


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_stopped(codec: int) -> None:
    with pytest.raises(errors.MessageTooLargeError):
        decompress_bytes(codec, compress_bytes(codec, bytes(64_000_000)), 1_000_000)


@pytest.mark.parametrize("codec", CODECS)
def test_every_truncation_is_a_clean_error(codec: int) -> None:
    compressed = compress_bytes(codec, SAMPLES["short"] + RANDOM.randbytes(300))
    # A xerial stream may end after its header, or between blocks: no records, which the batch's count then refuses.
    first = 17 if codec == SNAPPY else 0
    for size in range(first, len(compressed)):
        with pytest.raises(CLEAN):
            decompress_bytes(codec, compressed[:size])


@pytest.mark.parametrize("codec", CODECS)
def test_a_changed_byte_never_crashes(codec: int) -> None:
    source = SAMPLES["overlapping"] + TEXT[:3000]
    compressed = bytearray(compress_bytes(codec, source))
    generator = random.Random(codec)
    for _ in range(3000):
        position = generator.randrange(len(compressed))
        kept = compressed[position]
        compressed[position] = generator.randrange(256)
        try:
            out = decompress_bytes(codec, compressed, 1_000_000)
            assert len(out) <= 1_000_000
        except CLEAN:
            pass
        compressed[position] = kept
    assert decompress_bytes(codec, compressed) == source


@pytest.mark.parametrize("codec", [*CODECS, 5, 7, -1])
def test_foreign_bytes_are_a_clean_error(codec: int) -> None:
    with pytest.raises((*CLEAN, errors.UnsupportedCompressionTypeError)):
        decompress_bytes(codec, b"these are no compressed bytes at all")


WITHOUT_LIBRARIES = """
from kcore import errors
from kcore.record import compression
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from kcore.record.validator import validate
assert not compression.is_available(3) and not compression.is_available(4)
assert compression.is_available(0) and compression.is_available(2)
for codec in (3, 4):
    for call in (compression.compress_bytes, compression.decompress_bytes):
        try:
            call(codec, b"some data")
        except errors.UnsupportedCompressionTypeError:
            continue
        raise SystemExit(f"codec {codec} answered")
batch = bytearray(encode_batch([(b"k", b"v")]))
batch[22] = 4
from kcore.record.crc import checksum
batch[17:21] = checksum(batch[21:]).to_bytes(4, "big")
refused = validate(batch)
assert refused.error == errors.UnsupportedCompressionTypeError.code and refused.codec_unavailable, refused
accepted = validate(encode_batch([(b"k", b"v")]))
assert accepted.error == 0
print("as expected")
"""


@pytest.mark.release_build
def test_a_system_without_the_libraries_says_so(tmp_path: Path, checkout: Path) -> None:
    for name in ("liblz4.so.1", "libzstd.so.1"):
        (tmp_path / name).write_bytes(b"no library")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARIES],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "as expected", done.stderr


def test_names_stand_where_the_codecs_numbers_say() -> None:
    assert [compression.NAMES[codec] for codec in (0, *CODECS)] == ["none", "gzip", "snappy", "lz4", "zstd"]


def test_threads_share_the_pooled_contexts() -> None:
    """More threads than a pool has slots, each with codecs and data of its own, compressing without the GIL."""

    def work(number: int) -> None:
        generator = random.Random(number)
        for _ in range(30):
            data = generator.randbytes(50) * generator.randrange(1, 600)
            codec = generator.choice(CODECS)
            assert decompress_bytes(codec, compress_bytes(codec, data)) == data

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(work, range(24)))


@pytest.mark.parametrize("codec", CODECS)
def test_a_malformed_payload_leaves_nothing_to_the_next_one(codec: int) -> None:
    """Contexts are used again: a frame of lz4 that named its size and was cut short once spoiled those after it."""
    writers: dict[int, Callable[[bytes], bytes]] = {
        GZIP: gzip.compress,
        SNAPPY: lambda data: compress_bytes(SNAPPY, data),
        LZ4: lambda data: bytes(lz4.frame.compress(data, block_linked=False, store_size=True, content_checksum=True)),
        ZSTD: zstandard.ZstdCompressor(write_checksum=True, write_content_size=True).compress,
    }
    plain = compress_bytes(codec, TEXT)
    payload = writers[codec](TEXT)
    for size in (*range(1, 40), *range(len(payload) - 20, len(payload))):
        # A part of snappy's framing may be whole.
        with contextlib.suppress(*CLEAN):
            decompress_bytes(codec, payload[:size])
        assert decompress_bytes(codec, plain) == TEXT, size
        with pytest.raises(errors.MessageTooLargeError):
            decompress_bytes(codec, payload, 100_000)
        assert decompress_bytes(codec, plain) == TEXT, size
