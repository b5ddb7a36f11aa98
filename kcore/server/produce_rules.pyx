"""The rules of a produce request's version for the records it carries (Kafka's `ProduceRequest.validateRecords`).

From version 3 on a partition's records are batches of magic 2, and zstd may only come from version 7 on (KIP-110).
Everything else about records is LogValidator's.
"""

from libc.stdint cimport int16_t, int64_t, uint8_t

from kcore.errors cimport INVALID_RECORD, NONE, UNSUPPORTED_COMPRESSION_TYPE
from kcore.record.batch cimport BATCH_HEADER_SIZE, COMPRESSION_MASK, MAGIC_POSITION
from kcore.record.compression cimport CODEC_ZSTD

cdef enum:
    ATTRIBUTES_LOW_BYTE = 22
    CURRENT_MAGIC = 2
    FIRST_VERSION_WITH_ZSTD = 7


cdef int16_t check_produce_records(const uint8_t* records, int64_t size, int16_t version,
                                   const char** message) noexcept nogil:
    message[0] = NULL
    if records == NULL or size == 0:
        message[0] = b"A produce request must carry one record batch for each of its partitions"
        return INVALID_RECORD
    if size <= MAGIC_POSITION or records[MAGIC_POSITION] != CURRENT_MAGIC:
        message[0] = b"A produce request of version 3 or later may only carry record batches of magic 2"
        return INVALID_RECORD
    if (size >= BATCH_HEADER_SIZE and version < FIRST_VERSION_WITH_ZSTD
            and records[ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK == CODEC_ZSTD):
        message[0] = b"Records compressed with zstd need a produce request of version 7 or later"
        return UNSUPPORTED_COMPRESSION_TYPE
    return NONE


def produce_records_error(const uint8_t[::1] records, int version):
    """The same rules for the Python path: (wire code, message or None); `records` may be None."""
    cdef const char* message = NULL
    cdef const uint8_t* start = NULL
    cdef int64_t size = 0 if records is None else records.shape[0]
    if size > 0:
        start = &records[0]
    cdef int16_t error = check_produce_records(start, size, version, &message)
    return error, message.decode() if message != NULL else None
