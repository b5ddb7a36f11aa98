"""Rules for the batches of a produce request, checked before any of them is appended.

zstd requires version 7 or later (KIP-110). A transactional batch requires a transactional id in the request
(`RequestUtils.hasTransactionalRecords`). Without one, no coordinator could end the transaction, and the last stable
offset would never advance past it. Like Kafka, these rules check the first batch of each partition. LogValidator
refuses a second batch, and applies all other rules.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int16_t, int64_t, uint8_t

from kcore.errors cimport NONE, UNSUPPORTED_COMPRESSION_TYPE
from kcore.record.batch cimport (
    BATCH_HEADER_SIZE, BATCH_OK, COMPRESSION_MASK, TRANSACTIONAL_MASK, ReceivedBatch, batch_over,
)
from kcore.record.compression cimport CODEC_NONE, CODEC_ZSTD
from kcore.record.decompressed_bound cimport decompressed_bound

cdef enum:
    FIRST_VERSION_WITH_ZSTD = 7


cdef int16_t check_produced_batch(const ReceivedBatch* batch, int16_t version, const char** message) noexcept nogil:
    message[0] = NULL
    if (version < FIRST_VERSION_WITH_ZSTD and batch.header.magic == 2
            and batch.header.attributes & COMPRESSION_MASK == CODEC_ZSTD):
        message[0] = b"Records compressed with zstd require a produce request of version 7 or later"
        return UNSUPPORTED_COMPRESSION_TYPE
    return NONE


cdef bint is_transactional(const ReceivedBatch* batch) noexcept nogil:
    return batch.status == BATCH_OK and batch.header.attributes & TRANSACTIONAL_MASK


cdef bint is_large(const ReceivedBatch* batch, int64_t inline_bytes) noexcept nogil:
    cdef int codec = batch.header.attributes & COMPRESSION_MASK
    return batch.status == BATCH_OK and codec != CODEC_NONE and decompressed_bound(
        codec, batch.data + BATCH_HEADER_SIZE, batch.size_bytes - BATCH_HEADER_SIZE, inline_bytes) > inline_bytes


cdef class HeldBatch:
    """Records in a Python buffer. None counts as no bytes."""

    cdef ReceivedBatch batch
    cdef Py_buffer view

    def __cinit__(self, records):
        if records is None:
            self.batch = batch_over(NULL, 0)
        else:
            PyObject_GetBuffer(records, &self.view, PyBUF_SIMPLE)
            self.batch = batch_over(<uint8_t*>self.view.buf, <size_t>self.view.len)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


def produce_records_error(records, int version):
    """`check_produced_batch` for the Python path. Returns (error code, message or None). `records` may be None."""
    cdef const char* message = NULL
    cdef HeldBatch held = HeldBatch(records)
    cdef int16_t error = check_produced_batch(&held.batch, version, &message)
    return error, message.decode() if message != NULL else None


def takes_long(records, int64_t inline_bytes):
    """Whether a batch may exceed `inline_bytes` when decompressed. `records` may be None."""
    cdef HeldBatch held = HeldBatch(records)
    return bool(is_large(&held.batch, inline_bytes))


def begins_transactional(records):
    """Whether the first batch is complete and transactional. `records` may be None."""
    cdef HeldBatch held = HeldBatch(records)
    return bool(is_transactional(&held.batch))
