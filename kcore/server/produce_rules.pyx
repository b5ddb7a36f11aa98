"""The one rule of a produce request's version for the records it carries: zstd may only come from version 7 on (KIP-110).

Everything else about records is LogValidator's.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int64_t, uint8_t

from kcore.errors cimport NONE, UNSUPPORTED_COMPRESSION_TYPE
from kcore.record.batch cimport BATCH_HEADER_SIZE, COMPRESSION_MASK
from kcore.record.compression cimport CODEC_ZSTD

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
