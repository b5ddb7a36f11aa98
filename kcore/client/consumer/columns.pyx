"""Converts fetched batches to columns: keys, values, offsets etc., each in one piece of memory (Arrow columnar format).

A row is written once, in its final place: lengths become ends, and bytes are appended to those of the row before. The
records of a batch cannot need more room than its bytes, so room is made once per batch, and the loop over the records
checks nothing. Memory that was written before is several times cheaper than fresh memory. So the columns of released
results are kept for reuse, up to POOLED_BYTES_MAX in total.

Concurrency: one thread fills a ColumnSet. Afterwards it is immutable and may be released on any thread, with or without
the GIL.
"""

from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcpy, memset
from kcore.client.consumer.fetched_partition cimport (
    FETCHED_MALFORMED, FETCHED_NO_MEMORY, FETCHED_OPEN, FetchedPartition, FetchedStatus, close_batch, open_batch,
    record_offset, record_timestamp,
)
from kcore.protocol.utf8 cimport put_utf8, utf8_bound
from kcore.cursor cimport Cursor, cursor_over, remaining
from kcore.platform.sync cimport atomic_add_32, atomic_add_64, atomic_load_64
from kcore.record.compression cimport Bytes, free_bytes, reserve_bytes
from kcore.record.record cimport RecordView, next_bytes, read_record

cdef extern from "context_pool.h" nogil:
    ctypedef struct kcore_context_pool:
        pass
    void* kcore_context_pool_take(kcore_context_pool* pool)
    bint kcore_context_pool_put(kcore_context_pool* pool, void* context)

cdef enum:
    SMALLEST_RECORD = 7
    FIRST_ROWS = 1024
    MICROSECONDS = 1000
    # Columns beyond this total are freed when they are released.
    POOLED_BYTES_MAX = 67108864

cdef kcore_context_pool pool
cdef int64_t pooled_bytes = 0
cdef int64_t held_sets = 0


# --- life ------------------------------------------------------------------------------------------------------------


cdef ColumnSet* new_column_set(bint for_arrow, bint with_headers) noexcept nogil:
    cdef ColumnSet* columns = <ColumnSet*>kcore_context_pool_take(&pool)
    if columns != NULL:
        atomic_add_64(&pooled_bytes, -memory_of(columns))
        empty(columns)
    else:
        columns = <ColumnSet*>calloc(1, sizeof(ColumnSet))
        if columns == NULL:
            return NULL
    columns.holders = 1
    atomic_add_64(&held_sets, 1)
    columns.for_arrow = for_arrow
    columns.with_headers = with_headers
    # Arrow needs buffers even in arrays without rows.
    if not make_room(columns, 1, 1):
        release_columns(columns)
        return NULL
    return columns


cdef void hold_columns(ColumnSet* columns) noexcept nogil:
    atomic_add_32(&columns.holders, 1)


cdef void release_columns(ColumnSet* columns) noexcept nogil:
    cdef int64_t size
    if atomic_add_32(&columns.holders, -1) > 0:
        return
    atomic_add_64(&held_sets, -1)
    size = memory_of(columns)
    if atomic_add_64(&pooled_bytes, size) <= POOLED_BYTES_MAX and kcore_context_pool_put(&pool, columns):
        return
    atomic_add_64(&pooled_bytes, -size)
    free_variable(&columns.keys)
    free_variable(&columns.values)
    free_variable(&columns.topics)
    free_variable(&columns.header_names)
    free_variable(&columns.header_values)
    free(columns.partitions)
    free(columns.offsets)
    free(columns.timestamps)
    free(columns.timestamp_types)
    free(columns.header_ends)
    free(columns.headers_valid)
    free(columns)


cdef int64_t pooled_column_bytes() noexcept nogil:
    return atomic_load_64(&pooled_bytes)


cdef int64_t live_column_sets() noexcept nogil:
    return atomic_load_64(&held_sets)


cdef void free_variable(VariableColumn* column) noexcept nogil:
    free_bytes(&column.data)
    free(column.ends)
    free(column.valid)


cdef int64_t memory_of(const ColumnSet* columns) noexcept nogil:
    """Approximate memory of the columns, in bytes."""
    cdef size_t data = columns.keys.data.capacity + columns.values.data.capacity + columns.topics.data.capacity
    data += columns.header_names.data.capacity + columns.header_values.data.capacity
    return <int64_t>data + columns.capacity * 41 + columns.header_capacity * 9


cdef void empty_variable(VariableColumn* column, int64_t capacity) noexcept nogil:
    column.data.size = 0
    if column.null_count > 0:
        memset(column.valid, 0xFF, bitmap_size(capacity))
        column.null_count = 0


cdef void empty(ColumnSet* columns) noexcept nogil:
    columns.rows = 0
    columns.header_rows = 0
    empty_variable(&columns.keys, columns.capacity)
    empty_variable(&columns.values, columns.capacity)
    columns.topics.data.size = 0
    columns.header_names.data.size = 0
    empty_variable(&columns.header_values, columns.header_capacity)
    if columns.header_null_count > 0:
        memset(columns.headers_valid, 0xFF, bitmap_size(columns.capacity))
        columns.header_null_count = 0


# --- room ------------------------------------------------------------------------------------------------------------


cdef inline size_t bitmap_size(int64_t rows) noexcept nogil:
    return <size_t>((rows + 7) // 8)


cdef bint grow(void** memory, size_t size) noexcept nogil:
    cdef void* grown = realloc(memory[0], size)
    if grown == NULL:
        return False
    memory[0] = grown
    return True


cdef bint grow_bitmap(uint8_t** bits, int64_t rows, int64_t wanted) noexcept nogil:
    if not grow(<void**>bits, bitmap_size(wanted)):
        return False
    memset(bits[0] + bitmap_size(rows), 0xFF, bitmap_size(wanted) - bitmap_size(rows))
    return True


cdef bint grow_variable(VariableColumn* column, int64_t rows, int64_t wanted, bint nullable) noexcept nogil:
    if not grow(<void**>&column.ends, <size_t>(wanted + 1) * sizeof(int32_t)):
        return False
    column.ends[0] = 0
    return not nullable or grow_bitmap(&column.valid, rows, wanted)


cdef bint make_row_room(ColumnSet* columns, int64_t wanted) noexcept nogil:
    cdef int64_t rows = columns.capacity
    if wanted <= rows:
        return True
    # Capacities are multiples of 8, so old and new rows never share a byte of a bitmap.
    wanted = (max(wanted, max(2 * rows, <int64_t>FIRST_ROWS)) + 7) // 8 * 8
    if not (
        grow_variable(&columns.keys, rows, wanted, True)
        and grow_variable(&columns.values, rows, wanted, True)
        and grow_variable(&columns.topics, rows, wanted, False)
        and grow(<void**>&columns.partitions, <size_t>wanted * sizeof(int32_t))
        and grow(<void**>&columns.offsets, <size_t>wanted * sizeof(int64_t))
        and grow(<void**>&columns.timestamps, <size_t>wanted * sizeof(int64_t))
        and grow(<void**>&columns.timestamp_types, <size_t>wanted * sizeof(int32_t))
        and grow(<void**>&columns.header_ends, <size_t>(wanted + 1) * sizeof(int32_t))
        and grow_bitmap(&columns.headers_valid, rows, wanted)
    ):
        return False
    columns.header_ends[0] = 0
    columns.capacity = wanted
    return True


cdef bint make_header_room(ColumnSet* columns, int64_t wanted) noexcept nogil:
    cdef int64_t rows = columns.header_capacity
    if wanted <= rows:
        return True
    wanted = (max(wanted, max(2 * rows, <int64_t>FIRST_ROWS)) + 7) // 8 * 8
    if not (grow_variable(&columns.header_names, rows, wanted, False)
            and grow_variable(&columns.header_values, rows, wanted, True)):
        return False
    columns.header_capacity = wanted
    return True


cdef bint make_data_room(Bytes* data, size_t more) noexcept nogil:
    cdef size_t wanted = data.size + more
    if wanted <= data.capacity:
        return True
    return reserve_bytes(data, max(wanted, 2 * data.capacity))


cdef bint make_room(ColumnSet* columns, int64_t more_rows, size_t more_bytes) noexcept nogil:
    """Make room for more rows whose keys, values and headers have at most `more_bytes` bytes."""
    if not (make_row_room(columns, columns.rows + more_rows)
            and make_data_room(&columns.keys.data, more_bytes)
            and make_data_room(&columns.values.data, more_bytes)):
        return False
    # Room for header entries is made as needed, but arrays without any need buffers, too.
    return not columns.with_headers or make_header_room(columns, columns.header_rows + 1)


# --- filling ---------------------------------------------------------------------------------------------------------


cdef FetchedStatus take_columns(FetchedPartition* fetched, const uint8_t* topic, size_t topic_size, int32_t partition,
                                int64_t limit, ColumnSet* columns) noexcept nogil:
    cdef FetchedStatus status = FETCHED_OPEN
    cdef int64_t first
    while columns.rows < limit:
        status = open_batch(fetched)
        if status != FETCHED_OPEN:
            return status
        first = columns.rows
        if not fits(columns, fetched, topic_size, limit):
            return FETCHED_OPEN
        if not make_room_for_batch(columns, fetched, topic_size, limit):
            fetched.status = FETCHED_NO_MEMORY
            return FETCHED_NO_MEMORY
        status = take_batch(columns, fetched, limit)
        if columns.rows > first:
            fill_runs(columns, first, topic, topic_size, partition, fetched.timestamp_type)
        if status == FETCHED_MALFORMED or status == FETCHED_NO_MEMORY:
            return status
    return FETCHED_OPEN


cdef inline int64_t rows_of_batch(const ColumnSet* columns, const FetchedPartition* fetched, int64_t limit) noexcept nogil:
    """Return how many rows the open batch can add: at most what its bytes can hold, whatever its header claims."""
    cdef int64_t possible = <int64_t>(remaining(&fetched.records) // SMALLEST_RECORD)
    return min(min(<int64_t>fetched.records_left, possible), limit - columns.rows)


cdef bint fits(const ColumnSet* columns, const FetchedPartition* fetched, size_t topic_size,
               int64_t limit) noexcept nogil:
    """Return whether the batch fits into ends of 32 bits. True for empty columns."""
    cdef size_t payload = remaining(&fetched.records)
    cdef size_t topics = columns.topics.data.size + <size_t>rows_of_batch(columns, fetched, limit) * topic_size
    return columns.rows == 0 or (
        columns.keys.data.size + payload <= INT32_MAX
        and columns.values.data.size + payload <= INT32_MAX
        and columns.header_values.data.size + payload <= INT32_MAX
        and columns.header_names.data.size + utf8_bound(payload) <= INT32_MAX
        and topics <= INT32_MAX
    )


cdef bint make_room_for_batch(ColumnSet* columns, const FetchedPartition* fetched, size_t topic_size,
                              int64_t limit) noexcept nogil:
    cdef int64_t rows = rows_of_batch(columns, fetched, limit)
    if not make_room(columns, rows, remaining(&fetched.records)):
        return False
    return not columns.for_arrow or make_data_room(&columns.topics.data, <size_t>rows * topic_size)


cdef inline void put_null(VariableColumn* column, int64_t row) noexcept nogil:
    column.valid[row >> 3] &= <uint8_t>~(1 << (row & 7))
    column.null_count += 1


cdef inline int64_t in_microseconds(int64_t ms) noexcept nogil:
    if ms > INT64_MAX // MICROSECONDS:
        return INT64_MAX
    if ms < INT64_MIN // MICROSECONDS:
        return INT64_MIN
    return ms * MICROSECONDS


cdef FetchedStatus take_batch(ColumnSet* columns, FetchedPartition* fetched, int64_t limit) noexcept nogil:
    """Append the open batch's records, up to `limit` rows. Room has been made."""
    cdef Cursor cursor = fetched.records
    cdef RecordView view
    cdef int64_t row = columns.rows
    cdef int64_t offset
    cdef int32_t left = fetched.records_left
    cdef int64_t next_offset = fetched.next_offset
    # In local variables: the compiler must assume that memcpy changes the struct's fields.
    cdef int64_t* offsets = columns.offsets
    cdef int64_t* timestamps = columns.timestamps
    cdef int32_t* key_ends = columns.keys.ends
    cdef int32_t* value_ends = columns.values.ends
    cdef uint8_t* keys = columns.keys.data.data
    cdef uint8_t* values = columns.values.data.data
    cdef size_t keys_size = columns.keys.data.size
    cdef size_t values_size = columns.values.data.size
    cdef bint with_headers = columns.with_headers
    cdef FetchedStatus status = FETCHED_OPEN
    while left > 0 and row < limit:
        if not read_record(&cursor, &view):
            status = FETCHED_MALFORMED
            break
        left -= 1
        offset = record_offset(fetched, &view)
        if offset < next_offset:
            continue
        if with_headers and not put_headers(columns, row, &view):
            status = FETCHED_NO_MEMORY
            break
        next_offset = <int64_t>(<uint64_t>offset + 1)
        if view.key_size > 0:
            memcpy(keys + keys_size, view.key, <size_t>view.key_size)
            keys_size += <size_t>view.key_size
        elif view.key_size < 0:
            put_null(&columns.keys, row)
        if view.value_size > 0:
            memcpy(values + values_size, view.value, <size_t>view.value_size)
            values_size += <size_t>view.value_size
        elif view.value_size < 0:
            put_null(&columns.values, row)
        offsets[row] = offset
        timestamps[row] = record_timestamp(fetched, &view)
        row += 1
        key_ends[row] = <int32_t>keys_size
        value_ends[row] = <int32_t>values_size
    columns.rows = row
    columns.keys.data.size = keys_size
    columns.values.data.size = values_size
    fetched.next_offset = next_offset
    fetched.records = cursor
    fetched.records_left = left
    if status != FETCHED_OPEN:
        fetched.status = status
        return status
    return close_batch(fetched) if left == 0 else FETCHED_OPEN


cdef void fill_runs(ColumnSet* columns, int64_t first, const uint8_t* topic, size_t topic_size, int32_t partition,
                    int8_t timestamp_type) noexcept nogil:
    """Fill the columns that have the same value in all rows from `first` on."""
    cdef int64_t row
    for row in range(first, columns.rows):
        columns.partitions[row] = partition
    for row in range(first, columns.rows):
        columns.timestamp_types[row] = timestamp_type
    if columns.for_arrow:
        for row in range(first, columns.rows):
            columns.timestamps[row] = in_microseconds(columns.timestamps[row])
        fill_topics(columns, first, topic, topic_size)


cdef void fill_topics(ColumnSet* columns, int64_t first, const uint8_t* topic, size_t topic_size) noexcept nogil:
    cdef size_t size = columns.topics.data.size
    cdef uint8_t* target = columns.topics.data.data + size
    cdef size_t wanted = <size_t>(columns.rows - first) * topic_size
    cdef size_t filled = topic_size
    cdef size_t piece
    cdef int64_t row
    for row in range(first, columns.rows):
        columns.topics.ends[row + 1] = <int32_t>(size + <size_t>(row + 1 - first) * topic_size)
    memcpy(target, topic, topic_size)
    while filled < wanted:
        piece = min(filled, wanted - filled)
        memcpy(target + filled, target, piece)
        filled += piece
    columns.topics.data.size = size + wanted


cdef bint put_headers(ColumnSet* columns, int64_t row, const RecordView* view) noexcept nogil:
    """Append a row's headers. They are already validated. Returns False if memory cannot be allocated."""
    cdef Cursor cursor
    cdef const uint8_t* data
    cdef int32_t size = 0
    cdef int32_t left = view.header_count
    cdef int64_t entry = columns.header_rows
    if left == 0:
        columns.headers_valid[row >> 3] &= <uint8_t>~(1 << (row & 7))
        columns.header_null_count += 1
        columns.header_ends[row + 1] = <int32_t>entry
        return True
    if not (make_header_room(columns, entry + left)
            and make_data_room(&columns.header_names.data, utf8_bound(view.headers_size))
            and make_data_room(&columns.header_values.data, view.headers_size)):
        return False
    cursor = cursor_over(view.headers, view.headers_size)
    while left > 0:
        data = next_bytes(&cursor, &size)
        columns.header_names.data.size += put_utf8(columns.header_names.data.data + columns.header_names.data.size,
                                                   data, <size_t>max(0, size))
        data = next_bytes(&cursor, &size)
        if size > 0:
            memcpy(columns.header_values.data.data + columns.header_values.data.size, data, <size_t>size)
            columns.header_values.data.size += <size_t>size
        elif size < 0:
            put_null(&columns.header_values, entry)
        entry += 1
        columns.header_names.ends[entry] = <int32_t>columns.header_names.data.size
        columns.header_values.ends[entry] = <int32_t>columns.header_values.data.size
        left -= 1
    columns.header_rows = entry
    columns.header_ends[row + 1] = <int32_t>entry
    return True
