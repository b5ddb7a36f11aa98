"""An upper bound of a compressed payload's size, without decompressing it.

A few bytes can decompress to hundreds of megabytes, and a thread that serves many clients must not find out by
decompressing them. Frames of snappy, lz4 and zstd (RFC 8878) have block headers, which give or limit the size of each
block. Deflate has none: for a gzip payload with one member the size in the trailer (RFC 1952) is used, because
`decompress` refuses a payload that exceeds it. A payload that may have several members is limited by the ratio of the
format only.

A format that this module does not understand counts as large, unless `decompress` refuses it there. The cost is a few
instructions per block, that is, per tens of kilobytes of records. Concurrency: pure functions over borrowed bytes, read
through the checked cursor.
"""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp
from kcore.cursor cimport Cursor, cursor_over, read_int8, read_int32, remaining, take
from kcore.record.compression cimport CODEC_GZIP, CODEC_LZ4, CODEC_SNAPPY, CODEC_ZSTD, GZIP_RATIO_MAX

cdef extern from "snappy_block.h" nogil:
    size_t kcore_snappy_read_length(const uint8_t* data, size_t size, uint32_t* length)

cdef extern from "<string.h>" nogil:
    void* memmem(const void* haystack, size_t haystack_size, const void* needle, size_t needle_size)

cdef enum:
    GZIP_SMALLEST_MEMBER = 18
    GZIP_MAGIC_SIZE = 3
    XERIAL_HEADER_SIZE = 16
    XERIAL_MAGIC_SIZE = 8
    LZ4_HAS_DICTIONARY = 0x01
    LZ4_HAS_CONTENT_SIZE = 0x08
    LZ4_HAS_BLOCK_CHECKSUMS = 0x10
    LZ4_RATIO_MAX = 255
    ZSTD_SKIPPABLE_MASK = 0xFFFFFFF0
    ZSTD_BLOCK_BYTES_MAX = 131072
    ZSTD_RAW = 0
    ZSTD_RUN = 1
    ZSTD_RESERVED = 3

cdef uint32_t LZ4_MAGIC = 0x184D2204
cdef uint32_t LZ4_IS_UNCOMPRESSED = 0x80000000
cdef uint32_t ZSTD_MAGIC = 0xFD2FB528
cdef uint32_t ZSTD_SKIPPABLE_MAGIC = 0x184D2A50
cdef const uint8_t* GZIP_MAGIC = <const uint8_t*>b"\x1f\x8b\x08"
cdef const uint8_t* XERIAL_MAGIC = <const uint8_t*>b"\x82SNAPPY\x00"


cdef inline uint32_t read_little_uint32(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* p = take(cursor, 4)
    if p == NULL:
        return 0
    return <uint32_t>p[0] | (<uint32_t>p[1] << 8) | (<uint32_t>p[2] << 16) | (<uint32_t>p[3] << 24)


cdef inline uint32_t read_little_uint24(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* p = take(cursor, 3)
    if p == NULL:
        return 0
    return <uint32_t>p[0] | (<uint32_t>p[1] << 8) | (<uint32_t>p[2] << 16)


cdef bint may_have_members(const uint8_t* data, size_t size) noexcept nogil:
    if size < 2 * GZIP_SMALLEST_MEMBER:
        return False
    return memmem(data + GZIP_SMALLEST_MEMBER, size - GZIP_SMALLEST_MEMBER, GZIP_MAGIC, GZIP_MAGIC_SIZE) != NULL


cdef int64_t gzip_bound(const uint8_t* data, size_t size, int64_t enough) noexcept nogil:
    cdef int64_t most = <int64_t>size * GZIP_RATIO_MAX
    cdef Cursor trailer
    if most <= enough or size < GZIP_SMALLEST_MEMBER:
        return most
    trailer = cursor_over(data + size - 4, 4)
    return max(<int64_t>read_little_uint32(&trailer), most if may_have_members(data, size) else <int64_t>0)


cdef int64_t snappy_bound(const uint8_t* data, size_t size, int64_t enough) noexcept nogil:
    cdef Cursor cursor = cursor_over(data, size)
    cdef const uint8_t* block
    cdef uint32_t length = 0
    cdef int64_t total = 0
    cdef int32_t block_size
    if size < XERIAL_HEADER_SIZE or memcmp(data, XERIAL_MAGIC, XERIAL_MAGIC_SIZE) != 0:
        kcore_snappy_read_length(data, size, &length)
        return length
    while remaining(&cursor) > 0 and total <= enough:
        if (remaining(&cursor) >= XERIAL_HEADER_SIZE
                and memcmp(cursor.position, XERIAL_MAGIC, XERIAL_MAGIC_SIZE) == 0):
            take(&cursor, XERIAL_HEADER_SIZE)
            continue
        block_size = read_int32(&cursor)
        block = take(&cursor, block_size)
        if block == NULL or kcore_snappy_read_length(block, <size_t>block_size, &length) == 0:
            break
        total += length
    return total


cdef int64_t lz4_bound(const uint8_t* data, size_t size, int64_t enough) noexcept nogil:
    cdef Cursor cursor = cursor_over(data, size)
    cdef int64_t total = 0
    cdef int64_t block_max
    cdef uint32_t block, block_size
    cdef uint8_t flags
    if read_little_uint32(&cursor) != LZ4_MAGIC:
        return 0
    flags = <uint8_t>read_int8(&cursor)
    # Block size ids 4 to 7 mean 64 KiB, 256 KiB, 1 MiB and 4 MiB. Frames have no other ids.
    block_max = <int64_t>1 << (8 + 2 * ((<uint8_t>read_int8(&cursor) >> 4) & 7))
    take(&cursor, (8 if flags & LZ4_HAS_CONTENT_SIZE else 0) + (4 if flags & LZ4_HAS_DICTIONARY else 0) + 1)
    while total <= enough:
        block = read_little_uint32(&cursor)
        if block == 0:
            break
        block_size = block & ~LZ4_IS_UNCOMPRESSED
        # A truncated block is refused only at its end, so it counts.
        total += min(block_max, <int64_t>block_size * (1 if block & LZ4_IS_UNCOMPRESSED else LZ4_RATIO_MAX))
        take(&cursor, <int64_t>block_size + (4 if flags & LZ4_HAS_BLOCK_CHECKSUMS else 0))
    return total


cdef void skip_zstd_frame_header(Cursor* cursor, uint8_t descriptor) noexcept nogil:
    cdef bint single_segment = (descriptor >> 5) & 1
    cdef int dictionary_flag = descriptor & 3
    cdef int content_size_flag = descriptor >> 6
    cdef int64_t size = 0 if single_segment else 1
    size += 4 if dictionary_flag == 3 else dictionary_flag
    if content_size_flag == 0:
        size += 1 if single_segment else 0
    else:
        size += 1 << content_size_flag
    take(cursor, size)


cdef int64_t zstd_blocks_bound(Cursor* cursor, int64_t enough) noexcept nogil:
    cdef int64_t total = 0
    cdef uint32_t head = 0
    cdef uint32_t size
    cdef int kind
    while not head & 1 and total <= enough:
        head = read_little_uint24(cursor)
        kind = (head >> 1) & 3
        size = head >> 3
        if cursor.failed or kind == ZSTD_RESERVED:
            cursor.failed = True
            break
        total += ZSTD_BLOCK_BYTES_MAX if kind != ZSTD_RAW and kind != ZSTD_RUN else min(
            size, <uint32_t>ZSTD_BLOCK_BYTES_MAX)
        take(cursor, 1 if kind == ZSTD_RUN else <int64_t>size)
    return total


cdef int64_t zstd_bound(const uint8_t* data, size_t size, int64_t enough) noexcept nogil:
    cdef Cursor cursor = cursor_over(data, size)
    cdef int64_t total = 0
    cdef uint32_t magic
    cdef uint8_t descriptor
    while remaining(&cursor) >= 4 and not cursor.failed and total <= enough:
        magic = read_little_uint32(&cursor)
        if magic & ZSTD_SKIPPABLE_MASK == ZSTD_SKIPPABLE_MAGIC:
            take(&cursor, <int64_t>read_little_uint32(&cursor))
        elif magic == ZSTD_MAGIC:
            descriptor = <uint8_t>read_int8(&cursor)
            skip_zstd_frame_header(&cursor, descriptor)
            total += zstd_blocks_bound(&cursor, enough - total)
            if descriptor & 4:
                take(&cursor, 4)
        else:
            # A frame of a zstd release before 0.8, which the library may still read.
            return INT64_MAX
    return total


cdef int64_t decompressed_bound(int codec, const uint8_t* data, size_t size, int64_t enough) noexcept nogil:
    if codec == CODEC_GZIP:
        return gzip_bound(data, size, enough)
    if codec == CODEC_SNAPPY:
        return snappy_bound(data, size, enough)
    if codec == CODEC_LZ4:
        return lz4_bound(data, size, enough)
    if codec == CODEC_ZSTD:
        return zstd_bound(data, size, enough)
    return 0


def bound_of(int codec, bytes data not None, int64_t enough=INT64_MAX):
    """The upper bound of a payload, for tests that compare it with the decompressed size."""
    return decompressed_bound(codec, <const uint8_t*><const char*>data, <size_t>len(data), enough)
