"""A checked reader over borrowed bytes. All native code reads received bytes with it.

The cursor never passes `end`. A read beyond it, a negative length where none is allowed, or a varint that is too long
sets `failed` and returns 0 (NULL for bytes). All later reads return 0 as well. So a parser may check once after a group
of reads, but must check before it uses a count or a length. All integers are big endian, as in Kafka.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef extern from "<endian.h>" nogil:
    uint64_t be64toh(uint64_t)
    uint32_t be32toh(uint32_t)

cdef struct Cursor:
    const uint8_t* position
    const uint8_t* end
    bint failed


cdef inline Cursor cursor_over(const uint8_t* start, size_t size) noexcept nogil:
    cdef Cursor cursor
    cursor.position = start
    cursor.end = start + size
    cursor.failed = False
    return cursor


cdef inline size_t remaining(const Cursor* cursor) noexcept nogil:
    return <size_t>(cursor.end - cursor.position)


cdef inline const uint8_t* take(Cursor* cursor, int64_t size) noexcept nogil:
    """The next `size` bytes; NULL, and `failed` is set, if there are fewer or `size` is negative."""
    cdef const uint8_t* start = cursor.position
    if cursor.failed or size < 0 or <uint64_t>size > <uint64_t>remaining(cursor):
        cursor.failed = True
        return NULL
    cursor.position += size
    return start


cdef inline int8_t read_int8(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* p = take(cursor, 1)
    return <int8_t>p[0] if p != NULL else <int8_t>0


cdef inline int16_t read_int16(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* p = take(cursor, 2)
    return <int16_t>((<int>p[0] << 8) | <int>p[1]) if p != NULL else <int16_t>0


cdef inline int32_t read_int32(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* p = take(cursor, 4)
    cdef uint32_t raw
    if p == NULL:
        return 0
    memcpy(&raw, p, 4)
    return <int32_t>be32toh(raw)


cdef inline int64_t read_int64(Cursor* cursor) noexcept nogil:
    cdef const uint8_t* p = take(cursor, 8)
    cdef uint64_t raw
    if p == NULL:
        return 0
    memcpy(&raw, p, 8)
    return <int64_t>be64toh(raw)


cdef inline uint32_t read_unsigned_varint(Cursor* cursor) noexcept nogil:
    """Reads at most five bytes and 32 bits. Fails for a longer or larger varint."""
    cdef uint32_t value = 0
    cdef int shift = 0
    cdef const uint8_t* p
    while shift < 35:
        p = take(cursor, 1)
        if p == NULL:
            return 0
        if shift == 28 and p[0] > 0x0F:
            break
        value |= <uint32_t>(p[0] & 0x7F) << shift
        if p[0] < 0x80:
            return value
        shift += 7
    cursor.failed = True
    return 0


cdef inline uint64_t read_unsigned_varlong(Cursor* cursor) noexcept nogil:
    """Reads at most ten bytes and 64 bits. Fails for a longer or larger varint."""
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef const uint8_t* p
    while shift < 70:
        p = take(cursor, 1)
        if p == NULL:
            return 0
        if shift == 63 and p[0] > 0x01:
            break
        value |= <uint64_t>(p[0] & 0x7F) << shift
        if p[0] < 0x80:
            return value
        shift += 7
    cursor.failed = True
    return 0


cdef inline int32_t read_varint(Cursor* cursor) noexcept nogil:
    """Reads a zigzag varint, as in records."""
    cdef uint32_t raw = read_unsigned_varint(cursor)
    return <int32_t>(raw >> 1) ^ -<int32_t>(raw & 1)


cdef inline int64_t read_varlong(Cursor* cursor) noexcept nogil:
    cdef uint64_t raw = read_unsigned_varlong(cursor)
    return <int64_t>(raw >> 1) ^ -<int64_t>(raw & 1)
