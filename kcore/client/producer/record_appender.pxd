"""RecordAppender: encodes records into the accumulator."""

from libc.stdint cimport int32_t, int64_t
from kcore.client.network.network_client cimport NetworkClient
from kcore.client.producer.batch_future cimport BatchFuture
from kcore.client.producer.batch_input cimport BatchInput
from kcore.client.producer.record_accumulator cimport AppendStatus, Placement, RecordAccumulator, Topic
from kcore.client.producer.waiter cimport Waiter
from kcore.record.record cimport RecordView


cdef class RecordAppender:
    cdef RecordAccumulator accumulator
    cdef NetworkClient network
    cdef size_t max_request_bytes
    cdef double max_block_ms
    cdef bint needs_clock
    cdef bint is_compressed

    # Appends one record and returns its RecordFuture.
    cdef object append(self, Topic topic, int32_t partition, bytes key, bytes value, headers, int64_t timestamp_ms,
                       on_delivery)
    # Appends all rows of a `send_batch`.
    cdef int append_all(self, Topic topic, BatchInput* batch, BatchFuture future) except -1

    cdef object append_encoded(self, Topic topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                               on_delivery)
    cdef AppendStatus try_append(self, Topic topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                                 int64_t clock_ns, size_t large_bytes, Waiter* waiter, Placement* placement,
                                 on_delivery)
    cdef int append_slowly(self, Topic topic, int32_t partition, RecordView* record, int64_t timestamp_ms,
                           size_t large_bytes, AppendStatus status, Placement* placement, on_delivery) except -1
    cdef size_t large_batch_bytes(self, Topic topic, const BatchInput* batch)
