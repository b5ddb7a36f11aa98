"""Writes record batches of magic 2 (KIP-98; MemoryRecordsBuilder of Apache Kafka) from Python keys and values.

The builder collects encoded records in one growing native buffer. `build` compresses them, puts the header before them
and computes the checksum. Offsets count up from `base_offset`; timestamps are relative to the first record's.
Concurrency: use a builder from one thread only. `build` compresses without the GIL.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, INT32_MIN, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, COMPRESSION_MASK, CONTROL_MASK, TIMESTAMP_TYPE_MASK, TRANSACTIONAL_MASK, BatchHeader,
    write_batch_header,
)
from kcore.record.compression cimport (
    CODEC_NONE, CODEC_OK, CODEC_UNAVAILABLE, Bytes, CodecStatus, compress, free_bytes, reserve_bytes,
)
from kcore.record.record cimport RecordView, put_record_up_to_headers, put_sized, record_body_size, varlong_size

from kcore import errors

NO_TIMESTAMP = -1

cdef enum:
    LENGTH_FIELD_MAX = 5


cdef inline bytes as_bytes(object value):
    return value if PyBytes_CheckExact(value) else bytes(memoryview(value))


cdef inline int32_t checked_size(bytes value) except -2:
    if value is None:
        return -1
    if PyBytes_GET_SIZE(value) > INT32_MAX:
        raise errors.MessageTooLargeError("a key or value is larger than 2 GiB")
    return <int32_t>PyBytes_GET_SIZE(value)


cdef inline const uint8_t* start_of(bytes value) noexcept:
    return <const uint8_t*>PyBytes_AS_STRING(value) if value is not None else NULL


cdef list encoded_headers(object headers, size_t* size):
    """The headers as pairs of bytes. `size` is set to their size in a record."""
    cdef list pairs = []
    cdef bytes name, value
    cdef Py_ssize_t name_size, value_size
    size[0] = 0
    for header_name, header_value in headers:
        if type(header_name) is str:
            name = (<str>header_name).encode("utf-8", "surrogateescape")
        else:
            name = as_bytes(header_name)
        value = None if header_value is None else as_bytes(header_value)
        name_size = PyBytes_GET_SIZE(name)
        value_size = checked_size(value)
        size[0] += varlong_size(name_size) + <size_t>name_size + varlong_size(value_size)
        if value_size > 0:
            size[0] += <size_t>value_size
        pairs.append((name, value))
    return pairs


@cython.final
cdef class RecordBatchBuilder:
    """Builds one batch. `size_bytes` is its uncompressed size."""

    cdef Bytes records
    cdef BatchHeader header
    cdef int codec
    cdef int32_t level

    def __cinit__(self, *, int codec=CODEC_NONE, level=None, int64_t base_offset=0, int32_t leader_epoch=-1,
                  int64_t producer_id=-1, int16_t producer_epoch=-1, int32_t base_sequence=-1,
                  bint transactional=False, bint control=False, log_append_time=None):
        if not 0 <= codec <= 4:
            raise errors.UnsupportedCompressionTypeError(f"there is no codec {codec}")
        self.codec = codec
        self.level = INT32_MIN if level is None else level
        self.header.base_offset = base_offset
        self.header.partition_leader_epoch = leader_epoch
        if transactional:
            self.header.attributes |= TRANSACTIONAL_MASK
        if control:
            self.header.attributes |= CONTROL_MASK
        self.header.base_timestamp = self.header.max_timestamp = NO_TIMESTAMP
        self.header.producer_id = producer_id
        self.header.producer_epoch = producer_epoch
        self.header.base_sequence = base_sequence
        if log_append_time is not None:
            self.header.attributes |= TIMESTAMP_TYPE_MASK
            self.header.max_timestamp = log_append_time

    def __dealloc__(self):
        free_bytes(&self.records)

    @property
    def record_count(self):
        return self.header.record_count

    @property
    def size_bytes(self):
        return BATCH_HEADER_SIZE + self.records.size

    @property
    def base_timestamp(self):
        return self.header.base_timestamp

    @property
    def max_timestamp(self):
        return self.header.max_timestamp

    def append(self, key, value, int64_t timestamp=-1, headers=()):
        """Adds a record and returns its size in bytes. Headers are pairs of a name (str or UTF-8) and bytes or None."""
        cdef bytes key_bytes = None if key is None else as_bytes(key)
        cdef bytes value_bytes = None if value is None else as_bytes(value)
        cdef RecordView record
        cdef size_t headers_size = 0
        cdef list pairs = None
        if headers:
            pairs = encoded_headers(headers, &headers_size)
        record.attributes = 0
        record.key = start_of(key_bytes)
        record.key_size = checked_size(key_bytes)
        record.value = start_of(value_bytes)
        record.value_size = checked_size(value_bytes)
        record.headers_size = headers_size
        record.header_count = 0 if pairs is None else <int32_t>len(pairs)
        self.place(&record, timestamp)
        return self.write(&record, pairs)

    cdef int place(self, RecordView* record, int64_t timestamp) except -1:
        """Sets the record's offset and timestamp deltas, and the batch's base and maximum timestamps."""
        if self.header.record_count == INT32_MAX:
            raise errors.RecordListTooLargeError("the batch is full")
        if self.header.record_count == 0:
            self.header.base_timestamp = timestamp
        if timestamp > self.header.max_timestamp and not self.header.attributes & TIMESTAMP_TYPE_MASK:
            self.header.max_timestamp = timestamp
        record.offset_delta = self.header.record_count
        record.timestamp_delta = <int64_t>(<uint64_t>timestamp - <uint64_t>self.header.base_timestamp)
        return 0

    cdef Py_ssize_t write(self, RecordView* record, list pairs) except -1:
        cdef size_t body_size = record_body_size(record)
        cdef size_t needed = self.records.size + body_size + LENGTH_FIELD_MAX
        cdef uint8_t* start
        cdef uint8_t* target
        cdef bytes name, value
        if needed > INT32_MAX - BATCH_HEADER_SIZE:
            raise errors.MessageTooLargeError("the batch would be larger than 2 GiB")
        if needed > self.records.capacity and not reserve_bytes(&self.records, needed * 2):
            raise MemoryError
        start = self.records.data + self.records.size
        target = put_record_up_to_headers(start, record, body_size)
        if pairs is not None:
            for name, value in pairs:
                target = put_sized(target, start_of(name), <int32_t>PyBytes_GET_SIZE(name))
                target = put_sized(target, start_of(value), -1 if value is None else <int32_t>PyBytes_GET_SIZE(value))
        self.records.size += <size_t>(target - start)
        self.header.record_count += 1
        return target - start

    cdef bytes compress_by_wheel(self):
        from kcore.record import codec_fallback
        data = PyBytes_FromStringAndSize(<const char*>self.records.data, <Py_ssize_t>self.records.size)
        return codec_fallback.compress(self.codec, data, None if self.level == INT32_MIN else self.level)

    def build(self):
        """Returns the finished batch. You can append more records afterwards and build again."""
        cdef Bytes compressed
        cdef const uint8_t* payload = self.records.data
        cdef size_t size = self.records.size
        cdef CodecStatus status
        cdef bytes batch, compressed_by_wheel
        compressed.data = NULL
        compressed.size = compressed.capacity = 0
        try:
            # A batch without records is not marked as compressed (DefaultRecordBatch.writeEmptyHeader).
            self.header.attributes &= ~COMPRESSION_MASK
            if self.codec != CODEC_NONE and self.header.record_count > 0:
                self.header.attributes |= <int16_t>self.codec
                with nogil:
                    status = compress(self.codec, self.level, payload, size, &compressed)
                if status == CODEC_UNAVAILABLE:
                    compressed_by_wheel = self.compress_by_wheel()
                    payload = start_of(compressed_by_wheel)
                    size = <size_t>PyBytes_GET_SIZE(compressed_by_wheel)
                elif status != CODEC_OK:
                    raise MemoryError
                else:
                    payload = compressed.data
                    size = compressed.size
            batch = PyBytes_FromStringAndSize(NULL, BATCH_HEADER_SIZE + <Py_ssize_t>size)
            if size > 0:
                memcpy(PyBytes_AS_STRING(batch) + BATCH_HEADER_SIZE, payload, size)
        finally:
            free_bytes(&compressed)
        self.header.size_bytes = BATCH_HEADER_SIZE + <int32_t>size
        self.header.last_offset_delta = max(self.header.record_count - 1, 0)
        write_batch_header(<uint8_t*>PyBytes_AS_STRING(batch), &self.header)
        return batch


def encode_batch(records, *, int64_t timestamp=-1, **fields):
    """Encodes one batch. Each record is a tuple of key, value and, optionally, headers and timestamp.

    `timestamp` is for records without their own. `fields` are the arguments of RecordBatchBuilder.
    """
    cdef RecordBatchBuilder builder = RecordBatchBuilder(**fields)
    for record in records:
        builder.append(record[0], record[1], record[3] if len(record) > 3 else timestamp,
                       record[2] if len(record) > 2 else ())
    return builder.build()
