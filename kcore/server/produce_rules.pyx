"""What a produce request demands of the records it carries, before any of them is appended.

zstd may only come from version 7 on (KIP-110). A transactional batch needs a transactional id in the request
(`RequestUtils.hasTransactionalRecords`): a batch without one has no coordinator that could end its transaction, and the
last stable offset would stay below it for ever. Like Kafka, this looks at the first batch of each partition; a second
one is refused by LogValidator, as is everything else about records.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int64_t, uint8_t

from kcore.errors cimport NONE, UNSUPPORTED_COMPRESSION_TYPE
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_OK, COMPRESSION_MASK, TRANSACTIONAL_MASK, BatchHeader, read_batch_header,
)
from kcore.record.compression cimport CODEC_NONE, CODEC_ZSTD
from kcore.record.decompressed_bound cimport decompressed_bound

cdef enum:
    ATTRIBUTES_LOW_BYTE = 22
    FIRST_VERSION_WITH_ZSTD = 7


cdef int16_t check_produce_records(const uint8_t* records, int64_t size, int16_t version,
                                   const char** message) noexcept nogil:
    message[0] = NULL
    if (size >= BATCH_HEADER_SIZE and version < FIRST_VERSION_WITH_ZSTD
            and records[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK == CODEC_ZSTD):
        message[0] = b"Records compressed with zstd need a produce request of version 7 or later"
        return UNSUPPORTED_COMPRESSION_TYPE
    return NONE


cdef bint is_transactional(const uint8_t* records, size_t size) noexcept nogil:
    cdef BatchHeader header
    return (size >= BATCH_HEADER_SIZE and records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_MASK
            and read_batch_header(records, size, &header) == BATCH_OK)


def produce_records_error(records, int version):
    """The same rule for the Python path: (wire code, message or None); `records` may be None."""
    cdef const char* message = NULL
    cdef Py_buffer given
    if records is None:
        return NONE, None
    PyObject_GetBuffer(records, &given, PyBUF_SIMPLE)
    cdef int16_t error = check_produce_records(<const uint8_t*>given.buf, given.len, version, &message)
    PyBuffer_Release(&given)
    return error, message.decode() if message != NULL else None


cdef bint is_large(const uint8_t* records, size_t size, int64_t inline_bytes) noexcept nogil:
    cdef int codec
    if size <= BATCH_HEADER_SIZE:
        return False
    codec = records[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK
    return codec != CODEC_NONE and decompressed_bound(
        codec, records + BATCH_HEADER_SIZE, size - BATCH_HEADER_SIZE, inline_bytes) > inline_bytes


def takes_long(records, int64_t inline_bytes):
    """Whether a batch may become larger than `inline_bytes`; `records` may be None."""
    cdef Py_buffer given
    if records is None:
        return False
    PyObject_GetBuffer(records, &given, PyBUF_SIMPLE)
    cdef bint found = is_large(<const uint8_t*>given.buf, <size_t>given.len, inline_bytes)
    PyBuffer_Release(&given)
    return found


def begins_transactional(records):
    """Whether the first batch is whole and transactional; `records` may be None."""
    cdef Py_buffer given
    if records is None:
        return False
    PyObject_GetBuffer(records, &given, PyBUF_SIMPLE)
    cdef bint found = is_transactional(<const uint8_t*>given.buf, <size_t>given.len)
    PyBuffer_Release(&given)
    return found
