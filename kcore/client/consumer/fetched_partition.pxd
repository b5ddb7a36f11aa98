"""FetchedPartition: the data of one partition in a Fetch response, with the reader's place in it.

    for each batch: skipped (control, aborted, entirely before the position) or opened: checked, decompressed
    for each record of an open batch: skipped if before the position, else returned

A FetchedPartition belongs to one thread at a time. The network thread creates it, it is queued under the fetcher's
mutex, and the application's thread reads it. Its bytes stay in the received frame, which it holds.
"""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from kcore.client.network.client_request cimport ReceivedFrame
from kcore.cursor cimport Cursor
from kcore.record.batch cimport BatchHeader
from kcore.record.compression cimport Bytes
from kcore.record.record cimport RecordView, read_record

cdef enum FetchedStatus:
    FETCHED_OPEN = 0               # a batch is open: its records may be taken
    FETCHED_DRAINED = 1            # nothing is left
    FETCHED_BY_PYTHON = 2          # the next batch needs `open_by_python`: magic 0 or 1, or a codec without its library
    # The following are final until the partition's data is dropped.
    FETCHED_WRONG_CHECKSUM = 3
    FETCHED_MALFORMED = 4
    FETCHED_TOO_LARGE = 5          # after decompression
    FETCHED_NO_CODEC = 6
    FETCHED_NO_MEMORY = 7
    FETCHED_CUT_SHORT = 8          # not even one complete batch

cdef enum TimestampType:
    NO_TIMESTAMP_TYPE = -1         # magic 0
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1

cdef struct AbortedTransaction:
    int64_t producer_id
    int64_t first_offset

# Producers whose transactions are aborted in the following batches; sorted.
cdef struct ProducerSet:
    int64_t* ids
    int32_t count
    int32_t capacity

cdef struct FetchedPartition:
    FetchedPartition* next         # in its queue
    void* owner                    # the fetcher's FetchTarget
    int64_t generation             # of that partition when it was requested
    bint is_event                  # no records: the partition's event is due at this point
    ReceivedFrame* frame           # NULL: the owner of `data` keeps it alive
    const uint8_t* data            # batches
    size_t size_bytes
    int64_t high_watermark
    int64_t last_stable_offset
    int64_t log_start_offset
    bint check_crcs
    bint read_committed
    size_t decompressed_limit_bytes
    AbortedTransaction* aborted    # by first offset; owned
    int32_t aborted_count
    int32_t aborted_taken
    ProducerSet aborted_producers
    # The reader's place
    int64_t next_offset            # records with lower offsets are skipped
    int32_t next_epoch             # leader epoch of the last batch that was read, -1 before
    size_t position                # of the open batch, or of the next one
    FetchedStatus status
    # The open batch
    BatchHeader batch
    Cursor records
    int32_t records_left
    int8_t timestamp_type
    bint has_append_time           # `append_time` is every record's timestamp
    int64_t append_time
    Bytes decompressed

# Holds the frame. `aborted` is copied and sorted. Returns NULL if memory cannot be allocated.
cdef FetchedPartition* new_fetched_partition(ReceivedFrame* frame, const uint8_t* data, size_t size_bytes,
                                             int64_t fetch_offset, const AbortedTransaction* aborted,
                                             int32_t aborted_count) noexcept nogil
cdef void free_fetched_partition(FetchedPartition* fetched) noexcept nogil
# Opens the next batch that has records to read, skipping those without.
cdef FetchedStatus open_batch(FetchedPartition* fetched) noexcept nogil
# After FETCHED_BY_PYTHON, with the GIL: opens that batch.
cdef FetchedStatus open_by_python(FetchedPartition* fetched)
# Ends the open batch.
cdef FetchedStatus close_batch(FetchedPartition* fetched) noexcept nogil
# Returns the exception for a status from FETCHED_WRONG_CHECKSUM on. `name` is the partition's.
cdef object fetched_error(const FetchedPartition* fetched, object name)
# Where the next fetch begins, by the headers of the complete batches only; `fetch_offset` if there is none.
cdef int64_t following_offset(const uint8_t* data, size_t size, int64_t fetch_offset, int32_t* epoch) noexcept nogil


cdef inline int64_t record_offset(const FetchedPartition* fetched, const RecordView* record) noexcept nogil:
    return <int64_t>(<uint64_t>fetched.batch.base_offset + <uint64_t><int64_t>record.offset_delta)


cdef inline int64_t record_timestamp(const FetchedPartition* fetched, const RecordView* record) noexcept nogil:
    if fetched.has_append_time:
        return fetched.append_time
    return <int64_t>(<uint64_t>fetched.batch.base_timestamp + <uint64_t>record.timestamp_delta)


cdef inline FetchedStatus next_record(FetchedPartition* fetched, RecordView* record, int64_t* offset) noexcept nogil:
    """Return the next record at or after the position, from an open batch, and advance the position past it.

    FETCHED_DRAINED: the batch has no more records.
    """
    while fetched.records_left > 0:
        if not read_record(&fetched.records, record):
            fetched.status = FETCHED_MALFORMED
            return FETCHED_MALFORMED
        fetched.records_left -= 1
        offset[0] = record_offset(fetched, record)
        if offset[0] >= fetched.next_offset:
            fetched.next_offset = <int64_t>(<uint64_t>offset[0] + 1)
            return FETCHED_OPEN
    return close_batch(fetched)
