"""One record inside a batch of magic 2 (KIP-82, KIP-98; DefaultRecord of Apache Kafka).

    length varint | attributes int8 | timestamp delta varlong | offset delta varint
    key length varint, key | value length varint, value | header count varint, headers
    header: key length varint, key | value length varint, value

A length of -1 means null (a header's key must not be null). Reading is strict: the fields of a record, headers
included, must fill exactly the length that it gives. Concurrency: pure functions over borrowed bytes.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from kcore.cursor cimport Cursor, cursor_over, read_int8, read_varint, read_varlong, remaining, take

cdef struct RecordView:
    int8_t attributes
    int64_t timestamp_delta
    int32_t offset_delta
    const uint8_t* key           # NULL when null
    int32_t key_size             # -1 when null
    const uint8_t* value
    int32_t value_size
    int32_t header_count
    const uint8_t* headers       # start of the first header; the last one ends with the record
    size_t headers_size


cdef inline int32_t next_varint(Cursor* cursor) noexcept nogil:
    """read_varint with a fast path for one byte, by far the most frequent case."""
    cdef uint8_t first
    if not cursor.failed and cursor.position < cursor.end and cursor.position[0] < 0x80:
        first = cursor.position[0]
        cursor.position += 1
        return <int32_t>(first >> 1) ^ -<int32_t>(first & 1)
    return read_varint(cursor)


cdef inline const uint8_t* next_bytes(Cursor* cursor, int32_t* size) noexcept nogil:
    """Reads a length and its bytes; NULL and -1 for every negative length (DefaultRecord.readFrom)."""
    size[0] = next_varint(cursor)
    if size[0] < 0:
        size[0] = -1
        return NULL
    return take(cursor, size[0])


cdef inline bint skip_headers(Cursor* cursor, int32_t count) noexcept nogil:
    cdef int32_t size = 0
    # A header has at least two bytes, so the available bytes bound the loop.
    if count < 0 or <size_t>count > remaining(cursor) // 2:
        return False
    while count > 0:
        next_bytes(cursor, &size)
        if size < 0:
            return False
        next_bytes(cursor, &size)
        if cursor.failed:
            return False
        count -= 1
    return True


cdef inline bint read_record(Cursor* cursor, RecordView* out) noexcept nogil:
    """Reads the next record and moves `cursor` past it. Returns False if the record is malformed."""
    cdef int32_t size = next_varint(cursor)
    cdef const uint8_t* start = take(cursor, size)
    cdef Cursor body
    if start == NULL:
        return False
    body = cursor_over(start, <size_t>size)
    out.attributes = read_int8(&body)
    out.timestamp_delta = read_varlong(&body)
    out.offset_delta = next_varint(&body)
    out.key = next_bytes(&body, &out.key_size)
    out.value = next_bytes(&body, &out.value_size)
    out.header_count = next_varint(&body)
    if body.failed:
        return False
    out.headers = body.position
    out.headers_size = remaining(&body)
    if out.header_count != 0 and not skip_headers(&body, out.header_count):
        return False
    return remaining(&body) == 0


cdef inline uint64_t zigzag_long(int64_t value) noexcept nogil:
    return (<uint64_t>value << 1) ^ <uint64_t>(value >> 63)


cdef inline size_t varlong_size(int64_t value) noexcept nogil:
    cdef uint64_t rest = zigzag_long(value)
    cdef size_t size = 1
    while rest >= 0x80:
        rest >>= 7
        size += 1
    return size


cdef inline uint8_t* put_varlong(uint8_t* target, int64_t value) noexcept nogil:
    """Also encodes a varint: zigzag of a 32-bit value widened to 64 bits gives the same bytes."""
    cdef uint64_t rest = zigzag_long(value)
    while rest >= 0x80:
        target[0] = <uint8_t>(rest | 0x80)
        target += 1
        rest >>= 7
    target[0] = <uint8_t>rest
    return target + 1


cdef inline uint8_t* put_sized(uint8_t* target, const uint8_t* data, int32_t size) noexcept nogil:
    """Writes a length and its bytes; only the length -1 for null."""
    target = put_varlong(target, size)
    if size > 0:
        memcpy(target, data, <size_t>size)
        target += size
    return target


cdef inline size_t record_body_size(const RecordView* record) noexcept nogil:
    """The value of the record's length field."""
    cdef size_t size = 1 + varlong_size(record.timestamp_delta) + varlong_size(record.offset_delta)
    size += varlong_size(record.key_size) + varlong_size(record.value_size) + varlong_size(record.header_count)
    if record.key_size > 0:
        size += <size_t>record.key_size
    if record.value_size > 0:
        size += <size_t>record.value_size
    return size + record.headers_size


cdef inline uint8_t* put_record_up_to_headers(uint8_t* target, const RecordView* record,
                                              size_t body_size) noexcept nogil:
    target = put_varlong(target, <int64_t>body_size)
    target[0] = <uint8_t>record.attributes
    target = put_varlong(target + 1, record.timestamp_delta)
    target = put_varlong(target, record.offset_delta)
    target = put_sized(target, record.key, record.key_size)
    target = put_sized(target, record.value, record.value_size)
    return put_varlong(target, record.header_count)
