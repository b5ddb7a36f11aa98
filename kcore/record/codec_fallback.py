"""Codecs from Python packages, under the GIL, for systems that lack libz, libzstd or liblz4.

Code that holds the GIL anyway (the clients, the tools, a handler before it appends) uses this module when `compression`
lacks a library. gzip is Python's own; zstd and lz4 need the packages `zstandard` and `lz4`. Without them the error is
UNSUPPORTED_COMPRESSION_TYPE. The output is bounded as in `compression`. The log cannot call this module under its lock,
so `decompressed_batch` decompresses a produced batch before that.
"""

from __future__ import annotations

import struct

from kcore import errors
from kcore.record.crc import checksum

GZIP, LZ4, ZSTD = 1, 3, 4

_HEADER_SIZE = 61
_LENGTH_POSITION = 8
_OVERHEAD = 12
_CRC_POSITION = 17
_ATTRIBUTES_POSITION = 21
_COMPRESSION_MASK = 0x07


def decompress(codec: int, data: bytes, limit_bytes: int) -> bytes:
    """Decompresses a payload. Raises MessageTooLargeError above `limit_bytes`."""
    reader = {GZIP: _read_gzip, LZ4: _read_lz4, ZSTD: _read_zstd}.get(codec)
    if reader is None:
        raise errors.UnsupportedCompressionTypeError(f"unknown codec {codec}")
    out = reader(data, limit_bytes)
    if len(out) > limit_bytes:
        raise errors.MessageTooLargeError("the decompressed data is larger than the limit")
    return out


def compress(codec: int, data: bytes, level: int | None) -> bytes:
    """Compresses `data` to a payload. `level` None means the codec's default."""
    try:
        if codec == GZIP:
            import zlib

            encoder = zlib.compressobj(-1 if level is None else level, zlib.DEFLATED, 31)
            return encoder.compress(data) + encoder.flush()
        if codec == LZ4:
            import lz4.frame  # type: ignore[import-untyped, import-not-found, unused-ignore]

            # In Kafka level 9 means the fast compressor (`compression.lz4.level`).
            native_level = 0 if level in (None, 9) else level
            return bytes(lz4.frame.compress(data, block_linked=False, compression_level=native_level, store_size=False))
        if codec == ZSTD:
            import zstandard

            return zstandard.ZstdCompressor(level=3 if level is None else level).compress(data)
    except ImportError as error:
        raise _missing(codec, error) from None
    raise errors.UnsupportedCompressionTypeError(f"unknown codec {codec}")


def decompressed_batch(batch: bytes, limit_bytes: int) -> bytes:
    """The same batch of magic 2, uncompressed. The caller has verified its checksum."""
    out = bytearray(batch[:_HEADER_SIZE])
    codec = out[_ATTRIBUTES_POSITION + 1] & _COMPRESSION_MASK
    out += decompress(codec, batch[_HEADER_SIZE:], limit_bytes)
    out[_ATTRIBUTES_POSITION + 1] &= ~_COMPRESSION_MASK & 0xFF
    struct.pack_into(">i", out, _LENGTH_POSITION, len(out) - _OVERHEAD)
    struct.pack_into(">I", out, _CRC_POSITION, checksum(memoryview(out)[_ATTRIBUTES_POSITION:]))
    return bytes(out)


def _missing(codec: int, error: ImportError) -> errors.KafkaError:
    name = "lz4" if codec == LZ4 else "zstandard"
    return errors.UnsupportedCompressionTypeError(
        f"cannot use codec {codec} ({error}). Install its library, or the Python package {name}"
    )


def _read_gzip(data: bytes, limit_bytes: int) -> bytes:
    import zlib

    out, rest = b"", data
    while True:
        decoder = zlib.decompressobj(31)
        try:
            out += decoder.decompress(rest, limit_bytes - len(out) + 1)
        except zlib.error:
            raise errors.CorruptMessageError("malformed gzip data") from None
        if len(out) > limit_bytes:
            return out
        if not decoder.eof:
            raise errors.CorruptMessageError("malformed gzip data")
        rest = decoder.unused_data
        if not rest:
            return out


def _read_lz4(data: bytes, limit_bytes: int) -> bytes:
    try:
        import lz4.frame  # type: ignore[import-untyped, import-not-found, unused-ignore]
    except ImportError as error:
        raise _missing(LZ4, error) from None
    decoder = lz4.frame.LZ4FrameDecompressor()
    try:
        out = bytes(decoder.decompress(data, limit_bytes + 1))
    except RuntimeError:
        raise errors.CorruptMessageError("malformed lz4 data") from None
    if len(out) <= limit_bytes and (not decoder.eof or decoder.unused_data):
        raise errors.CorruptMessageError("malformed lz4 data")
    return out


def _read_zstd(data: bytes, limit_bytes: int) -> bytes:
    try:
        import zstandard
    except ImportError as error:
        raise _missing(ZSTD, error) from None
    # Truncated data gives short output without an error here. The records then do not fit their batch.
    try:
        return bytes(zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read(limit_bytes + 1))
    except zstandard.ZstdError:
        raise errors.CorruptMessageError("malformed zstd data") from None
