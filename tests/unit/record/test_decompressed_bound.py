"""The bound of a compressed payload is never below what the codecs of other projects make of it, or of a part of it."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Callable

import cramjam
import lz4.frame
import pytest
import zstandard

from kcore import errors
from kcore.record.compression import compress_bytes, decompress_bytes
from kcore.record.decompressed_bound import bound_of

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
SIZES = (0, 1, 100, 65_536, 65_537, 200_000, 3_000_000)


def content(size: int, variety: int) -> bytes:
    """Bytes that compress well (variety 1) to not at all (256)."""
    chance = random.Random(size * 1000 + variety)
    return bytes(chance.choices(range(variety), k=size)) if size <= 200_000 else bytes(size)


def lz4_frame(data: bytes, **options: object) -> bytes:
    return bytes(lz4.frame.compress(data, block_linked=False, **options))


WRITERS: dict[str, tuple[int, Callable[[bytes], bytes]]] = {
    "gzip": (GZIP, gzip.compress),
    "gzip in members": (
        GZIP,
        lambda data: gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]),
    ),
    "gzip of zeros at the end": (GZIP, lambda data: gzip.compress(data) + gzip.compress(b"")),
    "snappy": (SNAPPY, lambda data: compress_bytes(SNAPPY, data)),
    "snappy raw": (SNAPPY, lambda data: bytes(cramjam.snappy.compress_raw(data))),
    "lz4": (LZ4, lz4_frame),
    "lz4 with sizes and checksums": (
        LZ4,
        lambda data: lz4_frame(data, store_size=True, block_checksum=True, content_checksum=True, block_size=7),
    ),
    "zstd": (ZSTD, zstandard.ZstdCompressor().compress),
    "zstd without a size": (ZSTD, zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress),
    "zstd in frames": (
        ZSTD,
        lambda data: zstandard.compress(data[:100]) + b"\x50\x2a\x4d\x18\x03\0\0\0abc" + zstandard.compress(data[100:]),
    ),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("variety", [1, 3, 256])
@pytest.mark.parametrize("size", SIZES)
def test_the_bound_is_not_below_the_size(name: str, size: int, variety: int) -> None:
    codec, write = WRITERS[name]
    data = content(size, variety)
    payload = write(data)
    bound = bound_of(codec, payload)
    assert bound >= size
    for enough in (0, size // 2, size - 1):
        assert bound_of(codec, payload, enough) > enough or enough < 0 or size == 0


@pytest.mark.parametrize("name", ["gzip", "lz4", "zstd", "zstd without a size", "snappy"])
def test_records_of_usual_size_are_not_taken_for_large(name: str) -> None:
    """A megabyte of records that compresses by three to five."""
    codec, write = WRITERS[name]
    data = b"".join(b"%08d some text that comes again" % number for number in range(26_000))
    assert bound_of(codec, write(data), 4 << 20) <= 4 << 20


def written_of(name: str, part: bytes) -> int:
    """How much a streaming reader writes for the first bytes of a payload."""
    try:
        if name == "gzip":
            return len(zlib.decompressobj(31).decompress(part))
        if name == "lz4":
            return len(lz4.frame.LZ4FrameDecompressor().decompress(part))
        return len(zstandard.ZstdDecompressor().decompressobj().decompress(part))
    except (zlib.error, RuntimeError, zstandard.ZstdError):
        return 0


@pytest.mark.parametrize("name", ["lz4", "zstd", "zstd without a size"])
def test_the_bound_of_a_part_is_not_below_what_is_written(name: str) -> None:
    codec, write = WRITERS[name]
    payload = write(content(200_000, 3) + bytes(300_000))
    for size in range(0, len(payload), 97):
        assert bound_of(codec, payload[:size]) >= written_of(name, payload[:size]), size


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_any_bytes_have_a_bound(codec: int) -> None:
    chance = random.Random(codec)
    for _ in range(2000):
        payload = bytearray(WRITERS[("gzip", "snappy", "lz4", "zstd")[codec - 1]][1](content(300, 2)))
        for _ in range(chance.randrange(4)):
            payload[chance.randrange(len(payload))] = chance.randrange(256)
        del payload[chance.randrange(len(payload) + 1) :]
        bound = bound_of(codec, bytes(payload))
        try:
            size = len(decompress_bytes(codec, bytes(payload), 1 << 20))
        except errors.KafkaError:
            continue
        assert bound >= size


def test_a_gzip_member_that_is_larger_than_its_trailer_says_is_corrupt() -> None:
    """It is refused at the size that it claims, so that the claim can be believed."""
    payload = bytearray(gzip.compress(bytes(10_000_000)))
    payload[-4:] = (1000).to_bytes(4, "little")
    assert bound_of(GZIP, bytes(payload), 5000) == 1000
    with pytest.raises(errors.CorruptMessageError):
        decompress_bytes(GZIP, bytes(payload))
