"""The invalid records of a refused batch, and Kafka's messages about them (KIP-467; LogValidator)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    # The most records that one response lists. A record takes 7 bytes of a request and 100 of the response.
    RECORD_ERRORS_MAX = 100000
    RECORD_ERROR_SIZE_MAX = 512          # of the message about one record, for a legal topic name
    RECORD_ERRORS_SIZE_MAX = 2048        # of the message about a batch

cdef enum RecordErrorKind:
    RECORD_HAS_NO_KEY = 0
    RECORD_TIME_OUT_OF_RANGE = 1
    RECORD_HAS_LOG_APPEND_TIME = 2
    RECORD_OFFSET_OUT_OF_ORDER = 3

cdef struct RecordError:
    int32_t index                        # within the batch
    int32_t kind
    int32_t key_size                     # -1 without a key
    int32_t value_size
    int64_t offset                       # as the producer wrote it
    int64_t timestamp

# Empty when zeroed; release it with record_errors_free. `total` also counts errors beyond RECORD_ERRORS_MAX.
cdef struct RecordErrors:
    RecordError* errors
    int32_t count
    int32_t capacity
    int32_t total
    bint has_bad_timestamp
    int64_t earliest_ms                  # the allowed range, for RECORD_TIME_OUT_OF_RANGE
    int64_t latest_ms

# Adds an error. If memory is exhausted, it is only counted.
cdef void record_errors_add(RecordErrors* errors, const RecordError* error) noexcept nogil
cdef void record_errors_free(RecordErrors* errors) noexcept nogil
# Write the message about one record, or about the whole batch, with a terminating zero byte, and return its size
# without it. `target` has room for RECORD_ERROR_SIZE_MAX or RECORD_ERRORS_SIZE_MAX bytes.
cdef int32_t describe_record_error(const RecordErrors* errors, int32_t position, const uint8_t* topic,
                                   int32_t topic_size, int32_t partition, char* target) noexcept nogil
cdef int32_t describe_record_errors(const RecordErrors* errors, const uint8_t* topic, int32_t topic_size,
                                    int32_t partition, char* target) noexcept nogil
