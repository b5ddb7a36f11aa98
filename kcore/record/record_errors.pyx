"""The invalid records of a refused batch, and Kafka's messages about them (KIP-467).

Clients read the list to fail only these records and send the others again. The messages are those of
`LogValidator.validateRecord` and `processRecordErrors`. A list holds at most RECORD_ERRORS_MAX records: they may have
been compressed, so the size of the request does not limit their number. Concurrency: pure functions over the caller's
list; nothing here needs the GIL or a lock.
"""

from libc.stdint cimport int32_t, uint8_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, realloc
from libc.string cimport memset

MOST_LISTED = RECORD_ERRORS_MAX

cdef enum:
    FIRST_CAPACITY = 16
    SHOWN = 3


cdef void record_errors_add(RecordErrors* errors, const RecordError* error) noexcept nogil:
    cdef int32_t capacity
    cdef RecordError* moved
    errors.total += 1
    if errors.count == errors.capacity and errors.count < RECORD_ERRORS_MAX:
        capacity = min(<int32_t>RECORD_ERRORS_MAX, max(<int32_t>FIRST_CAPACITY, 2 * errors.capacity))
        moved = <RecordError*>realloc(errors.errors, <size_t>capacity * sizeof(RecordError))
        if moved != NULL:
            errors.errors = moved
            errors.capacity = capacity
    if errors.count < errors.capacity:
        errors.errors[errors.count] = error[0]
        errors.count += 1


cdef void record_errors_free(RecordErrors* errors) noexcept nogil:
    free(errors.errors)
    memset(errors, 0, sizeof(RecordErrors))


cdef inline int32_t written(int outcome, int32_t capacity) noexcept nogil:
    """How many characters snprintf left in a buffer of `capacity` bytes."""
    return max(0, min(<int32_t>outcome, capacity - 1))


cdef int32_t describe_record_error(const RecordErrors* errors, int32_t position, const uint8_t* topic,
                                   int32_t topic_size, int32_t partition, char* target) noexcept nogil:
    cdef const RecordError* error = &errors.errors[position]
    cdef int outcome
    if error.kind == RECORD_HAS_NO_KEY:
        outcome = snprintf(target, RECORD_ERROR_SIZE_MAX,
                           "Compacted topic cannot accept message without key in topic partition %.*s-%d",
                           <int>topic_size, <const char*>topic, <int>partition)
    elif error.kind == RECORD_TIME_OUT_OF_RANGE:
        outcome = snprintf(target, RECORD_ERROR_SIZE_MAX,
                           "Timestamp %lld of message with offset %lld is out of range. "
                           "The timestamp should be within [%lld, %lld]",
                           <long long>error.timestamp, <long long>error.offset, <long long>errors.earliest_ms,
                           <long long>errors.latest_ms)
    elif error.kind == RECORD_HAS_LOG_APPEND_TIME:
        outcome = snprintf(target, RECORD_ERROR_SIZE_MAX,
                           "Invalid timestamp type in message DefaultRecord(offset=%lld, timestamp=%lld, "
                           "key=%d bytes, value=%d bytes). Producer should not set timestamp type to LogAppendTime.",
                           <long long>error.offset, <long long>error.timestamp, <int>max(0, error.key_size),
                           <int>max(0, error.value_size))
    else:
        outcome = snprintf(target, RECORD_ERROR_SIZE_MAX,
                           "Offset %lld of record %d does not count up from 0 in topic partition %.*s-%d",
                           <long long>error.offset, <int>error.index, <int>topic_size, <const char*>topic,
                           <int>partition)
    return written(outcome, RECORD_ERROR_SIZE_MAX)


cdef int32_t describe_record_errors(const RecordErrors* errors, const uint8_t* topic, int32_t topic_size,
                                    int32_t partition, char* target) noexcept nogil:
    cdef char sentence[RECORD_ERROR_SIZE_MAX]
    cdef const char* separator = b""
    cdef int32_t size, position
    if errors.has_bad_timestamp:
        return written(snprintf(target, RECORD_ERRORS_SIZE_MAX,
                                "One or more records have been rejected due to invalid timestamp"),
                       RECORD_ERRORS_SIZE_MAX)
    size = written(snprintf(target, RECORD_ERRORS_SIZE_MAX,
                            "One or more records have been rejected due to %d record errors in total, "
                            "and only showing the first three errors at most: [", <int>errors.total),
                   RECORD_ERRORS_SIZE_MAX)
    for position in range(min(<int32_t>SHOWN, errors.count)):
        describe_record_error(errors, position, topic, topic_size, partition, sentence)
        size += written(snprintf(target + size, <size_t>(RECORD_ERRORS_SIZE_MAX - size),
                                 "%sRecordError(batchIndex=%d, message='%s')", separator,
                                 <int>errors.errors[position].index, sentence), RECORD_ERRORS_SIZE_MAX - size)
        separator = b", "
    return size + written(snprintf(target + size, <size_t>(RECORD_ERRORS_SIZE_MAX - size), "]"),
                          RECORD_ERRORS_SIZE_MAX - size)
