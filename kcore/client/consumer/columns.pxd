"""Records as columns in Arrow's array layout, without a Python object per record.

A ColumnSet is reference-counted. RecordColumns and every Arrow array made from it hold it. Any thread may release it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.client.consumer.fetched_partition cimport FetchedPartition, FetchedStatus
from kcore.record.compression cimport Bytes

# Values of variable length: value i is data[ends[i]:ends[i + 1]]. It is null if its bit is clear.
cdef struct VariableColumn:
    Bytes data
    int32_t* ends                  # rows + 1 entries; ends[0] is 0
    uint8_t* valid                 # bits, lowest first; all set after the last row
    int64_t null_count

cdef struct ColumnSet:
    int32_t holders                # atomic
    bint for_arrow                 # has topics; timestamps are in microseconds
    bint with_headers
    int64_t rows
    int64_t capacity               # allocated rows
    VariableColumn keys
    VariableColumn values
    VariableColumn topics          # UTF-8; no nulls
    int32_t* partitions
    int64_t* offsets
    int64_t* timestamps
    int32_t* timestamp_types
    # The headers of row i are entries[header_ends[i]:header_ends[i + 1]]. A row without headers is null.
    int32_t* header_ends
    uint8_t* headers_valid
    int64_t header_null_count
    int64_t header_rows
    int64_t header_capacity
    VariableColumn header_names    # UTF-8; no nulls
    VariableColumn header_values

# Returns a set that is held once; NULL if memory cannot be allocated.
cdef ColumnSet* new_column_set(bint for_arrow, bint with_headers) noexcept nogil
cdef void hold_columns(ColumnSet* columns) noexcept nogil
cdef void release_columns(ColumnSet* columns) noexcept nogil
# Appends records until there are `limit` rows, the columns are full (both FETCHED_OPEN), the partition is drained, a
# batch needs the GIL (FETCHED_BY_PYTHON), or a batch cannot be read. `topic` is UTF-8.
cdef FetchedStatus take_columns(FetchedPartition* fetched, const uint8_t* topic, size_t topic_size, int32_t partition,
                                int64_t limit, ColumnSet* columns) noexcept nogil
# Bytes of unused columns in the pool.
cdef int64_t pooled_column_bytes() noexcept nogil
# Number of sets that are in use.
cdef int64_t live_column_sets() noexcept nogil
