"""Which records of a refused batch are bad, and Kafka's sentences about them (KIP-467; LogValidator)."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    # How many records one answer lists. A record takes 7 bytes of a request and 100 of the answer.
    RECORD_ERRORS_MAX = 100000
    RECORD_ERROR_SIZE_MAX = 512          # of the sentence about one record, for a legal topic name
    RECORD_ERRORS_SIZE_MAX = 2048        # of the sentence about a batch

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

# Empty when zeroed; free it with record_errors_free. `total` counts those beyond RECORD_ERRORS_MAX too.
cdef struct RecordErrors:
    RecordError* errors
    int32_t count
    int32_t capacity
    int32_t total
    bint has_bad_timestamp
    int64_t earliest_ms                  # what the topic takes, for RECORD_TIME_OUT_OF_RANGE
    int64_t latest_ms

# Without memory the error is only counted.
cdef void record_errors_add(RecordErrors* errors, const RecordError* error) noexcept nogil
cdef void record_errors_free(RecordErrors* errors) noexcept nogil
# Writes the sentence about one record, or about all of them, ended by a zero byte, and answers its size without it.
# `target` has room for RECORD_ERROR_SIZE_MAX or RECORD_ERRORS_SIZE_MAX bytes.
cdef int32_t describe_record_error(const RecordErrors* errors, int32_t position, const uint8_t* topic,
                                   int32_t topic_size, int32_t partition, char* target) noexcept nogil
cdef int32_t describe_record_errors(const RecordErrors* errors, const uint8_t* topic, int32_t topic_size,
                                    int32_t partition, char* target) noexcept nogil
