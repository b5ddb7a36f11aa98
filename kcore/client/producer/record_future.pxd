"""RecordFuture, the result of `send`: a view of a batch's outcome.

A future is a batch and an index. An acknowledged batch does nothing for its futures: they read the batch's outcome.
They wait without the GIL, in the accumulator's list of waiters. Only futures with callbacks are notified.
"""

from libc.stdint cimport int32_t, int64_t
from kcore.client.producer.producer_batch cimport ProducerBatch
from kcore.client.producer.record_accumulator cimport RecordAccumulator, Topic


cdef class RecordMetadata:
    cdef readonly str topic
    cdef readonly int partition
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly int serialized_key_size
    cdef readonly int serialized_value_size


cdef class RecordFuture:
    cdef ProducerBatch* batch          # held
    cdef Topic topic
    cdef int64_t timestamp_ms
    cdef int32_t index
    cdef int32_t key_size, value_size
    cdef list callbacks                # None if there are none

    cdef bint wait(self, object timeout) except -1
    cdef object outcome(self)          # a RecordMetadata or an exception; the record must be done


# Takes over the caller's hold of the batch.
cdef RecordFuture future_new(ProducerBatch* batch, int32_t index, Topic topic, int64_t timestamp_ms, int32_t key_size,
                             int32_t value_size)
# Runs the callbacks of finished batches, with the GIL and without the mutex. Returns the number of batches.
cdef int deliver(RecordAccumulator accumulator) except -1
# Calls each callback with the future. Exceptions are reported and do not stop the others.
cdef int call_each(list callbacks, object future) except -1
