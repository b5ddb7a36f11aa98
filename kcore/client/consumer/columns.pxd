"""Records as columns, in the layout of Arrow's arrays, without a Python object each.

A ColumnSet is counted: Python's faces and every Arrow array made of it hold it, and any thread may let go.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.client.consumer.fetched_partition cimport FetchedPartition, FetchedStatus
from kcore.record.compression cimport Bytes

# Values of variable length: value i is data[ends[i]:ends[i + 1]], and null where its bit is clear.
cdef struct VariableColumn:
    Bytes data
    int32_t* ends                  # one more than rows; ends[0] is 0
    uint8_t* valid                 # bits, lowest first; all set beyond the last row
    int64_t null_count

cdef struct ColumnSet:
    int32_t holders                # atomic
    bint for_arrow                 # with topics, and timestamps in microseconds
    bint with_headers
    int64_t rows
    int64_t capacity               # rows that there is room for
    VariableColumn keys
    VariableColumn values
    VariableColumn topics          # UTF-8; no nulls
    int32_t* partitions
    int64_t* offsets
    int64_t* timestamps
    int32_t* timestamp_types
    # One row's headers are entries[header_ends[i]:header_ends[i + 1]]; a row without headers is null.
    int32_t* header_ends
    uint8_t* headers_valid
    int64_t header_null_count
    int64_t header_rows
    int64_t header_capacity
    VariableColumn header_names    # UTF-8; no nulls
    VariableColumn header_values

# NULL without memory; held once.
cdef ColumnSet* new_column_set(bint for_arrow, bint with_headers) noexcept nogil
cdef void hold_columns(ColumnSet* columns) noexcept nogil
cdef void release_columns(ColumnSet* columns) noexcept nogil
# Appends records until there are `limit` rows, the columns are full (both FETCHED_OPEN), the partition is drained, or a
# batch cannot be read here (FETCHED_BY_PYTHON) or at all. `topic` is UTF-8.
cdef FetchedStatus take_columns(FetchedPartition* fetched, const uint8_t* topic, size_t topic_size, int32_t partition,
                                int64_t limit, ColumnSet* columns) noexcept nogil
# Bytes that the columns' pool keeps warm at the moment.
cdef int64_t pooled_column_bytes() noexcept nogil
# How many sets are held by somebody.
cdef int64_t live_column_sets() noexcept nogil
