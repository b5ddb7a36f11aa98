"""A growing byte buffer for writing, the counterpart of cursor.pxd. All integers are big endian.

Only `reserve` grows the buffer, and every write uses it. The owner of a Writer frees `data`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcpy

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)
    uint32_t htobe32(uint32_t)

cdef enum:
    INITIAL_CAPACITY = 256

cdef struct Writer:
    uint8_t* data
    size_t size
    size_t capacity


cdef inline uint8_t* reserve(Writer* writer, size_t size) except NULL:
    """Appends room for `size` bytes and returns it. The pointer is valid until the next call."""
    cdef size_t capacity = writer.capacity
    cdef uint8_t* start
    if capacity - writer.size < size:
        capacity = max(<size_t>INITIAL_CAPACITY, capacity * 2, writer.size + size)
        start = <uint8_t*>realloc(writer.data, capacity)
        if start == NULL:
            raise MemoryError
        writer.data = start
        writer.capacity = capacity
    start = writer.data + writer.size
    writer.size += size
    return start


cdef inline int write_int8(Writer* writer, int64_t value) except -1:
    reserve(writer, 1)[0] = <uint8_t>value
    return 0


cdef inline int write_int16(Writer* writer, int64_t value) except -1:
    cdef uint8_t* start = reserve(writer, 2)
    start[0] = <uint8_t>(value >> 8)
    start[1] = <uint8_t>value
    return 0


cdef inline int write_int32(Writer* writer, int64_t value) except -1:
    cdef uint32_t raw = htobe32(<uint32_t>value)
    memcpy(reserve(writer, 4), &raw, 4)
    return 0


cdef inline int write_int64(Writer* writer, int64_t value) except -1:
    cdef uint64_t raw = htobe64(<uint64_t>value)
    memcpy(reserve(writer, 8), &raw, 8)
    return 0


cdef inline int write_unsigned_varint(Writer* writer, uint32_t value) except -1:
    while value >= 0x80:
        reserve(writer, 1)[0] = <uint8_t>(value | 0x80)
        value >>= 7
    reserve(writer, 1)[0] = <uint8_t>value
    return 0


cdef inline int write_bytes(Writer* writer, const void* bytes, size_t size) except -1:
    if size:
        memcpy(reserve(writer, size), bytes, size)
    return 0
