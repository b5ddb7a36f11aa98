"""Writes Kafka's fields into a growing native buffer: numbers (big endian), strings, array sizes and tags, in plain and
compact form. kcore/protocol/fields.pxd reads them.

If memory is exhausted, `failed` is set and further writes are dropped. Check it once, at the end.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, strlen

cdef extern from "<endian.h>" nogil:
    uint64_t htobe64(uint64_t)
    uint32_t htobe32(uint32_t)

cdef enum:
    INITIAL_CAPACITY = 256

cdef struct Output:
    uint8_t* data
    size_t size
    size_t capacity
    bint failed


cdef inline bint output_reserve(Output* output, size_t size) noexcept nogil:
    """Reserves room for `size` more bytes, so that writing them does not move the buffer. Does not change its size."""
    cdef size_t wanted = output.size + size
    cdef size_t capacity
    cdef uint8_t* grown
    if output.failed or wanted <= output.capacity:
        return not output.failed
    capacity = max(wanted, max(<size_t>INITIAL_CAPACITY, 2 * output.capacity))
    grown = <uint8_t*>realloc(output.data, capacity)
    if grown == NULL:
        output.failed = True
        return False
    output.data = grown
    output.capacity = capacity
    return True


cdef inline uint8_t* output_room(Output* output, size_t size) noexcept nogil:
    """Appends room for `size` bytes and returns it; NULL if memory is exhausted."""
    if not output_reserve(output, size):
        return NULL
    output.size += size
    return output.data + (output.size - size)


cdef inline void output_free(Output* output) noexcept nogil:
    free(output.data)
    output.data = NULL
    output.size = output.capacity = 0


cdef inline void put_raw(Output* output, const void* data, size_t size) noexcept nogil:
    cdef uint8_t* target = output_room(output, size)
    if target != NULL and size > 0:
        memcpy(target, data, size)


cdef inline void put_int8(Output* output, int8_t value) noexcept nogil:
    put_raw(output, &value, 1)


cdef inline void put_int16(Output* output, int16_t value) noexcept nogil:
    cdef uint8_t* target = output_room(output, 2)
    if target != NULL:
        target[0] = <uint8_t>(value >> 8)
        target[1] = <uint8_t>value


cdef inline void put_int32(Output* output, int32_t value) noexcept nogil:
    cdef uint32_t raw = htobe32(<uint32_t>value)
    put_raw(output, &raw, 4)


cdef inline void put_int64(Output* output, int64_t value) noexcept nogil:
    cdef uint64_t raw = htobe64(<uint64_t>value)
    put_raw(output, &raw, 8)


cdef inline void put_unsigned_varint(Output* output, uint32_t value) noexcept nogil:
    while value >= 0x80:
        put_int8(output, <int8_t>(value | 0x80))
        value >>= 7
    put_int8(output, <int8_t>value)


cdef inline void put_array_size(Output* output, int32_t count, bint flexible) noexcept nogil:
    if flexible:
        put_unsigned_varint(output, <uint32_t>count + 1)
    else:
        put_int32(output, count)


cdef inline void put_string(Output* output, const uint8_t* text, int32_t size, bint flexible) noexcept nogil:
    """Writes a string; null if `size` is -1."""
    if flexible:
        put_unsigned_varint(output, <uint32_t>(size + 1))
    else:
        put_int16(output, <int16_t>size)
    if size > 0:
        put_raw(output, text, <size_t>size)


cdef inline void put_sentence(Output* output, const char* text, bint flexible) noexcept nogil:
    """Writes a C string; null for NULL."""
    put_string(output, <const uint8_t*>text, <int32_t>strlen(text) if text != NULL else -1, flexible)


cdef inline void put_no_tags(Output* output, bint flexible) noexcept nogil:
    if flexible:
        put_int8(output, 0)
