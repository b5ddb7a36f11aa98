"""Kafka's lengths and tagged fields, in their plain and their compact form, through the checked cursor."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from kcore.cursor cimport Cursor, read_int16, read_int32, read_unsigned_varint, remaining, take


cdef inline int64_t read_length(Cursor* cursor, bint flexible, bint is_string) noexcept nogil:
    """The length of a string or of bytes; -1 is null, and anything below that fails."""
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
    """A string borrowed from the cursor, NULL (and size 0) when it is null."""
    cdef int64_t length = read_length(cursor, flexible, True)
    size[0] = 0
    if length < 0:
        return NULL
    if length > 0x7FFF:
        cursor.failed = True
        return NULL
    size[0] = <int32_t>length
    return take(cursor, length)


cdef inline int32_t read_array_size(Cursor* cursor, bint flexible, size_t smallest_element) noexcept nogil:
    """How many elements follow. More than could stand in what is left fails before anything is allocated."""
    cdef int64_t count
    if flexible:
        count = <int64_t>read_unsigned_varint(cursor) - 1
    else:
        count = read_int32(cursor)
    if cursor.failed or count < 0 or <size_t>count > remaining(cursor) // smallest_element:
        cursor.failed = True
        return 0
    return <int32_t>count


cdef inline void skip_tags(Cursor* cursor, bint flexible) noexcept nogil:
    cdef uint32_t count
    if not flexible:
        return
    count = read_unsigned_varint(cursor)
    while count > 0 and not cursor.failed:
        read_unsigned_varint(cursor)
        take(cursor, read_unsigned_varint(cursor))
        count -= 1
