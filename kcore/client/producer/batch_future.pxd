"""BatchFuture, the result of `send_batch`: one future over all batches that contain its records."""

from libc.stdint cimport int32_t, int64_t
from kcore.client.producer.producer_batch cimport ProducerBatch
from kcore.client.producer.record_accumulator cimport Topic
from kcore.client.producer.record_future cimport RecordFuture

# The records of one call in one batch.
cdef struct BatchPart:
    ProducerBatch* batch       # held
    int32_t first_index
    int32_t count


cdef class BatchFuture:
    cdef BatchPart* parts
    cdef int64_t part_count
    cdef int64_t part_capacity
    cdef Topic topic
    cdef list callbacks
    cdef readonly int64_t record_count
    cdef int64_t told                  # leading parts that are known to be done

    cdef RecordFuture leaf(self, int64_t number, int32_t outcome)
    cdef int wait(self, timeout) except -1
    cdef bint add(self, ProducerBatch* batch, int32_t index, int64_t call) noexcept nogil
