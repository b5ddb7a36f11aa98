"""Codecs without the GIL: the system's libz, libzstd and liblz4, opened at run time, and a snappy implementation."""

from libc.stdint cimport int32_t, uint8_t

cdef enum Codec:
    CODEC_NONE = 0
    CODEC_GZIP = 1
    CODEC_SNAPPY = 2
    CODEC_LZ4 = 3
    CODEC_ZSTD = 4

cdef enum CodecStatus:
    CODEC_OK = 0
    CODEC_CORRUPT = 1
    CODEC_UNAVAILABLE = 2      # the system has no such library: use the slow path or refuse
    CODEC_TOO_LARGE = 3        # the output would exceed `limit_bytes`
    CODEC_NO_MEMORY = 4

cdef enum:
    # The maximum compression ratio of deflate.
    GZIP_RATIO_MAX = 1032

# A malloc'ed buffer that the codec grows; release it with free_bytes. Zero it before its first use. A buffer that was
# used before is overwritten and keeps its memory.
cdef struct Bytes:
    uint8_t* data
    size_t size
    size_t capacity

cdef void free_bytes(Bytes* bytes) noexcept nogil
cdef bint reserve_bytes(Bytes* bytes, size_t capacity) noexcept nogil
# Take a short-lived buffer from a bounded pool of already touched memory, and give it back.
cdef void take_scratch(Bytes* out) noexcept nogil
cdef void give_scratch(Bytes* bytes) noexcept nogil
cdef bint codec_is_available(int codec) noexcept nogil
cdef CodecStatus decompress(int codec, const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil
# `level` INT32_MIN means the codec's default level.
cdef CodecStatus compress(int codec, int32_t level, const uint8_t* data, size_t size, Bytes* out) noexcept nogil
