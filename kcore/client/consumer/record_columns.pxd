"""RecordColumns: the Python object for a ColumnSet."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from kcore.client.consumer.columns cimport ColumnSet
from kcore.client.consumer.fetched_partition cimport FetchedPartition, FetchedStatus


cdef class RecordColumns:
    cdef ColumnSet* columns
    cdef list runs               # (topic, partition, first row)
    cdef size_t data_size(self)
    cdef list ended_runs(self)
    cdef ColumnSet* for_export(self) except NULL


# Like `columns.take_columns`, but records the source of the rows, and opens with the GIL the batches that need it.
cdef FetchedStatus take_into(RecordColumns target, FetchedPartition* fetched, str topic, int32_t partition,
                             int64_t limit)
