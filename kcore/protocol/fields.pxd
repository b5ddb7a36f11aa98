"""Reads Kafka's lengths, strings and tagged fields in native code, in plain and compact form, with the checked cursor.
kcore/protocol/output.pxd writes them.

The rules are those of kcore/protocol/decoder.pyx; text that is not UTF-8 is refused too. Strings and bytes are borrowed
from the cursor. Null is NULL with size -1. A field that cannot be read gives the same, and sets `cursor.failed`.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t

from kcore.cursor cimport Cursor, cursor_over, read_int16, read_int32, read_unsigned_varint, remaining, take
from kcore.protocol.utf8 cimport is_utf8

cdef enum:
    STRING_SIZE_MAX = 0x7FFF


cdef inline int64_t read_length(Cursor* cursor, bint flexible, bint is_string) noexcept nogil:
    """Reads the length of a string or of bytes. -1 is null; smaller lengths fail."""
    cdef int64_t size
    if flexible:
        size = <int64_t>read_unsigned_varint(cursor) - 1
    elif is_string:
        size = read_int16(cursor)
    else:
        size = read_int32(cursor)
    if size < -1:
        cursor.failed = True
    return size if not cursor.failed else -1


cdef inline const uint8_t* read_string(Cursor* cursor, bint flexible, int32_t* size) noexcept nogil:
    """Reads a string's bytes and sets `size`."""
    cdef int64_t length = read_length(cursor, flexible, True)
    cdef const uint8_t* text
    size[0] = -1
    if length < 0:
        return NULL
    text = take(cursor, length) if length <= STRING_SIZE_MAX else NULL
    if text == NULL or not is_utf8(text, <size_t>length):
        cursor.failed = True
        return NULL
    size[0] = <int32_t>length
    return text


cdef inline const uint8_t* read_bytes(Cursor* cursor, bint flexible, int32_t* size) noexcept nogil:
    cdef int64_t length = read_length(cursor, flexible, False)
    cdef const uint8_t* data = NULL
    size[0] = -1
    if length > INT32_MAX:
        cursor.failed = True
    elif length >= 0:
        data = take(cursor, length)
    if data != NULL:
        size[0] = <int32_t>length
    return data


cdef inline int32_t read_nullable_array_size(Cursor* cursor, bint flexible, size_t smallest_element) noexcept nogil:
    """Reads the number of elements; -1 for null. Fails if the remaining bytes cannot hold them."""
    cdef int64_t count = <int64_t>read_unsigned_varint(cursor) - 1 if flexible else read_int32(cursor)
    if not cursor.failed and count == -1:
        return -1
    if cursor.failed or count < 0 or <size_t>count > remaining(cursor) // smallest_element:
        cursor.failed = True
        return 0
    return <int32_t>count


cdef inline int32_t read_array_size(Cursor* cursor, bint flexible, size_t smallest_element) noexcept nogil:
    """Does the same; null fails."""
    cdef int32_t count = read_nullable_array_size(cursor, flexible, smallest_element)
    if count < 0:
        cursor.failed = True
        return 0
    return count


cdef inline void skip_tags(Cursor* cursor, bint flexible) noexcept nogil:
    cdef uint32_t count = read_unsigned_varint(cursor) if flexible else 0
    while count > 0 and not cursor.failed:
        read_unsigned_varint(cursor)
        take(cursor, read_unsigned_varint(cursor))
        count -= 1


cdef inline Cursor read_tagged_field(Cursor* cursor) noexcept nogil:
    """A cursor over a tagged field, whose tag has been read. The value has to fill it."""
    cdef uint32_t size = read_unsigned_varint(cursor)
    cdef const uint8_t* data = take(cursor, size)
    return cursor_over(data, size if data != NULL else 0)
