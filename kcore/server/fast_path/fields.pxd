"""Kafka's lengths, strings and tagged fields, in their plain and their compact form, through the checked cursor.

What is refused here is what kcore/protocol/decoder.pyx refuses: text that is not UTF-8 too.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from kcore.cursor cimport Cursor, cursor_over, read_int16, read_int32, read_unsigned_varint, remaining, take


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


cdef inline size_t utf8_sequence(const uint8_t* text, size_t size) noexcept nogil:
    """The bytes of the character of several bytes at `text` (RFC 3629); 0 when it is none."""
    cdef uint8_t lowest = 0x80
    cdef uint8_t highest = 0xBF
    cdef size_t length, i
    if 0xC2 <= text[0] <= 0xDF:
        length = 2
    elif 0xE0 <= text[0] <= 0xEF:
        length = 3
    elif 0xF0 <= text[0] <= 0xF4:
        length = 4
    else:
        return 0
    # Neither over-long, nor a surrogate, nor beyond U+10FFFF: the second byte tells.
    if text[0] == 0xE0:
        lowest = 0xA0
    elif text[0] == 0xED:
        highest = 0x9F
    elif text[0] == 0xF0:
        lowest = 0x90
    elif text[0] == 0xF4:
        highest = 0x8F
    if length > size or not lowest <= text[1] <= highest:
        return 0
    for i in range(2, length):
        if text[i] & 0xC0 != 0x80:
            return 0
    return length


cdef inline bint is_utf8(const uint8_t* text, size_t size) noexcept nogil:
    """Eight bytes at a time while they are ASCII, as names of topics are."""
    cdef uint64_t word
    cdef size_t at = 0
    cdef size_t length
    while at < size:
        if size - at >= 8:
            memcpy(&word, text + at, 8)
            if word & <uint64_t>0x8080808080808080 == 0:
                at += 8
                continue
        length = 1 if text[at] < 0x80 else utf8_sequence(text + at, size - at)
        if length == 0:
            return False
        at += length
    return True


cdef inline const uint8_t* read_string(Cursor* cursor, bint flexible, int32_t* size) noexcept nogil:
    """A string borrowed from the cursor, NULL (and size 0) when it is null."""
    cdef int64_t length = read_length(cursor, flexible, True)
    cdef const uint8_t* text
    size[0] = 0
    if length < 0:
        return NULL
    text = take(cursor, length) if length <= 0x7FFF else NULL
    if text == NULL or not is_utf8(text, <size_t>length):
        cursor.failed = True
        return NULL
    size[0] = <int32_t>length
    return text


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


cdef inline Cursor read_tagged_field(Cursor* cursor) noexcept nogil:
    """The bytes of a tagged field, whose tag has been read; a value has to fill them."""
    cdef uint32_t size = read_unsigned_varint(cursor)
    cdef const uint8_t* data = take(cursor, size)
    return cursor_over(data, size if data != NULL else 0)
