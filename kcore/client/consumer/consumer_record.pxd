"""ConsumerRecord, and its creation in bulk from a FetchedPartition."""

from libc.stdint cimport int8_t, int32_t, int64_t
from kcore.client.consumer.fetched_partition cimport FetchedPartition, FetchedStatus


cdef class ConsumerRecord:
    cdef readonly str topic
    cdef readonly int32_t partition
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly int8_t timestamp_type
    cdef int32_t epoch                     # -1: the batch has none
    cdef readonly int32_t serialized_key_size
    cdef readonly int32_t serialized_value_size
    cdef readonly object key
    cdef readonly object value
    cdef int32_t header_count
    cdef bytes encoded_headers             # None: no headers, or given in decoded form
    cdef list decoded_headers              # None until `headers` is read


# Appends records to `out` until it has `limit` records (FETCHED_OPEN), the partition is drained, or a batch cannot be
# read. Releases the GIL while it checks CRCs and decompresses.
cdef FetchedStatus take_records(FetchedPartition* fetched, str topic, int32_t partition, Py_ssize_t limit, list out)
