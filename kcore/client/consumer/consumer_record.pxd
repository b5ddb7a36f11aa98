"""Records as Python sees them, made in bulk out of a FetchedPartition."""

from libc.stdint cimport int8_t, int32_t, int64_t
from kcore.client.consumer.fetched_partition cimport FetchedPartition, FetchedStatus


cdef class ConsumerRecord:
    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly int8_t timestamp_type
    cdef int32_t epoch                     # -1 when the batch has none
    cdef readonly int32_t serialized_key_size
    cdef readonly int32_t serialized_value_size
    cdef readonly object key
    cdef readonly object value
    cdef int32_t header_count
    cdef bytes encoded_headers             # None without any
    cdef list decoded_headers              # None until asked for


# Appends records to `out` until it has `limit` of them (FETCHED_OPEN), the partition is drained, or a batch cannot be
# read. Takes the GIL off while it checks and decompresses.
cdef FetchedStatus take_records(FetchedPartition* fetched, str topic, int32_t partition, Py_ssize_t limit, list out)
