"""What `send` answers: a view of a batch's outcome.

A future is a batch and an index; nothing is done for it when the batch is acknowledged. Whoever asks it looks at the
batch, and waits, without the GIL, in the accumulator's list of waiters. Only a future with callbacks is told.
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
    cdef list callbacks                # None without any

    cdef bint wait(self, object timeout) except -1
    cdef object outcome(self)          # a RecordMetadata or an exception; the record is done


# Takes over the caller's hold on the batch.
cdef RecordFuture future_new(ProducerBatch* batch, int32_t index, Topic topic, int64_t timestamp_ms, int32_t key_size,
                             int32_t value_size)
# Tells the callbacks of batches that are done, with the GIL and without the mutex; how many batches there were.
cdef int deliver(RecordAccumulator accumulator) except -1
# A future's callbacks, each told of the future; what one raises is reported and stops none of the others.
cdef int call_each(list callbacks, object future) except -1
