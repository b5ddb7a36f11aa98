"""Formats records as text by a template, without a Python object for each part. Used by console-consumer.

A template is a list of parts. A part is a literal (bytes) or the name of a field:

    topic  partition  offset  timestamp              numbers are decimal; -1 if there is no timestamp
    epoch                                            decimal, or "NOT_PRESENT"
    stamp                                            "CreateTime:1700000000000", "LogAppendTime:...", "NO_TIMESTAMP"
    key  value                                       the bytes; `null` if there is none
    key_size  value_size                             decimal; -1 for null
    value_size_int32                                 four bytes, big endian
    headers                                          name, `header_key_separator`, value; `header_separator` between

ConsumerRecords and RecordColumns can be formatted. RecordColumns have no epoch. Concurrency: a template is immutable,
and columns are formatted without the GIL. The words come from Kafka's DefaultMessageFormatter.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from kcore.client.consumer.columns cimport ColumnSet, VariableColumn
from kcore.client.consumer.consumer_record cimport ConsumerRecord
from kcore.client.consumer.record_columns cimport RecordColumns
from kcore.cursor cimport Cursor, cursor_over
from kcore.record.compression cimport Bytes, free_bytes, reserve_bytes
from kcore.record.record cimport next_bytes

cdef enum Field:
    FIELD_LITERAL = 0
    FIELD_TOPIC
    FIELD_PARTITION
    FIELD_OFFSET
    FIELD_EPOCH
    FIELD_TIMESTAMP
    FIELD_STAMP
    FIELD_KEY
    FIELD_VALUE
    FIELD_KEY_SIZE
    FIELD_VALUE_SIZE
    FIELD_VALUE_SIZE_INT32
    FIELD_HEADERS

cdef dict KINDS = {
    "topic": FIELD_TOPIC,
    "partition": FIELD_PARTITION,
    "offset": FIELD_OFFSET,
    "epoch": FIELD_EPOCH,
    "timestamp": FIELD_TIMESTAMP,
    "stamp": FIELD_STAMP,
    "key": FIELD_KEY,
    "value": FIELD_VALUE,
    "key_size": FIELD_KEY_SIZE,
    "value_size": FIELD_VALUE_SIZE,
    "value_size_int32": FIELD_VALUE_SIZE_INT32,
    "headers": FIELD_HEADERS,
}
FIELDS = frozenset(KINDS)

cdef enum:
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1
    DECIMAL_DIGITS_MAX = 20
    FIRST_BYTES = 65_536

# Borrowed bytes. `data` is NULL for null.
cdef struct Text:
    const uint8_t* data
    int64_t size

cdef struct Part:
    Field field
    Text literal

# The fields of one record. Headers are entries of `columns`, or encoded as in a batch.
cdef struct Row:
    Text topic
    int32_t partition
    int64_t offset
    int32_t epoch
    int64_t timestamp_ms
    int32_t timestamp_type
    Text key
    Text value
    const ColumnSet* columns
    int32_t header_begin
    int32_t header_count
    Text encoded_headers


cdef inline Text text_of(bytes data):
    cdef Text text
    text.data = <const uint8_t*>PyBytes_AS_STRING(data)
    text.size = PyBytes_GET_SIZE(data)
    return text


cdef inline Text text_of_entry(const VariableColumn* column, int64_t row) noexcept nogil:
    cdef Text text
    text.size = column.ends[row + 1] - column.ends[row]
    text.data = column.data.data + column.ends[row]
    if column.null_count > 0 and not column.valid[row >> 3] >> (row & 7) & 1:
        text.data = NULL
    return text


cdef bint put(Bytes* out, const uint8_t* data, int64_t size) noexcept nogil:
    if out.capacity - out.size < <size_t>size:
        if not reserve_bytes(out, max(out.size + <size_t>size, out.capacity * 2)):
            return False
    if size > 0:
        memcpy(out.data + out.size, data, <size_t>size)
        out.size += <size_t>size
    return True


cdef inline bint put_text(Bytes* out, const Text* text, const Text* null) noexcept nogil:
    return put(out, text.data, text.size) if text.data != NULL else put(out, null.data, null.size)


cdef bint put_decimal(Bytes* out, int64_t number) noexcept nogil:
    cdef uint8_t[DECIMAL_DIGITS_MAX] digits
    cdef int32_t at = DECIMAL_DIGITS_MAX
    cdef uint64_t left = <uint64_t>number if number >= 0 else <uint64_t>0 - <uint64_t>number
    while True:
        at -= 1
        digits[at] = <uint8_t>(48 + left % 10)
        left //= 10
        if left == 0:
            break
    if number < 0:
        at -= 1
        digits[at] = 45
    return put(out, &digits[at], DECIMAL_DIGITS_MAX - at)


cdef bint put_int32(Bytes* out, int32_t number) noexcept nogil:
    cdef uint8_t[4] data
    cdef int32_t i
    for i in range(4):
        data[i] = <uint8_t>(<uint32_t>number >> (24 - 8 * i))
    return put(out, &data[0], 4)


cdef bint put_stamp(Bytes* out, const Row* row) noexcept nogil:
    if row.timestamp_type == CREATE_TIME:
        return put(out, b"CreateTime:", 11) and put_decimal(out, row.timestamp_ms)
    if row.timestamp_type == LOG_APPEND_TIME:
        return put(out, b"LogAppendTime:", 14) and put_decimal(out, row.timestamp_ms)
    return put(out, b"NO_TIMESTAMP", 12)


cdef inline int64_t size_of(const Text* text) noexcept nogil:
    return text.size if text.data != NULL else -1


@cython.final
cdef class RecordText:
    """Formats records by a template. Raises ValueError for an unknown field name."""

    cdef Part* parts
    cdef int32_t part_count
    cdef tuple literals              # keeps the bytes of the parts alive
    cdef Text null, header_separator, header_key_separator, no_headers
    cdef readonly bint needs_headers
    cdef readonly bint needs_epoch

    def __init__(self, parts, *, bytes null not None=b"null", bytes header_separator not None=b",",
                 bytes header_key_separator not None=b":", bytes no_headers not None=b""):
        cdef list given = list(parts)
        cdef int32_t i
        if self.parts != NULL:
            raise TypeError("a template cannot be made anew")
        self.literals = (null, header_separator, header_key_separator, no_headers, *given)
        self.null = text_of(null)
        self.header_separator = text_of(header_separator)
        self.header_key_separator = text_of(header_key_separator)
        self.no_headers = text_of(no_headers)
        self.parts = <Part*>malloc(max(len(given), 1) * sizeof(Part))
        if self.parts == NULL:
            raise MemoryError
        for i, part in enumerate(given):
            self.parts[i].field = FIELD_LITERAL
            if isinstance(part, bytes):
                self.parts[i].literal = text_of(part)
            elif part in KINDS:
                self.parts[i].field = <Field><int>KINDS[part]
            else:
                raise ValueError(f"{part!r}: must be bytes, or one of {', '.join(KINDS)}")
            self.part_count = i + 1
        self.needs_headers = "headers" in given
        self.needs_epoch = "epoch" in given

    def __dealloc__(self):
        free(self.parts)

    def of_columns(self, RecordColumns columns not None, int64_t start=0, end=None):
        """Format rows `start` (inclusive) to `end` (exclusive).

        Raises ValueError if the template needs headers and the columns have none.
        """
        cdef int64_t stop = columns.columns.rows if end is None else end
        cdef int64_t first, last
        cdef Bytes out
        cdef Row row
        cdef Py_ssize_t topic_size
        cdef bint is_done = True
        if not 0 <= start <= stop <= columns.columns.rows:
            raise IndexError(f"there are {columns.columns.rows} rows")
        if self.needs_headers and not columns.columns.with_headers:
            raise ValueError("the columns were made without headers: ask for them with include_headers=True")
        memset(&out, 0, sizeof(out))
        try:
            for topic, partition, run_start, run_end in columns.ended_runs():
                first, last = max(start, <int64_t>run_start), min(stop, <int64_t>run_end)
                row.topic.data = <const uint8_t*>PyUnicode_AsUTF8AndSize(topic, &topic_size)
                row.topic.size = topic_size
                row.partition = partition
                with nogil:
                    is_done = self.put_rows(&out, columns.columns, &row, first, last)
                if not is_done:
                    raise MemoryError
            return PyBytes_FromStringAndSize(<const char*>out.data, <Py_ssize_t>out.size)
        finally:
            free_bytes(&out)

    cdef bint put_rows(self, Bytes* out, const ColumnSet* columns, Row* row, int64_t first, int64_t last) noexcept nogil:
        cdef int64_t i
        row.columns = columns
        row.epoch = -1
        row.header_begin = 0
        row.header_count = 0
        if out.data == NULL and not reserve_bytes(out, FIRST_BYTES):
            return False
        for i in range(first, last):
            row.offset = columns.offsets[i]
            row.timestamp_ms = columns.timestamps[i] // 1000 if columns.for_arrow else columns.timestamps[i]
            row.timestamp_type = columns.timestamp_types[i]
            row.key = text_of_entry(&columns.keys, i)
            row.value = text_of_entry(&columns.values, i)
            if columns.with_headers:
                row.header_begin = columns.header_ends[i]
                row.header_count = columns.header_ends[i + 1] - columns.header_ends[i]
            if not self.put_row(out, row):
                return False
        return True

    def of_records(self, list records not None):
        """Format ConsumerRecords. Raises TypeError if a key or value is neither bytes nor None."""
        cdef ConsumerRecord record
        cdef Bytes out
        cdef Row row
        cdef Py_ssize_t topic_size
        memset(&out, 0, sizeof(out))
        row.columns = NULL
        try:
            if not reserve_bytes(&out, FIRST_BYTES):
                raise MemoryError
            for record in records:
                row.topic.data = <const uint8_t*>PyUnicode_AsUTF8AndSize(record.topic, &topic_size)
                row.topic.size = topic_size
                row.partition = record.partition
                row.offset = record.offset
                row.epoch = record.epoch
                row.timestamp_ms = record.timestamp
                row.timestamp_type = record.timestamp_type
                row.key = self.content(record.key)
                row.value = self.content(record.value)
                # Headers given as Python objects are encoded here. Fetched ones are still encoded.
                encoded = None
                row.header_count = record.header_count
                if self.needs_headers and record.encoded_headers is None and record.header_count > 0:
                    encoded = encoded_headers(record.decoded_headers)
                    row.encoded_headers = text_of(encoded)
                elif record.encoded_headers is not None:
                    row.encoded_headers = text_of(record.encoded_headers)
                if not self.put_row(&out, &row):
                    raise MemoryError
            return PyBytes_FromStringAndSize(<const char*>out.data, <Py_ssize_t>out.size)
        finally:
            free_bytes(&out)

    cdef Text content(self, object content) except *:
        cdef Text text
        text.data = NULL
        text.size = 0
        if content is not None:
            if not isinstance(content, bytes):
                raise TypeError(f"a {type(content).__name__} where bytes are to be written")
            text = text_of(content)
        return text

    cdef bint put_row(self, Bytes* out, const Row* row) noexcept nogil:
        """Format one record. Returns False if memory cannot be allocated."""
        cdef bint is_put = True
        cdef const Part* part
        cdef int32_t i
        for i in range(self.part_count):
            part = &self.parts[i]
            if part.field == FIELD_LITERAL:
                is_put = put(out, part.literal.data, part.literal.size)
            elif part.field == FIELD_VALUE:
                is_put = put_text(out, &row.value, &self.null)
            elif part.field == FIELD_KEY:
                is_put = put_text(out, &row.key, &self.null)
            elif part.field == FIELD_OFFSET:
                is_put = put_decimal(out, row.offset)
            elif part.field == FIELD_PARTITION:
                is_put = put_decimal(out, row.partition)
            elif part.field == FIELD_TIMESTAMP:
                is_put = put_decimal(out, row.timestamp_ms)
            elif part.field == FIELD_STAMP:
                is_put = put_stamp(out, row)
            elif part.field == FIELD_TOPIC:
                is_put = put_text(out, &row.topic, &self.null)
            elif part.field == FIELD_EPOCH:
                is_put = put_decimal(out, row.epoch) if row.epoch >= 0 else put(out, b"NOT_PRESENT", 11)
            elif part.field == FIELD_KEY_SIZE:
                is_put = put_decimal(out, size_of(&row.key))
            elif part.field == FIELD_VALUE_SIZE:
                is_put = put_decimal(out, size_of(&row.value))
            elif part.field == FIELD_VALUE_SIZE_INT32:
                is_put = put_int32(out, <int32_t>size_of(&row.value))
            else:
                is_put = self.put_headers(out, row)
            if not is_put:
                return False
        return True

    cdef bint put_headers(self, Bytes* out, const Row* row) noexcept nogil:
        cdef Cursor cursor
        cdef Text name, value
        cdef int32_t size = 0
        cdef int32_t i
        if row.header_count == 0:
            return put(out, self.no_headers.data, self.no_headers.size)
        if row.columns == NULL:
            cursor = cursor_over(row.encoded_headers.data, <size_t>row.encoded_headers.size)
        for i in range(row.header_count):
            if row.columns != NULL:
                name = text_of_entry(&row.columns.header_names, row.header_begin + i)
                value = text_of_entry(&row.columns.header_values, row.header_begin + i)
            else:
                name.data = next_bytes(&cursor, &size)
                name.size = max(size, 0)
                value.data = next_bytes(&cursor, &size)
                value.size = max(size, 0)
            if i > 0 and not put(out, self.header_separator.data, self.header_separator.size):
                return False
            if not (put_text(out, &name, &self.null)
                    and put(out, self.header_key_separator.data, self.header_key_separator.size)
                    and put_text(out, &value, &self.null)):
                return False
        return True


cdef bytes encoded_headers(list headers):
    """Encode headers as in a batch."""
    cdef bytearray encoded = bytearray()
    for name, value in headers:
        put_sized(encoded, name.encode("utf-8", "surrogateescape"))
        put_sized(encoded, value)
    return bytes(encoded)


cdef void put_sized(bytearray target, bytes data):
    cdef uint32_t left = 1 if data is None else <uint32_t>len(data) << 1
    while left >= 0x80:
        target.append(left & 0x7F | 0x80)
        left >>= 7
    target.append(left)
    if data is not None:
        target += data
