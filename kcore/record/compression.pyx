"""Kafka's codecs without the GIL: gzip, zstd and lz4 from the system's libraries, and a snappy implementation.

Formats: gzip members (RFC 1952); zstd frames (RFC 8878, KIP-110); lz4 frames with independent blocks, the only ones
that Kafka's readers accept; snappy as the Java client writes it, in xerial framing (a header of 16 bytes, then blocks
with a length of four bytes), or as one raw block, as other clients write it.

Bounds: the output is at most `limit_bytes`. Memory grows with the output; a size in a header is used only up to the
format's maximum ratio. Concurrency: stateless functions; contexts and scratch memory come from bounded lock-free pools.
A missing system library gives CODEC_UNAVAILABLE, never a crash: `kcore.record.codec_fallback` is the slow path.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, INT32_MIN, int32_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy
from kcore.cursor cimport Cursor, cursor_over, read_int32, remaining, take
from kcore.record.decompressed_bound cimport may_have_members

from kcore import errors

cdef extern from "codec_libraries.h" nogil:
    ctypedef struct kcore_zlib_stream:
        const uint8_t* next_in
        unsigned int avail_in
        uint8_t* next_out
        unsigned int avail_out
    ctypedef struct kcore_zlib:
        int (*inflate_init)(kcore_zlib_stream*, int, const char*, int) noexcept nogil
        int (*inflate)(kcore_zlib_stream*, int) noexcept nogil
        int (*inflate_reset)(kcore_zlib_stream*) noexcept nogil
        int (*inflate_end)(kcore_zlib_stream*) noexcept nogil
        int (*deflate_init)(kcore_zlib_stream*, int, int, int, int, int, const char*, int) noexcept nogil
        int (*deflate)(kcore_zlib_stream*, int) noexcept nogil
        int (*deflate_end)(kcore_zlib_stream*) noexcept nogil
        unsigned long (*deflate_bound)(kcore_zlib_stream*, unsigned long) noexcept nogil
    ctypedef struct kcore_zstd_input:
        const void* source
        size_t size
        size_t position
    ctypedef struct kcore_zstd_output:
        void* target
        size_t size
        size_t position
    ctypedef struct kcore_zstd:
        void* (*create_dctx)() noexcept nogil
        size_t (*free_dctx)(void*) noexcept nogil
        size_t (*size_of_dctx)(const void*) noexcept nogil
        size_t (*init_dstream)(void*) noexcept nogil
        size_t (*decompress_stream)(void*, kcore_zstd_output*, kcore_zstd_input*) noexcept nogil
        unsigned long long (*frame_content_size)(const void*, size_t) noexcept nogil
        void* (*create_cctx)() noexcept nogil
        size_t (*free_cctx)(void*) noexcept nogil
        size_t (*compress_cctx)(void*, void*, size_t, const void*, size_t, int) noexcept nogil
        size_t (*compress_bound)(size_t) noexcept nogil
        unsigned int (*is_error)(size_t) noexcept nogil
    ctypedef struct kcore_lz4_preferences:
        int block_size_id
        int block_mode
        int compression_level
    ctypedef struct kcore_lz4:
        size_t (*create_dctx)(void**, unsigned int) noexcept nogil
        size_t (*free_dctx)(void*) noexcept nogil
        void (*reset_dctx)(void*) noexcept nogil
        size_t (*decompress)(void*, void*, size_t*, const void*, size_t*, const void*) noexcept nogil
        size_t (*compress_frame)(void*, size_t, const void*, size_t, const kcore_lz4_preferences*) noexcept nogil
        size_t (*compress_frame_bound)(size_t, const kcore_lz4_preferences*) noexcept nogil
        unsigned int (*is_error)(size_t) noexcept nogil
    const kcore_zlib* kcore_get_zlib()
    const kcore_zstd* kcore_get_zstd()
    const kcore_lz4* kcore_get_lz4()

cdef extern from "context_pool.h" nogil:
    ctypedef struct kcore_context_pool:
        pass
    void* kcore_context_pool_take(kcore_context_pool* pool)
    bint kcore_context_pool_put(kcore_context_pool* pool, void* context)

cdef extern from "snappy_block.h" nogil:
    enum:
        KCORE_SNAPPY_HASH_BITS
    size_t kcore_snappy_read_length(const uint8_t* data, size_t size, uint32_t* length)
    bint kcore_snappy_decode(const uint8_t* data, size_t size, uint8_t* out, size_t length)
    size_t kcore_snappy_bound(size_t size)
    size_t kcore_snappy_encode(const uint8_t* data, uint32_t size, uint16_t* positions, uint8_t* out)

cdef enum:
    ZLIB_OK = 0
    ZLIB_STREAM_END = 1
    ZLIB_MEMORY_ERROR = -4
    ZLIB_BUFFER_ERROR = -5
    ZLIB_FINISH = 4
    ZLIB_DEFLATED = 8
    ZLIB_GZIP_WINDOW = 31             # a window of 15 bits, plus 16 for the gzip wrapper
    ZLIB_MEMORY_LEVEL = 8

    LZ4_FRAME_API = 100
    LZ4_FLAGS_POSITION = 4
    LZ4_BLOCK_INDEPENDENCE = 0x20
    LZ4_BLOCKS_OF_64_KIB = 4
    LZ4_BLOCKS_OF_256_KIB = 5
    # In Kafka this level means "the fast compressor" (`compression.lz4.level`); in liblz4 it is a high compression
    # level.
    LZ4_KAFKA_DEFAULT_LEVEL = 9
    LZ4_HIGH_LEVEL_MIN = 3
    LZ4_HIGH_LEVEL_MAX = 12

    ZSTD_DEFAULT_LEVEL = 3
    ZSTD_POOLED_CONTEXT_BYTES = 4194304

    SNAPPY_FRAME_BLOCK_BYTES = 32768
    XERIAL_HEADER_SIZE = 16
    XERIAL_MAGIC_SIZE = 8

    # The maximum ratio of snappy: a copy of 64 bytes takes three bytes.
    SNAPPY_RATIO_MAX = 22

    FIRST_CAPACITY_BYTES = 4096
    POOLED_SCRATCH_BYTES = 2097152

DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024

cdef const char* ZLIB_VERSION = "1.2.8"
cdef const uint8_t* XERIAL_HEADER = <const uint8_t*>b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

cdef kcore_context_pool inflaters
cdef kcore_context_pool zstd_decoders
cdef kcore_context_pool zstd_encoders
cdef kcore_context_pool lz4_decoders
cdef kcore_context_pool snappy_positions
cdef kcore_context_pool scratches


# --- buffers ---------------------------------------------------------------------------------------------------------


cdef void free_bytes(Bytes* bytes) noexcept nogil:
    free(bytes.data)
    bytes.data = NULL
    bytes.size = 0
    bytes.capacity = 0


cdef bint reserve_bytes(Bytes* bytes, size_t capacity) noexcept nogil:
    cdef uint8_t* data
    if capacity <= bytes.capacity:
        return True
    data = <uint8_t*>realloc(bytes.data, capacity)
    if data == NULL:
        return False
    bytes.data = data
    bytes.capacity = capacity
    return True


cdef CodecStatus make_room(Bytes* out, size_t limit_bytes) noexcept nogil:
    """Grows a full buffer, at most to one byte above the limit: if that byte is used, the output is too large."""
    cdef size_t capacity
    if out.size < out.capacity:
        return CODEC_OK
    if out.capacity > limit_bytes:
        return CODEC_TOO_LARGE
    capacity = out.capacity * 2 if out.capacity >= FIRST_CAPACITY_BYTES else <size_t>FIRST_CAPACITY_BYTES
    if capacity > limit_bytes + 1:
        capacity = limit_bytes + 1
    return CODEC_OK if reserve_bytes(out, capacity) else CODEC_NO_MEMORY


cdef CodecStatus make_first_room(Bytes* out, size_t expected, size_t limit_bytes) noexcept nogil:
    if expected > limit_bytes:
        expected = limit_bytes
    return CODEC_OK if reserve_bytes(out, expected + 1) else CODEC_NO_MEMORY


cdef void take_scratch(Bytes* out) noexcept nogil:
    """Takes an empty buffer from the pool, or one without memory. A pooled block starts with its capacity."""
    out.data = <uint8_t*>kcore_context_pool_take(&scratches)
    out.size = 0
    out.capacity = 0
    if out.data != NULL:
        memcpy(&out.capacity, out.data, sizeof(size_t))


cdef void give_scratch(Bytes* bytes) noexcept nogil:
    if FIRST_CAPACITY_BYTES <= bytes.capacity <= POOLED_SCRATCH_BYTES:
        memcpy(bytes.data, &bytes.capacity, sizeof(size_t))
        if kcore_context_pool_put(&scratches, bytes.data):
            bytes.data = NULL
    free_bytes(bytes)


# --- gzip ------------------------------------------------------------------------------------------------------------


cdef size_t claimed_gzip_size(const uint8_t* data, size_t size) noexcept nogil:
    """The uncompressed size in the last member's trailer."""
    if size < 18:
        return 0
    data += size - 4
    return <size_t>data[0] | (<size_t>data[1] << 8) | (<size_t>data[2] << 16) | (<size_t>data[3] << 24)


cdef CodecStatus inflate_members(const kcore_zlib* zlib, kcore_zlib_stream* stream, const uint8_t* data, size_t size,
                                 size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef CodecStatus status
    cdef int answer
    cdef size_t room
    stream.next_in = data
    stream.avail_in = <unsigned int>size
    while True:
        status = make_room(out, limit_bytes)
        if status != CODEC_OK:
            return status
        room = out.capacity - out.size
        stream.next_out = out.data + out.size
        stream.avail_out = <unsigned int>room
        answer = zlib.inflate(stream, 0)
        out.size += room - stream.avail_out
        if answer == ZLIB_STREAM_END:
            if stream.avail_in == 0:
                return CODEC_OK if out.size <= limit_bytes else CODEC_TOO_LARGE
            zlib.inflate_reset(stream)
        elif answer == ZLIB_MEMORY_ERROR:
            return CODEC_NO_MEMORY
        elif answer != ZLIB_OK and answer != ZLIB_BUFFER_ERROR:
            return CODEC_CORRUPT
        elif stream.avail_in == 0 and stream.avail_out > 0:
            return CODEC_CORRUPT      # cut short


cdef CodecStatus decompress_gzip(const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef const kcore_zlib* zlib = kcore_get_zlib()
    cdef kcore_zlib_stream* stream
    cdef CodecStatus status
    cdef size_t claimed = claimed_gzip_size(data, size)
    # A single member that exceeds the size in its trailer is corrupt (see decompressed_bound.pyx).
    cdef bint is_bounded = claimed < limit_bytes and not may_have_members(data, size)
    if zlib == NULL:
        return CODEC_UNAVAILABLE
    status = make_first_room(out, claimed if claimed <= size * GZIP_RATIO_MAX else size * 4, limit_bytes)
    if status != CODEC_OK:
        return status
    stream = <kcore_zlib_stream*>kcore_context_pool_take(&inflaters)
    if stream == NULL:
        stream = <kcore_zlib_stream*>calloc(1, sizeof(kcore_zlib_stream))
        if stream == NULL:
            return CODEC_NO_MEMORY
        if zlib.inflate_init(stream, ZLIB_GZIP_WINDOW, ZLIB_VERSION, sizeof(kcore_zlib_stream)) != ZLIB_OK:
            free(stream)
            return CODEC_NO_MEMORY
    status = inflate_members(zlib, stream, data, size, claimed if is_bounded else limit_bytes, out)
    if is_bounded and status == CODEC_TOO_LARGE:
        status = CODEC_CORRUPT
    zlib.inflate_reset(stream)
    if not kcore_context_pool_put(&inflaters, stream):
        zlib.inflate_end(stream)
        free(stream)
    return status


cdef CodecStatus compress_gzip(int32_t level, const uint8_t* data, size_t size, Bytes* out) noexcept nogil:
    cdef const kcore_zlib* zlib = kcore_get_zlib()
    cdef kcore_zlib_stream* stream
    cdef CodecStatus status = CODEC_NO_MEMORY
    if zlib == NULL:
        return CODEC_UNAVAILABLE
    stream = <kcore_zlib_stream*>calloc(1, sizeof(kcore_zlib_stream))
    if stream == NULL:
        return CODEC_NO_MEMORY
    if level < 1 or level > 9:
        level = -1
    if zlib.deflate_init(stream, level, ZLIB_DEFLATED, ZLIB_GZIP_WINDOW, ZLIB_MEMORY_LEVEL, 0, ZLIB_VERSION,
                         sizeof(kcore_zlib_stream)) == ZLIB_OK:
        if reserve_bytes(out, zlib.deflate_bound(stream, size)):
            stream.next_in = data
            stream.avail_in = <unsigned int>size
            stream.next_out = out.data
            stream.avail_out = <unsigned int>out.capacity
            if zlib.deflate(stream, ZLIB_FINISH) == ZLIB_STREAM_END:
                out.size = out.capacity - stream.avail_out
                status = CODEC_OK
        zlib.deflate_end(stream)
    free(stream)
    return status


# --- zstd ------------------------------------------------------------------------------------------------------------


cdef CodecStatus decompress_zstd_frames(const kcore_zstd* zstd, void* context, const uint8_t* data, size_t size,
                                        size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef kcore_zstd_input source
    cdef kcore_zstd_output target
    cdef CodecStatus status
    cdef size_t answer
    source.source = data
    source.size = size
    source.position = 0
    zstd.init_dstream(context)
    while True:
        status = make_room(out, limit_bytes)
        if status != CODEC_OK:
            return status
        target.target = out.data
        target.size = out.capacity
        target.position = out.size
        answer = zstd.decompress_stream(context, &target, &source)
        out.size = target.position
        if zstd.is_error(answer):
            return CODEC_CORRUPT
        if source.position == source.size:
            if answer == 0:
                return CODEC_OK if out.size <= limit_bytes else CODEC_TOO_LARGE
            if target.position < target.size:
                return CODEC_CORRUPT      # cut short


cdef CodecStatus decompress_zstd(const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef const kcore_zstd* zstd = kcore_get_zstd()
    cdef unsigned long long claimed
    cdef void* context
    cdef CodecStatus status
    if zstd == NULL:
        return CODEC_UNAVAILABLE
    claimed = zstd.frame_content_size(data, size)
    if claimed > <unsigned long long>limit_bytes or claimed > <unsigned long long>size * GZIP_RATIO_MAX:
        claimed = <unsigned long long>size * 4       # unknown, malformed or implausible: let it grow
    status = make_first_room(out, <size_t>claimed, limit_bytes)
    if status != CODEC_OK:
        return status
    context = kcore_context_pool_take(&zstd_decoders)
    if context == NULL:
        context = zstd.create_dctx()
        if context == NULL:
            return CODEC_NO_MEMORY
    status = decompress_zstd_frames(zstd, context, data, size, limit_bytes, out)
    # A frame may require a window of 128 MiB. Do not keep such a context.
    if zstd.size_of_dctx(context) > ZSTD_POOLED_CONTEXT_BYTES or not kcore_context_pool_put(&zstd_decoders, context):
        zstd.free_dctx(context)
    return status


cdef CodecStatus compress_zstd(int32_t level, const uint8_t* data, size_t size, Bytes* out) noexcept nogil:
    cdef const kcore_zstd* zstd = kcore_get_zstd()
    cdef void* context
    cdef size_t written
    if zstd == NULL:
        return CODEC_UNAVAILABLE
    if not reserve_bytes(out, zstd.compress_bound(size)):
        return CODEC_NO_MEMORY
    context = kcore_context_pool_take(&zstd_encoders)
    if context == NULL:
        context = zstd.create_cctx()
        if context == NULL:
            return CODEC_NO_MEMORY
    written = zstd.compress_cctx(context, out.data, out.capacity, data, size,
                                 ZSTD_DEFAULT_LEVEL if level == INT32_MIN else level)
    if not kcore_context_pool_put(&zstd_encoders, context):
        zstd.free_cctx(context)
    if zstd.is_error(written):
        return CODEC_NO_MEMORY
    out.size = written
    return CODEC_OK


# --- lz4 -------------------------------------------------------------------------------------------------------------


cdef CodecStatus decompress_lz4_frame(const kcore_lz4* lz4, void* context, const uint8_t* data, size_t size,
                                      size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef CodecStatus status
    cdef size_t done = 0
    cdef size_t consumed
    cdef size_t produced
    cdef size_t answer
    while True:
        status = make_room(out, limit_bytes)
        if status != CODEC_OK:
            return status
        consumed = size - done
        produced = out.capacity - out.size
        answer = lz4.decompress(context, out.data + out.size, &produced, data + done, &consumed, NULL)
        if lz4.is_error(answer):
            return CODEC_CORRUPT
        done += consumed
        out.size += produced
        if answer == 0:
            if done < size:
                return CODEC_CORRUPT      # Kafka's readers stop after one frame, so the rest would be lost
            return CODEC_OK if out.size <= limit_bytes else CODEC_TOO_LARGE
        if done == size and out.size < out.capacity:
            return CODEC_CORRUPT          # cut short


cdef CodecStatus decompress_lz4(const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef const kcore_lz4* lz4 = kcore_get_lz4()
    cdef void* context
    cdef CodecStatus status
    cdef int block_size_id
    if lz4 == NULL:
        return CODEC_UNAVAILABLE
    # KafkaLZ4BlockInputStream refuses linked blocks: if stored, they would stop every Java consumer.
    if size < LZ4_FLAGS_POSITION + 2 or not data[LZ4_FLAGS_POSITION] & LZ4_BLOCK_INDEPENDENCE:
        return CODEC_CORRUPT
    status = make_first_room(out, size * 4, limit_bytes)
    if status != CODEC_OK:
        return status
    context = kcore_context_pool_take(&lz4_decoders)
    if context == NULL and lz4.is_error(lz4.create_dctx(&context, LZ4_FRAME_API)):
        return CODEC_NO_MEMORY
    status = decompress_lz4_frame(lz4, context, data, size, limit_bytes, out)
    lz4.reset_dctx(context)
    # A context holds buffers of the block size, so contexts for blocks of 1 and 4 MiB are not kept. Neither is the
    # context of a frame that was not read to its end: liblz4 1.9 does not reset the count of missing content, and the
    # next frame would be refused.
    block_size_id = (data[LZ4_FLAGS_POSITION + 1] >> 4) & 7
    if (status != CODEC_OK or block_size_id > LZ4_BLOCKS_OF_256_KIB
            or not kcore_context_pool_put(&lz4_decoders, context)):
        lz4.free_dctx(context)
    return status


cdef CodecStatus compress_lz4(int32_t level, const uint8_t* data, size_t size, Bytes* out) noexcept nogil:
    cdef const kcore_lz4* lz4 = kcore_get_lz4()
    cdef kcore_lz4_preferences* preferences
    cdef size_t written
    if lz4 == NULL:
        return CODEC_UNAVAILABLE
    preferences = <kcore_lz4_preferences*>calloc(1, sizeof(kcore_lz4_preferences))
    if preferences == NULL:
        return CODEC_NO_MEMORY
    preferences.block_size_id = LZ4_BLOCKS_OF_64_KIB
    preferences.block_mode = 1            # independent
    if level != INT32_MIN and level != 0 and level != LZ4_KAFKA_DEFAULT_LEVEL:
        preferences.compression_level = min(max(level, <int32_t>LZ4_HIGH_LEVEL_MIN), <int32_t>LZ4_HIGH_LEVEL_MAX)
    if not reserve_bytes(out, lz4.compress_frame_bound(size, preferences)):
        free(preferences)
        return CODEC_NO_MEMORY
    written = lz4.compress_frame(out.data, out.capacity, data, size, preferences)
    free(preferences)
    if lz4.is_error(written):
        return CODEC_NO_MEMORY
    out.size = written
    return CODEC_OK


# --- snappy ----------------------------------------------------------------------------------------------------------


cdef CodecStatus append_snappy_block(const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef uint32_t length = 0
    cdef size_t head = kcore_snappy_read_length(data, size, &length)
    if head == 0 or length > size * SNAPPY_RATIO_MAX:
        return CODEC_CORRUPT
    if length > limit_bytes - out.size:
        return CODEC_TOO_LARGE
    if out.capacity - out.size < length and not reserve_bytes(out, max(out.size + length, out.capacity * 2)):
        return CODEC_NO_MEMORY
    if not kcore_snappy_decode(data + head, size - head, out.data + out.size, length):
        return CODEC_CORRUPT
    out.size += length
    return CODEC_OK


cdef CodecStatus decompress_snappy(const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil:
    cdef Cursor cursor = cursor_over(data, size)
    cdef const uint8_t* block
    cdef CodecStatus status
    cdef int32_t block_size
    if size < XERIAL_HEADER_SIZE or memcmp(data, XERIAL_HEADER, XERIAL_MAGIC_SIZE) != 0:
        return append_snappy_block(data, size, limit_bytes, out)
    status = make_first_room(out, size * 2, limit_bytes)
    if status != CODEC_OK:
        return status
    while remaining(&cursor) > 0:
        # Streams may be concatenated: SnappyInputStream skips a header wherever a block could begin.
        if remaining(&cursor) >= XERIAL_HEADER_SIZE and memcmp(cursor.position, XERIAL_HEADER, XERIAL_MAGIC_SIZE) == 0:
            take(&cursor, XERIAL_HEADER_SIZE)
            continue
        block_size = read_int32(&cursor)
        block = take(&cursor, block_size)
        if block == NULL:
            return CODEC_CORRUPT
        status = append_snappy_block(block, <size_t>block_size, limit_bytes, out)
        if status != CODEC_OK:
            return status
    return CODEC_OK


cdef CodecStatus compress_snappy(const uint8_t* data, size_t size, Bytes* out) noexcept nogil:
    cdef size_t blocks = size // SNAPPY_FRAME_BLOCK_BYTES + 1
    cdef size_t done = 0
    cdef size_t part, written
    cdef uint16_t* positions
    if not reserve_bytes(out, XERIAL_HEADER_SIZE + blocks * (4 + kcore_snappy_bound(SNAPPY_FRAME_BLOCK_BYTES))):
        return CODEC_NO_MEMORY
    positions = <uint16_t*>kcore_context_pool_take(&snappy_positions)
    if positions == NULL:
        positions = <uint16_t*>malloc(sizeof(uint16_t) << KCORE_SNAPPY_HASH_BITS)
        if positions == NULL:
            return CODEC_NO_MEMORY
    memcpy(out.data, XERIAL_HEADER, XERIAL_HEADER_SIZE)
    out.size = XERIAL_HEADER_SIZE
    while done < size:
        part = min(size - done, <size_t>SNAPPY_FRAME_BLOCK_BYTES)
        written = kcore_snappy_encode(data + done, <uint32_t>part, positions, out.data + out.size + 4)
        out.data[out.size] = <uint8_t>(written >> 24)
        out.data[out.size + 1] = <uint8_t>(written >> 16)
        out.data[out.size + 2] = <uint8_t>(written >> 8)
        out.data[out.size + 3] = <uint8_t>written
        out.size += 4 + written
        done += part
    if not kcore_context_pool_put(&snappy_positions, positions):
        free(positions)
    return CODEC_OK


# --- the interface ---------------------------------------------------------------------------------------------------


cdef bint codec_is_available(int codec) noexcept nogil:
    if codec == CODEC_GZIP:
        return kcore_get_zlib() != NULL
    if codec == CODEC_LZ4:
        return kcore_get_lz4() != NULL
    if codec == CODEC_ZSTD:
        return kcore_get_zstd() != NULL
    return codec == CODEC_NONE or codec == CODEC_SNAPPY


cdef CodecStatus decompress(int codec, const uint8_t* data, size_t size, size_t limit_bytes, Bytes* out) noexcept nogil:
    out.size = 0
    if size > INT32_MAX:
        return CODEC_TOO_LARGE
    if limit_bytes > INT32_MAX:
        limit_bytes = INT32_MAX
    if size == 0:
        return CODEC_CORRUPT
    if codec == CODEC_GZIP:
        return decompress_gzip(data, size, limit_bytes, out)
    if codec == CODEC_SNAPPY:
        return decompress_snappy(data, size, limit_bytes, out)
    if codec == CODEC_LZ4:
        return decompress_lz4(data, size, limit_bytes, out)
    if codec == CODEC_ZSTD:
        return decompress_zstd(data, size, limit_bytes, out)
    return CODEC_UNAVAILABLE


cdef CodecStatus compress(int codec, int32_t level, const uint8_t* data, size_t size, Bytes* out) noexcept nogil:
    out.size = 0
    if size > INT32_MAX:
        return CODEC_TOO_LARGE
    if codec == CODEC_GZIP:
        return compress_gzip(level, data, size, out)
    if codec == CODEC_SNAPPY:
        return compress_snappy(data, size, out)
    if codec == CODEC_LZ4:
        return compress_lz4(level, data, size, out)
    if codec == CODEC_ZSTD:
        return compress_zstd(level, data, size, out)
    return CODEC_UNAVAILABLE


# --- Python interface ------------------------------------------------------------------------------------------------

NAMES = ("none", "gzip", "snappy", "lz4", "zstd")


cdef object taken_or_raised(CodecStatus status, int codec, Bytes* out):
    try:
        if status == CODEC_OK:
            return out.data[:out.size]
        if status == CODEC_CORRUPT:
            raise errors.CorruptMessageError(f"malformed {NAMES[codec]} data")
        if status == CODEC_TOO_LARGE:
            raise errors.MessageTooLargeError(f"the {NAMES[codec]} data holds more than the limit")
        if status == CODEC_UNAVAILABLE:
            raise errors.UnsupportedCompressionTypeError(f"this system has no library for codec {codec}")
        raise MemoryError
    finally:
        free_bytes(out)


def is_available(int codec):
    """Whether a codec (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd) is available natively."""
    return bool(codec_is_available(codec))


def compress_bytes(int codec, data, level=None):
    """Compresses `data` to the payload of a batch. `level` None means the codec's default in Kafka."""
    cdef Bytes out
    cdef Py_buffer view
    cdef int32_t native_level = INT32_MIN if level is None else level
    cdef CodecStatus status
    out.data = NULL
    out.size = out.capacity = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        status = compress(codec, native_level, <const uint8_t*>view.buf, <size_t>view.len, &out)
    PyBuffer_Release(&view)
    return taken_or_raised(status, codec, &out)


def decompress_bytes(int codec, data, size_t limit_bytes=DEFAULT_LIMIT_BYTES):
    """Decompresses the payload of a batch, at most to `limit_bytes`."""
    cdef Bytes out
    cdef Py_buffer view
    cdef CodecStatus status
    out.data = NULL
    out.size = out.capacity = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    with nogil:
        status = decompress(codec, <const uint8_t*>view.buf, <size_t>view.len, limit_bytes, &out)
    PyBuffer_Release(&view)
    return taken_or_raised(status, codec, &out)
