"""The decoder's classes, for native code that creates or reads them."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from cpython.buffer cimport Py_buffer
from kcore.cursor cimport Cursor
from kcore.record.batch cimport BatchHeader
from kcore.record.compression cimport Bytes


cdef class BorrowedBuffer:
    """Holds an object's buffer, so that its bytes stay valid while a batch or a record iterator reads them."""
    cdef Py_buffer view
    cdef const uint8_t* data
    cdef size_t size


cdef class Record:
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly object key
    cdef readonly object value
    cdef bytes encoded_headers   # None without headers
    cdef int32_t header_count


cdef class RecordBatch:
    cdef BorrowedBuffer buffer
    cdef const uint8_t* data
    cdef BatchHeader header
    cdef readonly size_t position
    cdef readonly size_t decompressed_limit_bytes


cdef class RecordIterator:
    cdef RecordBatch batch
    cdef Bytes decompressed
    cdef bytes decompressed_by_wheel
    cdef Cursor cursor
    cdef int32_t index
    cdef int64_t log_append_time
    cdef bint has_log_append_time


cdef class BatchIterator:
    cdef BorrowedBuffer buffer
    cdef bint check_crc
    cdef size_t decompressed_limit_bytes
    cdef readonly size_t position

cdef Record make_record(int64_t offset, int64_t timestamp, object key, object value)
