"""BatchInput: the columns of one `send_batch` call, and their way into the accumulator.

Inline: only the RecordAppender uses this. All of it runs without the GIL.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.client.producer.batch_future cimport BatchFuture
from kcore.client.producer.columns cimport Column, column_at
from kcore.client.producer.partitioner cimport (
    PARTITION_BUILT_IN, PARTITION_NOT_CHOSEN, choose_partition, partition_was_used,
)
from kcore.client.producer.producer_batch cimport batch_sum_ahead
from kcore.client.producer.record_accumulator cimport (
    APPENDED, APPEND_NO_MEMORY, APPEND_TOO_LARGE, AppendStatus, Placement, RecordAccumulator, Topic,
)
from kcore.record.record cimport RecordView

cdef enum:
    # Maximum size of a record beside its bytes: lengths, deltas, attributes and the batch header, as in Kafka.
    RECORD_IN_BATCH_OVERHEAD = 61 + 21
    # Rows appended per lock of the mutex, so that the sender waits for about ten microseconds at most.
    ROWS_PER_LOCK = 256


# `row` is the next row to append.
cdef struct BatchInput:
    const Column* values
    const Column* keys
    const int64_t* timestamps
    int64_t timestamp_ms
    const uint8_t* header_bytes
    const int64_t* header_ends
    const int32_t* header_counts
    bint one_header_for_all
    int32_t partition          # PARTITION_NOT_CHOSEN: by key or sticky
    int32_t chosen
    int64_t count
    int64_t row
    int64_t call
    size_t large_bytes
    size_t max_record_bytes
    size_t refused_bytes


cdef inline void read_row(const BatchInput* batch, RecordView* record) noexcept nogil:
    cdef int64_t row = batch.row
    cdef int64_t start
    record.attributes = 0
    record.value = column_at(batch.values, row, &record.value_size)
    record.key = NULL
    record.key_size = -1
    if batch.keys != NULL:
        record.key = column_at(batch.keys, row, &record.key_size)
    record.header_count = 0
    record.headers = NULL
    record.headers_size = 0
    if batch.header_ends != NULL:
        if batch.one_header_for_all:
            row = 0
        start = batch.header_ends[row - 1] if row > 0 else 0
        record.header_count = batch.header_counts[row]
        record.headers = batch.header_bytes + start
        record.headers_size = <size_t>(batch.header_ends[row] - start)


cdef inline int64_t row_time(const BatchInput* batch) noexcept nogil:
    return batch.timestamp_ms if batch.timestamps == NULL else batch.timestamps[batch.row]


cdef inline AppendStatus append_rows(RecordAccumulator accumulator, Topic topic, BatchInput* batch, BatchFuture future,
                              bint is_compressed, int64_t now_ns, bint* wake) noexcept nogil:
    """Append up to ROWS_PER_LOCK rows with the mutex held.

    Returns APPENDED, or the reason why row `batch.row` was not appended.
    """
    cdef RecordView record
    cdef Placement placement
    cdef AppendStatus status
    cdef int32_t rows_left = ROWS_PER_LOCK
    while batch.row < batch.count and rows_left > 0:
        read_row(batch, &record)
        batch.refused_bytes = (RECORD_IN_BATCH_OVERHEAD + record.headers_size + <size_t>max(record.key_size, 0)
                               + <size_t>max(record.value_size, 0))
        if batch.refused_bytes > batch.max_record_bytes:
            return APPEND_TOO_LARGE
        if batch.partition == PARTITION_NOT_CHOSEN and (record.key_size >= 0 or batch.chosen == PARTITION_NOT_CHOSEN
                                                        or accumulator.partitioner.kind != PARTITION_BUILT_IN):
            batch.chosen = choose_partition(&accumulator.partitioner, &topic.queues, record.key, record.key_size)
        status = accumulator.append(&topic.queues, batch.chosen, &record, row_time(batch), now_ns, batch.large_bytes,
                                    NULL, &placement)
        if status != APPENDED:
            return status
        wake[0] |= placement.wake
        if not placement.batch.is_open and batch.partition == PARTITION_NOT_CHOSEN and record.key_size < 0:
            # Without keys, whole batches go to one partition after another.
            partition_was_used(&accumulator.partitioner, &topic.queues, 2 * accumulator.partitioner.sticky_bytes_max,
                               True)
            batch.chosen = PARTITION_NOT_CHOSEN
        if not future.add(placement.batch, placement.index, batch.call):
            return APPEND_NO_MEMORY
        if not is_compressed:
            batch_sum_ahead(placement.batch)
        batch.row += 1
        rows_left -= 1
    return APPENDED
