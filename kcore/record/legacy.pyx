"""Message sets of magic 0 and 1, read only (KIP-31, KIP-32; LegacyRecord and AbstractLegacyRecordBatch).

    offset int64 | size int32 | crc uint32 (IEEE, from magic on) | magic int8 | attributes int8
    timestamp int64 (magic 1) | key length int32, key | value length int32, value

The value of a compressed message is a message set. In magic 1 the inner offsets are relative, and the outer message has
the offset of the last inner one; in magic 0 they are absolute. With LogAppendTime the outer timestamp applies to all
inner messages. lz4 frames in magic 0 have a header checksum over the wrong bytes (KAFKA-3160), which is corrected
before reading. Compressed messages inside compressed messages are refused, as in Kafka. Concurrency: pure functions,
which hold the GIL because old data is rare.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from kcore.cursor cimport Cursor, cursor_over, read_int8, read_int32, read_int64, remaining, take
from kcore.record.compression cimport CODEC_LZ4
from kcore.record.decoder cimport Record, make_record

from kcore import errors

cdef enum:
    CODEC_MASK = 0x07
    LOG_APPEND_TIME_MASK = 0x08
    # Magic 0 and 1 have gzip, snappy and lz4 only.
    LAST_CODEC = 3
    # The checksum covers the bytes after offset, size and crc.
    CHECKED_FROM = 16
    LZ4_FLAGS_POSITION = 4
    LZ4_CONTENT_SIZE = 0x08

cdef struct Message:
    int64_t offset
    uint32_t crc
    int8_t magic
    int8_t attributes
    int64_t timestamp
    const uint8_t* key
    int32_t key_size
    const uint8_t* value
    int32_t value_size


cdef bint read_message(Cursor* cursor, Message* out) noexcept:
    cdef Cursor body
    cdef const uint8_t* start
    cdef int32_t size
    out.offset = read_int64(cursor)
    size = read_int32(cursor)
    start = take(cursor, size)
    if start == NULL:
        return False
    body = cursor_over(start, <size_t>size)
    out.crc = <uint32_t>read_int32(&body)
    out.magic = read_int8(&body)
    out.attributes = read_int8(&body)
    out.timestamp = read_int64(&body) if out.magic == 1 else -1
    out.key_size = read_int32(&body)
    out.key = take(&body, out.key_size) if out.key_size >= 0 else NULL
    out.value_size = read_int32(&body)
    out.value = take(&body, out.value_size) if out.value_size >= 0 else NULL
    return not body.failed and 0 <= out.magic <= 1 and remaining(&body) == 0


cdef object bytes_or_none(const uint8_t* data, int32_t size):
    return None if size < 0 else PyBytes_FromStringAndSize(<const char*>data, size)


cdef uint32_t rotate(uint32_t value, int bits) noexcept:
    return (value << bits) | (value >> (32 - bits))


cdef uint32_t xxh32_of_short(const uint8_t* data, size_t size) noexcept:
    """xxHash32 with seed 0 of fewer than 16 bytes, which is enough for an lz4 frame header."""
    cdef uint32_t value = <uint32_t>(0x165667B1u + size)
    cdef uint32_t word
    while size >= 4:
        word = data[0] | (<uint32_t>data[1] << 8) | (<uint32_t>data[2] << 16) | (<uint32_t>data[3] << 24)
        value = rotate(value + word * 0xC2B2AE3Du, 17) * 0x27D4EB2Fu
        data += 4
        size -= 4
    while size > 0:
        value = rotate(value + data[0] * 0x165667B1u, 11) * 0x9E3779B1u
        data += 1
        size -= 1
    value = (value ^ (value >> 15)) * 0x85EBCA77u
    value = (value ^ (value >> 13)) * 0xC2B2AE3Du
    return value ^ (value >> 16)


def mended_lz4_frame(bytes frame):
    """The frame with the header checksum that the lz4 format requires."""
    cdef const uint8_t* data = <const uint8_t*><const char*>frame
    cdef size_t descriptor
    cdef uint8_t checksum
    if len(frame) <= LZ4_FLAGS_POSITION:
        return frame
    descriptor = 10 if data[LZ4_FLAGS_POSITION] & LZ4_CONTENT_SIZE else 2
    if <size_t>len(frame) <= LZ4_FLAGS_POSITION + descriptor:
        return frame
    checksum = <uint8_t>((xxh32_of_short(data + LZ4_FLAGS_POSITION, descriptor) >> 8) & 0xFF)
    position = LZ4_FLAGS_POSITION + descriptor
    return frame[:position] + bytes((checksum,)) + frame[position + 1:]


def has_valid_checksum(bytes message not None):
    """Whether a message, given with its offset and size, has a correct checksum."""
    from binascii import crc32

    cdef Cursor cursor = cursor_over(<const uint8_t*><const char*>message, <size_t>len(message))
    cdef Message out
    return bool(read_message(&cursor, &out)) and crc32(memoryview(message)[CHECKED_FROM:]) == out.crc


cdef list decode_inner(const Message* outer, bytes inner):
    cdef Cursor cursor = cursor_over(<const uint8_t*><const char*>inner, <size_t>len(inner))
    cdef Message message
    cdef Record record
    cdef list records = []
    cdef int64_t shift
    while remaining(&cursor) > 0:
        if not read_message(&cursor, &message) or message.magic != outer.magic or message.attributes & CODEC_MASK:
            raise errors.CorruptMessageError("a compressed message holds a malformed message")
        if outer.magic == 1 and outer.attributes & LOG_APPEND_TIME_MASK:
            message.timestamp = outer.timestamp
        records.append(make_record(message.offset, message.timestamp, bytes_or_none(message.key, message.key_size),
                                   bytes_or_none(message.value, message.value_size)))
    if not records:
        raise errors.CorruptMessageError("a compressed message holds no messages")
    if outer.magic == 1:
        shift = <int64_t>(<uint64_t>outer.offset - <uint64_t>message.offset)
        for record in records:
            record.offset = <int64_t>(<uint64_t>record.offset + <uint64_t>shift)
    return records


def decode_message(bytes message not None, size_t limit_bytes):
    """The records of one message: the message itself, or the ones compressed inside it."""
    cdef Cursor cursor = cursor_over(<const uint8_t*><const char*>message, <size_t>len(message))
    cdef Message outer
    cdef int codec
    if not read_message(&cursor, &outer):
        raise errors.CorruptMessageError("a message of an old format is malformed")
    codec = outer.attributes & CODEC_MASK
    if codec == 0:
        return [make_record(outer.offset, outer.timestamp, bytes_or_none(outer.key, outer.key_size),
                            bytes_or_none(outer.value, outer.value_size))]
    if outer.value == NULL or codec > LAST_CODEC:
        raise errors.CorruptMessageError("a compressed message has no value, or an unknown codec")
    from kcore.record.compression import decompress_bytes
    payload = PyBytes_FromStringAndSize(<const char*>outer.value, outer.value_size)
    if codec == CODEC_LZ4 and outer.magic == 0:
        payload = mended_lz4_frame(payload)
    return decode_inner(&outer, decompress_bytes(codec, payload, limit_bytes))
