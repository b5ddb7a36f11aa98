"""Record batches for Python: iterates the batches of a buffer and, on demand, the records of a batch.

Formats: record batches of magic 2 (KIP-98), and message sets of magic 0 and 1 through `kcore.record.legacy`. A buffer
may end inside a batch, as in a fetch response: the iteration stops before that batch, at `position`. Invalid bytes
raise `errors.CorruptMessageError`. Nothing is read beyond the buffer.

Records are created on demand. Keys and values are copied; headers are decoded on access; null and empty are different
values. Concurrency: use the objects from one thread, and do not write to the buffer while they are in use.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint64_t
from kcore.cursor cimport Cursor, cursor_over, remaining
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_INCOMPLETE, BATCH_OK, BATCH_OLD_MAGIC, COMPRESSION_MASK, CONTROL_MASK,
    DELETE_HORIZON_MASK, TIMESTAMP_TYPE_MASK, TRANSACTIONAL_MASK, BatchStatus, has_valid_checksum, read_batch_header,
)
from kcore.record.compression cimport (
    CODEC_NONE, CODEC_NO_MEMORY, CODEC_OK, CODEC_TOO_LARGE, CODEC_UNAVAILABLE, CodecStatus, decompress, free_bytes,
)
from kcore.record.record cimport RecordView, next_bytes, read_record

from kcore import errors

# The maximum decompressed size of a batch, unless the caller passes another one.
DEFAULT_LIMIT_BYTES = 256 * 1024 * 1024


cdef class BorrowedBuffer:
    def __cinit__(self, source):
        PyObject_GetBuffer(source, &self.view, PyBUF_SIMPLE)
        self.data = <const uint8_t*>self.view.buf
        self.size = <size_t>self.view.len

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef inline object bytes_or_none(const uint8_t* data, int32_t size):
    return None if size < 0 else PyBytes_FromStringAndSize(<const char*>data, size)


@cython.final
@cython.freelist(256)
cdef class Record:
    """One record: `offset`, `timestamp` (ms; -1 if it has none), `key`, `value`, `headers`."""

    @property
    def headers(self):
        """Pairs of name and value, in order. Bytes of a name that are not UTF-8 become surrogates."""
        cdef Cursor cursor
        cdef const uint8_t* name
        cdef const uint8_t* value
        cdef int32_t name_size = 0
        cdef int32_t value_size = 0
        cdef int32_t i
        if self.encoded_headers is None:
            return []
        headers = []
        cursor = cursor_over(<const uint8_t*><const char*>self.encoded_headers, <size_t>len(self.encoded_headers))
        for i in range(self.header_count):
            name = next_bytes(&cursor, &name_size)
            value = next_bytes(&cursor, &value_size)
            headers.append((PyUnicode_DecodeUTF8(<char*>name, name_size, "surrogateescape"),
                            bytes_or_none(value, value_size)))
        return headers

    def __repr__(self):
        return f"<Record offset={self.offset} key={self.key!r} value={self.value!r}>"


cdef Record make_record(int64_t offset, int64_t timestamp, object key, object value):
    cdef Record record = Record.__new__(Record)
    record.offset = offset
    record.timestamp = timestamp
    record.key = key
    record.value = value
    return record


@cython.final
cdef class RecordBatch:
    """The header of a batch as attributes. Iterate it to get its records.

    In magic 0 and 1 a batch is one message, possibly a compressed one that contains others. Its producer fields and
    `record_count` are -1. `base_offset` is not known without decompression and equals `last_offset`.
    """

    @property
    def base_offset(self):
        return self.header.base_offset

    @property
    def last_offset(self):
        return self.header.last_offset

    @property
    def next_offset(self):
        return self.header.last_offset + 1

    @property
    def last_offset_delta(self):
        return self.header.last_offset_delta

    @property
    def size_bytes(self):
        """The size of the batch, its base offset and length fields included."""
        return self.header.size_bytes

    @property
    def partition_leader_epoch(self):
        return self.header.partition_leader_epoch

    @property
    def magic(self):
        return self.header.magic

    @property
    def crc(self):
        return self.header.crc

    @property
    def attributes(self):
        return self.header.attributes

    @property
    def base_timestamp(self):
        return self.header.base_timestamp

    @property
    def max_timestamp(self):
        return self.header.max_timestamp

    @property
    def producer_id(self):
        return self.header.producer_id

    @property
    def producer_epoch(self):
        return self.header.producer_epoch

    @property
    def base_sequence(self):
        return self.header.base_sequence

    @property
    def last_sequence(self):
        """-1 without a sequence. Sequences wrap from 2^31 - 1 to 0 (DefaultRecordBatch.incrementSequence)."""
        if self.header.base_sequence < 0:
            return -1
        return (self.header.base_sequence + self.header.last_offset_delta) & 0x7FFFFFFF

    @property
    def record_count(self):
        return self.header.record_count

    @property
    def codec(self):
        """0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. The names are in `kcore.record.compression.NAMES`."""
        return self.header.attributes & COMPRESSION_MASK

    @property
    def is_log_append_time(self):
        return bool(self.header.attributes & TIMESTAMP_TYPE_MASK)

    @property
    def is_transactional(self):
        return bool(self.header.attributes & TRANSACTIONAL_MASK)

    @property
    def is_control(self):
        return bool(self.header.attributes & CONTROL_MASK)

    @property
    def delete_horizon_ms(self):
        """When a tombstone or marker in a compacted batch may be removed (KIP-534); None if not set."""
        return self.header.base_timestamp if self.header.attributes & DELETE_HORIZON_MASK else None

    @property
    def raw(self):
        """A copy of the batch's bytes."""
        return PyBytes_FromStringAndSize(<const char*>self.data, self.header.size_bytes)

    def has_valid_checksum(self):
        if self.header.magic < 2:
            from kcore.record import legacy
            return legacy.has_valid_checksum(self.raw)
        return bool(has_valid_checksum(self.data, &self.header))

    def __iter__(self):
        if self.header.magic < 2:
            from kcore.record import legacy
            return iter(legacy.decode_message(self.raw, self.decompressed_limit_bytes))
        return open_records(self)

    def __repr__(self):
        return f"<RecordBatch magic={self.header.magic} offsets={self.base_offset}..{self.last_offset}>"


cdef object raise_codec_error(CodecStatus status):
    if status == CODEC_TOO_LARGE:
        raise errors.MessageTooLargeError("the decompressed records are larger than the limit")
    if status == CODEC_NO_MEMORY:
        raise MemoryError
    raise errors.CorruptMessageError("the compressed records cannot be read")


cdef RecordIterator open_records(RecordBatch batch):
    cdef RecordIterator records = RecordIterator.__new__(RecordIterator)
    cdef const uint8_t* data = batch.data + BATCH_HEADER_SIZE
    cdef size_t size = <size_t>batch.header.size_bytes - BATCH_HEADER_SIZE
    cdef size_t limit = batch.decompressed_limit_bytes
    cdef int codec = batch.header.attributes & COMPRESSION_MASK
    cdef CodecStatus status
    records.batch = batch
    records.has_log_append_time = (batch.header.attributes & TIMESTAMP_TYPE_MASK) != 0
    records.log_append_time = batch.header.max_timestamp
    if codec != CODEC_NONE and batch.header.record_count > 0:
        with nogil:
            status = decompress(codec, data, size, limit, &records.decompressed)
        if status == CODEC_UNAVAILABLE:
            from kcore.record import codec_fallback
            payload = PyBytes_FromStringAndSize(<const char*>data, <Py_ssize_t>size)
            records.decompressed_by_wheel = codec_fallback.decompress(codec, payload, limit)
            data = <const uint8_t*><const char*>records.decompressed_by_wheel
            size = <size_t>len(records.decompressed_by_wheel)
        elif status != CODEC_OK:
            raise_codec_error(status)
        else:
            data = records.decompressed.data
            size = records.decompressed.size
    records.cursor = cursor_over(data, size)
    return records


@cython.final
cdef class RecordIterator:
    def __dealloc__(self):
        free_bytes(&self.decompressed)

    def __iter__(self):
        return self

    def __length_hint__(self):
        # Limited by what the bytes can hold, whatever the header says: the smallest record has seven bytes.
        return min(<size_t>(self.batch.header.record_count - self.index), remaining(&self.cursor) // 7)

    def __next__(self):
        cdef RecordView view
        cdef Record record
        if self.index >= self.batch.header.record_count:
            if remaining(&self.cursor) != 0:
                raise errors.CorruptMessageError("the record batch holds more than its records")
            raise StopIteration
        if not read_record(&self.cursor, &view):
            raise errors.CorruptMessageError(f"record {self.index} of the batch is malformed")
        self.index += 1
        record = Record.__new__(Record)
        record.offset = <int64_t>(<uint64_t>self.batch.header.base_offset + <uint64_t><int64_t>view.offset_delta)
        record.timestamp = (
            self.log_append_time if self.has_log_append_time
            else <int64_t>(<uint64_t>self.batch.header.base_timestamp + <uint64_t>view.timestamp_delta)
        )
        record.key = bytes_or_none(view.key, view.key_size)
        record.value = bytes_or_none(view.value, view.value_size)
        if view.header_count > 0:
            record.header_count = view.header_count
            record.encoded_headers = PyBytes_FromStringAndSize(<const char*>view.headers, <Py_ssize_t>view.headers_size)
        return record


@cython.final
cdef class BatchIterator:
    """Iterates the batches of a buffer. `position` is where the next one begins."""

    def __iter__(self):
        return self

    def __next__(self):
        cdef RecordBatch batch = RecordBatch.__new__(RecordBatch)
        cdef BatchStatus status
        if self.position >= self.buffer.size:
            raise StopIteration
        batch.data = self.buffer.data + self.position
        status = read_batch_header(batch.data, self.buffer.size - self.position, &batch.header)
        if status == BATCH_INCOMPLETE:
            raise StopIteration
        if status != BATCH_OK and status != BATCH_OLD_MAGIC:
            raise errors.CorruptMessageError(f"no valid record batch at byte {self.position}")
        batch.buffer = self.buffer
        batch.position = self.position
        batch.decompressed_limit_bytes = self.decompressed_limit_bytes
        if self.check_crc and not batch.has_valid_checksum():
            raise errors.CorruptMessageError(f"the batch at byte {self.position} has a wrong checksum")
        self.position += <size_t>batch.header.size_bytes
        return batch


def decode_batches(buffer, check_crc=True, size_t decompressed_limit_bytes=DEFAULT_LIMIT_BYTES):
    """Iterates the complete batches of a bytes-like object, such as a segment file or a fetch response's records."""
    cdef BatchIterator batches = BatchIterator.__new__(BatchIterator)
    batches.buffer = BorrowedBuffer(buffer)
    batches.check_crc = check_crc
    batches.decompressed_limit_bytes = min(decompressed_limit_bytes, <size_t>INT32_MAX)
    return batches
