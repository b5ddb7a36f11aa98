"""UTF-8 (RFC 3629) in arbitrary bytes: validation, and replacement of invalid bytes."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy


cdef inline size_t utf8_sequence(const uint8_t* text, size_t size) noexcept nogil:
    """The size of the character at `text` in bytes; 0 if it is invalid."""
    cdef uint8_t lowest = 0x80
    cdef uint8_t highest = 0xBF
    cdef size_t length, i
    if text[0] < 0x80:
        return 1
    if 0xC2 <= text[0] <= 0xDF:
        length = 2
    elif 0xE0 <= text[0] <= 0xEF:
        length = 3
    elif 0xF0 <= text[0] <= 0xF4:
        length = 4
    else:
        return 0
    # The second byte excludes overlong forms, surrogates and code points beyond U+10FFFF.
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
    """Whether the text is UTF-8. Checks eight bytes at a time while they are ASCII, as topic names are."""
    cdef uint64_t word
    cdef size_t at = 0
    cdef size_t length
    while at < size:
        if size - at >= 8:
            memcpy(&word, text + at, 8)
            if word & <uint64_t>0x8080808080808080 == 0:
                at += 8
                continue
        length = utf8_sequence(text + at, size - at)
        if length == 0:
            return False
        at += length
    return True


cdef inline size_t utf8_bound(size_t size) noexcept nogil:
    """The maximum size that `put_utf8` writes for `size` bytes."""
    return 3 * size


cdef inline size_t put_utf8(uint8_t* target, const uint8_t* text, size_t size) noexcept nogil:
    """Copies text and replaces every invalid byte by U+FFFD. Returns the number of bytes written."""
    cdef size_t at = 0
    cdef size_t written = 0
    cdef size_t length
    while at < size:
        length = utf8_sequence(text + at, size - at)
        if length == 0:
            target[written] = 0xEF
            target[written + 1] = 0xBF
            target[written + 2] = 0xBD
            written += 3
            at += 1
            continue
        memcpy(target + written, text + at, length)
        written += length
        at += length
    return written
