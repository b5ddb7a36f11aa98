"""Codecs by wheels: what they write and read is what the system's libraries write and read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kcore import errors
from kcore.record import codec_fallback
from kcore.record.compression import compress_bytes, decompress_bytes
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
from tests.unit.record.batches import write_by_aiokafka
from tests.unit.record.test_decoder import ROWS, rows_of

DATA = b"".join(b"row %d;" % n for n in range(5000))
CODECS = [1, 3, 4]


@pytest.mark.parametrize("codec", CODECS)
def test_the_two_ways_understand_each_other(codec: int) -> None:
    assert decompress_bytes(codec, codec_fallback.compress(codec, DATA, None)) == DATA
    assert codec_fallback.decompress(codec, compress_bytes(codec, DATA), len(DATA)) == DATA


@pytest.mark.parametrize("codec", CODECS)
def test_bounds_and_foreign_bytes(codec: int) -> None:
    with pytest.raises(errors.MessageTooLargeError):
        codec_fallback.decompress(codec, compress_bytes(codec, bytes(5_000_000)), 100_000)
    with pytest.raises(errors.CorruptMessageError):
        codec_fallback.decompress(codec, b"these are no compressed bytes", 1000)


def test_joined_gzip_members_and_zstd_frames_are_read_through() -> None:
    for codec in (1, 4):
        assert codec_fallback.decompress(codec, compress_bytes(codec, DATA) * 2, 1 << 20) == DATA * 2


def test_a_codec_that_does_not_exist() -> None:
    for codec in (2, 5):
        with pytest.raises(errors.UnsupportedCompressionTypeError):
            codec_fallback.compress(codec, b"", None)
        with pytest.raises(errors.UnsupportedCompressionTypeError):
            codec_fallback.decompress(codec, b"", 1)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_without_its_compression_is_the_batch_uncompressed(codec: int) -> None:
    compressed = write_by_aiokafka(ROWS, codec, (5, 1, 9))
    assert codec_fallback.decompressed_batch(compressed, 1 << 20) == write_by_aiokafka(ROWS, 0, (5, 1, 9))


WITHOUT_LIBRARIES = """
import sys
from kcore.record import compression
from kcore.record.decoder import decode_batches
from kcore.record.encoder import encode_batch
assert not compression.is_available(3) and not compression.is_available(4)
for codec in (3, 4):
    data = bytes.fromhex(sys.stdin.readline())
    (batch,) = decode_batches(data)
    print(encode_batch([(r.key, r.value, r.headers, r.timestamp) for r in batch], codec=codec).hex())
"""


@pytest.mark.release_build
def test_clients_go_on_without_the_libraries(tmp_path: Path, checkout: Path) -> None:
    for name in ("liblz4.so.1", "libzstd.so.1"):
        (tmp_path / name).write_bytes(b"no library")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARIES],
        cwd=checkout,
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path)},
        input="".join(encode_batch(ROWS, codec=codec).hex() + "\n" for codec in (3, 4)),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    for line, codec in zip(done.stdout.splitlines(), (3, 4), strict=True):
        (batch,) = decode_batches(bytes.fromhex(line))
        assert batch.codec == codec
        assert rows_of(list(batch)) == ROWS
