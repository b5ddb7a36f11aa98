"""The request header, read in place (KIP-482 adds the tagged fields of version 2).

    api key int16 | api version int16 | correlation id int32 | client id nullable string (int16 length) | tagged fields

The header of ApiVersions follows the same rule as every other request; only its response header differs.
"""

from libc.stdint cimport int16_t, uint8_t, uint32_t
from kcore.cursor cimport Cursor, cursor_over, read_int16, read_int32, read_unsigned_varint, take
from kcore.network.dispatch cimport DISPATCH_SIZE, DispatchEntry, NativeRequest


cdef inline void skip_tagged_fields(Cursor* cursor) noexcept nogil:
    cdef uint32_t count = read_unsigned_varint(cursor)
    cdef uint32_t i = 0
    while i < count and not cursor.failed:
        read_unsigned_varint(cursor)
        take(cursor, <int>read_unsigned_varint(cursor))
        i += 1


cdef inline bint read_request_header(uint8_t* frame, size_t size, const DispatchEntry* entries,
                                     NativeRequest* request) noexcept nogil:
    """Sets the header fields of `request`. Returns False if the frame has no complete header."""
    cdef Cursor cursor = cursor_over(frame, size)
    cdef int16_t client_id_size
    request.frame = frame
    request.size = size
    request.api_key = read_int16(&cursor)
    request.api_version = read_int16(&cursor)
    request.correlation_id = read_int32(&cursor)
    client_id_size = read_int16(&cursor)
    request.client_id = NULL
    request.client_id_size = 0
    if client_id_size >= 0 and not cursor.failed:
        request.client_id = take(&cursor, client_id_size)
        request.client_id_size = client_id_size
    elif client_id_size < -1:
        return False
    if 0 <= request.api_key < DISPATCH_SIZE and request.api_version >= entries[request.api_key].first_flexible:
        skip_tagged_fields(&cursor)
    request.body = <size_t>(cursor.position - frame)
    return not cursor.failed
